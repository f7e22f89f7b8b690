"""Whether a caller may: authorisation of requests to the server."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from typing import Protocol

from moorage.server.authentication import (
    DEFAULT_TTL,
    Authentication,
    Credentials,
    NotAuthenticated,
    UserInfo,
)
from moorage.server.remembered import Remembered

log = logging.getLogger(__name__)

ALWAYS_ALLOWED_PATHS = ("/healthz", "/readyz", "/livez")

_ALL_POWERFUL = "system:masters"


class AccessReviewer(Protocol):
    """Knows permissions; the API server, as a rule. Raises what it likes if it cannot say."""

    async def review_access(self, user: UserInfo, verb: str, path: str) -> bool:
        """Whether a user may do this to a path that is not a resource."""


class Refused(Exception):
    """A request that is not answered; `reason` is Kubernetes' word for the status code."""

    def __init__(self, code: int, reason: str, message: str) -> None:
        super().__init__(message)
        self.code, self.reason, self.message = code, reason, message


class Access:
    """Decides on requests; remembers for a short while what the reviewer said.

    Without a reviewer only the exempt paths and members of system:masters are allowed.
    """

    def __init__(
        self,
        authentication: Authentication | None = None,
        reviewer: AccessReviewer | None = None,
        *,
        always_allow_paths: Sequence[str] = ALWAYS_ALLOWED_PATHS,
        allowed_ttl: float = DEFAULT_TTL,
        denied_ttl: float = DEFAULT_TTL,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._authentication = authentication or Authentication()
        self._reviewer = reviewer
        self._exempt = {path for path in always_allow_paths if not path.endswith("*")}
        self._exempt_prefixes = tuple(path[:-1] for path in always_allow_paths if path.endswith("*"))
        self._allowed_ttl, self._denied_ttl = allowed_ttl, denied_ttl
        self._permissions: Remembered[tuple[UserInfo, str, str], bool] = Remembered(clock)

    async def check(self, credentials: Credentials, verb: str, path: str) -> UserInfo:
        """The caller, if it may do this; raises Refused if not."""
        try:
            user = await self._authentication.user(credentials)
        except NotAuthenticated as error:
            log.error("a caller of %s could not be authenticated: %s", path, error)
            raise Refused(401, "Unauthorized", "Unauthorized") from None
        try:
            allowed = await self._allows(user, verb, path)
        except Exception as error:
            log.error("asking whether %s may %s %s failed: %s", user.name, verb, path, error)
            raise Refused(500, "InternalError", f'Internal Server Error: "{path}": {error}') from error
        if not allowed:
            raise Refused(403, "Forbidden", f'forbidden: User "{user.name}" cannot {verb} path "{path}"')
        return user

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
