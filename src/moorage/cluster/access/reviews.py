"""Questions to the API server about users and what they may do: resources that are answered, not stored."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from moorage.cluster.access.attributes import Attributes
from moorage.cluster.access.rbac import Authorizer
from moorage.cluster.access.review_rules import broken_rules, evaluation_error
from moorage.cluster.access.tokens import Rejected, Tokens
from moorage.cluster.access.users import User
from moorage.cluster.base.errors import bad_request, invalid
from moorage.cluster.base.store import Document, Store
from moorage.cluster.base.times import timestamp

_AUTHORIZATION = "authorization.k8s.io"
_INVALID_TOKEN = "invalid bearer token"


class Reviews:
    """Answers reviews with what tokens, roles and bindings say at that moment."""

    def __init__(
        self, tokens: Tokens, store: Store, authorizer: Authorizer, clock: Callable[[], float] = time.time
    ) -> None:
        self._tokens = tokens
        self._store = store
        self._authorizer = authorizer
        self._clock = clock
        self._kinds: dict[str, Callable[[Document, User], Document]] = {
            "TokenReview": self._token,
            "SelfSubjectReview": self._self,
            "SubjectAccessReview": self._access_of_other,
            "LocalSubjectAccessReview": self._access_of_other,
            "SelfSubjectAccessReview": self._own_access,
            "SelfSubjectRulesReview": self._own_rules,
        }

    def review(self, kind: str, document: Document, *, user: User, namespace: str = "") -> Document:
        """The document as the answer to it; the metadata in it must be what the client sent.

        `namespace` is the one in the address; of the kinds only LocalSubjectAccessReview has one.
        """
        metadata = {name: value for name, value in (document.get("metadata") or {}).items() if value}
        given = metadata.pop("namespace", namespace)
        if namespace:
            if given != namespace:
                raise bad_request(
                    "the namespace of the provided object does not match the namespace sent on the request"
                )
            metadata["namespace"] = namespace
        asked = {**document, "kind": kind, "metadata": metadata}
        answer = self._kinds[kind](asked, user)
        return {"kind": kind, "apiVersion": document["apiVersion"], "metadata": metadata, **answer}

    def _token(self, document: Document, user: User) -> Document:
        spec = document.get("spec") or {}
        token = spec.get("token")
        if not token:
            raise bad_request("token is required for TokenReview in authentication")
        try:
            found = self._tokens.prove(token, self._store, spec.get("audiences") or ())
        except Rejected as rejected:
            why = f"[{_INVALID_TOKEN}, {rejected}]" if str(rejected) else _INVALID_TOKEN
            return {"spec": spec, "status": {"user": {}, "error": why}}
        status = {
            "authenticated": True,
            "user": _user_info(found.user),
            "audiences": list(found.audiences),
        }
        return {"spec": spec, "status": status}

    def _self(self, document: Document, user: User) -> Document:
        metadata = {"creationTimestamp": timestamp(self._clock())}
        return {"metadata": metadata, "status": {"userInfo": _user_info(user)}}

    def _access_of_other(self, document: Document, user: User) -> Document:
        local = document["kind"] == "LocalSubjectAccessReview"
        _refuse_broken(document, of_others=True, local=local)
        spec = document["spec"]
        other = User(spec.get("user", ""), spec.get("uid", ""), tuple(spec.get("groups") or ()))
        return {"spec": spec, "status": self._status(other, spec)}

    def _own_access(self, document: Document, user: User) -> Document:
        _refuse_broken(document, of_others=False, local=False)
        spec = document["spec"]
        return {"spec": spec, "status": self._status(user, spec)}

    def _own_rules(self, document: Document, user: User) -> Document:
        namespace = (document.get("spec") or {}).get("namespace")
        if not namespace:
            raise bad_request("no namespace on request")
        rules, problems = self._authorizer.rules_for(user, namespace)
        documents = [rule.document for rule in rules]
        of_resources = ("verbs", "apiGroups", "resources", "resourceNames")
        status: Document = {
            "resourceRules": [_only(rule, of_resources) for rule in documents if rule.get("resources")],
            "nonResourceRules": [
                _only(rule, ("verbs", "nonResourceURLs")) for rule in documents if rule.get("nonResourceURLs")
            ],
            "incomplete": False,
        }
        if problems:
            status["evaluationError"] = problems
        return {"metadata": {}, "spec": {}, "status": status}

    def _status(self, user: User, spec: Document) -> Document:
        resource = spec.get("resourceAttributes")
        decision = self._authorizer.decide(user, _attributes(spec))
        status: Document = {"allowed": decision.allowed}
        if decision.reason:
            status["reason"] = decision.reason
        problem = evaluation_error(resource) if resource is not None else ""
        if problem:
            status["evaluationError"] = problem
        return status


def _refuse_broken(document: Document, *, of_others: bool, local: bool) -> None:
    causes = list(broken_rules(document, of_others=of_others, local=local))
    if causes:
        raise invalid("", _AUTHORIZATION, "", causes)


def _attributes(spec: Document) -> Attributes:
    """What a review asks about; it keeps the rules of reviews."""
    resource: Document | None = spec.get("resourceAttributes")
    if resource is None:
        other = spec["nonResourceAttributes"]
        return Attributes(other.get("verb", ""), path=other.get("path", ""))
    fields: dict[str, str] = {
        name: resource.get(name, "")
        for name in ("verb", "group", "version", "resource", "subresource", "namespace", "name")
    }
    return Attributes(**fields)


def _user_info(user: User) -> Document:
    info: dict[str, Any] = {
        "username": user.name,
        "uid": user.uid,
        "groups": list(user.groups),
        "extra": {key: list(values) for key, values in sorted(user.extra.items())},
    }
    return {name: value for name, value in info.items() if value}


def _only(rule: Document, fields: tuple[str, ...]) -> Document:
    return {field: rule[field] for field in fields if rule.get(field)}
