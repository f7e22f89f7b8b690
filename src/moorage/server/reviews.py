"""Tokens and permissions as the API server sees them."""

from __future__ import annotations

from typing import Any, Protocol

from moorage.server.authentication import UserInfo

TOKEN_REVIEWS = "/apis/authentication.k8s.io/v1/tokenreviews"
ACCESS_REVIEWS = "/apis/authorization.k8s.io/v1/subjectaccessreviews"


class JsonClient(Protocol):
    """The part of the API client that is needed here."""

    async def request_json(self, method: str, path: str, body: dict[str, Any]) -> dict[str, Any]: ...


class ApiReviewer:
    """Asks an API server with TokenReview and SubjectAccessReview."""

    def __init__(self, client: JsonClient) -> None:
        self._client = client

    async def review_token(self, token: str) -> UserInfo | None:
        review = {
            "apiVersion": "authentication.k8s.io/v1",
            "kind": "TokenReview",
            "spec": {"token": token},
        }
        answer = await self._client.request_json("POST", TOKEN_REVIEWS, review)
        status = answer.get("status") or {}
        if status.get("error") and not status.get("authenticated"):
            raise RuntimeError(status["error"])
        user = status.get("user") or {}
        if not status.get("authenticated") or not user.get("username"):
            return None
        extra = {key: tuple(values) for key, values in (user.get("extra") or {}).items()}
        groups = tuple(user.get("groups") or ())
        return UserInfo(user["username"], groups, user.get("uid") or "", tuple(sorted(extra.items())))

    async def review_access(self, user: UserInfo, verb: str, path: str) -> bool:
        spec: dict[str, Any] = {
            "user": user.name,
            "groups": list(user.groups),
            "nonResourceAttributes": {"verb": verb, "path": path},
        }
        if user.uid:
            spec["uid"] = user.uid
        if user.extra:
            spec["extra"] = {key: list(values) for key, values in user.extra}
        review = {"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview", "spec": spec}
        answer = await self._client.request_json("POST", ACCESS_REVIEWS, review)
        status = answer.get("status") or {}
        return bool(status.get("allowed")) and not status.get("denied")
