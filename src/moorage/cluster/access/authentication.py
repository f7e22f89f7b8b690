"""Finding out who makes a request."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from moorage.cluster.access.attributes import Attributes
from moorage.cluster.access.impersonation import Impersonation
from moorage.cluster.access.rbac import Authorizer
from moorage.cluster.access.tokens import Tokens
from moorage.cluster.access.users import ANONYMOUS, UNAUTHENTICATED, User
from moorage.cluster.base.errors import unauthorized
from moorage.cluster.base.store import Store

NOBODY = User(ANONYMOUS, groups=(UNAUTHENTICATED,))


class Authenticator:
    """Knows users by the token they send, and lets those who may act as somebody else."""

    def __init__(self, tokens: Tokens, store: Store, authorizer: Authorizer) -> None:
        self._tokens = tokens
        self._store = store
        self._impersonation = Impersonation(authorizer)

    def authenticate(self, headers: Mapping[str, Sequence[str]], attributes: Attributes) -> User:
        """The user as whom the request is to be made; the names of headers are in lower case.

        Raises a Refusal for a token that is not good and for a user who may not act as another.
        """
        user = self._of_token(headers)
        wanted = self._impersonation.wanted(headers)
        return user if wanted is None else self._impersonation.become(user, wanted, attributes)

    def _of_token(self, headers: Mapping[str, Sequence[str]]) -> User:
        """Without a token, or with something else than a token, it is nobody."""
        values = headers.get("authorization")
        scheme, _, rest = values[0].strip().partition(" ") if values else ("", "", "")
        token = rest.partition(" ")[0]
        if not token or scheme.lower() != "bearer":
            return NOBODY
        user = self._tokens.user_of(token, self._store)
        if user is None:
            raise unauthorized()
        return user
