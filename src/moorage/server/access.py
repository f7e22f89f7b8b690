"""Who calls, and whether they may: authentication and authorisation of requests to the server."""

from __future__ import annotations

import hashlib
import logging
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

log = logging.getLogger(__name__)

ALWAYS_ALLOWED_PATHS = ("/healthz", "/readyz", "/livez")
DEFAULT_TTL = 10.0
_MOST_REMEMBERED = 1024

_ALL_POWERFUL = "system:masters"
_AUTHENTICATED = "system:authenticated"


@dataclass(frozen=True)
class UserInfo:
    """A caller. `extra` is what the authenticator added, in the form it is passed on in."""

    name: str
    groups: tuple[str, ...] = ()
    uid: str = ""
    extra: tuple[tuple[str, tuple[str, ...]], ...] = ()


ANONYMOUS = UserInfo("system:anonymous", ("system:unauthenticated",))


class Reviewer(Protocol):
    """Knows tokens and permissions; the API server, as a rule. Raises what it likes if it cannot say."""

    async def review_token(self, token: str) -> UserInfo | None:
        """The owner of a token, or None if it is not valid."""

    async def review_access(self, user: UserInfo, verb: str, path: str) -> bool:
        """Whether a user may do this to a path that is not a resource."""


class Refused(Exception):
    """A request that is not answered; `reason` is Kubernetes' word for the status code."""

    def __init__(self, code: int, reason: str, message: str) -> None:
        super().__init__(message)
        self.code, self.reason, self.message = code, reason, message


class Access:
    """Decides on requests; remembers for a short while what the reviewer said.

    Without a reviewer callers are anonymous unless they show a certificate, and only the exempt paths and
    members of system:masters are allowed.
    """

    def __init__(
        self,
        reviewer: Reviewer | None = None,
        *,
        always_allow_paths: Sequence[str] = ALWAYS_ALLOWED_PATHS,
        token_ttl: float = DEFAULT_TTL,
        allowed_ttl: float = DEFAULT_TTL,
        denied_ttl: float = DEFAULT_TTL,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._reviewer = reviewer
        self._exempt = {path for path in always_allow_paths if not path.endswith("*")}
        self._exempt_prefixes = tuple(path[:-1] for path in always_allow_paths if path.endswith("*"))
        self._allowed_ttl, self._denied_ttl = allowed_ttl, denied_ttl
        self._token_ttl = token_ttl
        self._owners: _Remembered[bytes, UserInfo | None] = _Remembered(clock)
        self._permissions: _Remembered[tuple[UserInfo, str, str], bool] = _Remembered(clock)

    async def check(
        self, certificate: Mapping[str, Any] | None, authorization: str, verb: str, path: str
    ) -> UserInfo:
        """The caller, if it may do this; raises Refused if not.

        `certificate` is the caller's verified certificate as the ssl module shows it, `authorization` the
        header of that name.
        """
        user = await self._authenticate(certificate, authorization)
        try:
            allowed = await self._allows(user, verb, path)
        except Exception as error:
            log.error("asking whether %s may %s %s failed: %s", user.name, verb, path, error)
            raise Refused(500, "InternalError", f'Internal Server Error: "{path}": {error}') from error
        if not allowed:
            raise Refused(403, "Forbidden", f'forbidden: User "{user.name}" cannot {verb} path "{path}"')
        return user

    async def _authenticate(self, certificate: Mapping[str, Any] | None, authorization: str) -> UserInfo:
        if certificate and (user := user_of_certificate(certificate)) is not None:
            return user
        kind, _, token = authorization.partition(" ")
        token = token.strip()
        if self._reviewer is None or kind.lower() != "bearer" or not token:
            return ANONYMOUS
        try:
            owner = await self._owner(self._reviewer, token)
        except Exception as error:
            log.error("the token of a caller could not be reviewed: %s", error)
            owner = None
        if owner is None:
            raise Refused(401, "Unauthorized", "Unauthorized")
        return owner

    async def _owner(self, reviewer: Reviewer, token: str) -> UserInfo | None:
        # The digest stands for the token, so that no secret stays in memory.
        digest = hashlib.sha256(token.encode(errors="surrogateescape")).digest()
        if digest in self._owners:
            return self._owners[digest]
        owner = await reviewer.review_token(token)
        if owner is not None and _AUTHENTICATED not in owner.groups:
            owner = UserInfo(owner.name, (*owner.groups, _AUTHENTICATED), owner.uid, owner.extra)
        self._owners.put(digest, owner, self._token_ttl)
        return owner

    async def _allows(self, user: UserInfo, verb: str, path: str) -> bool:
        if path in self._exempt or path.startswith(self._exempt_prefixes) or _ALL_POWERFUL in user.groups:
            return True
        if self._reviewer is None:
            return False
        question = (user, verb, path)
        if question in self._permissions:
            return self._permissions[question]
        allowed = await self._reviewer.review_access(user, verb, path)
        self._permissions.put(question, allowed, self._allowed_ttl if allowed else self._denied_ttl)
        return allowed


def user_of_certificate(certificate: Mapping[str, Any]) -> UserInfo | None:
    """The common name is the user, the organisations are its groups."""
    subject = [pair for part in certificate.get("subject", ()) for pair in part]
    names = [value for key, value in subject if key == "commonName"]
    groups = [value for key, value in subject if key == "organizationName"]
    return UserInfo(names[0], (*groups, _AUTHENTICATED)) if names else None


K = TypeVar("K")
V = TypeVar("V")


class _Remembered(Generic[K, V]):
    """Answers by question, each for its time; the oldest go first when there are too many."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._answers: dict[K, tuple[V, float]] = {}

    def __contains__(self, question: K) -> bool:
        found = self._answers.get(question)
        return found is not None and self._clock() < found[1]

    def __getitem__(self, question: K) -> V:
        return self._answers[question][0]

    def put(self, question: K, answer: V, seconds: float) -> None:
        self._answers.pop(question, None)
        while len(self._answers) >= _MOST_REMEMBERED:
            del self._answers[next(iter(self._answers))]
        self._answers[question] = (answer, self._clock() + seconds)
