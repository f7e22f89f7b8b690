"""Questions to the API server about users and what they may do: resources that are answered, not stored."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from moorage.api.names import label_value_problems, qualified_name_problems
from moorage.api.selectors import DOES_NOT_EXIST, EXISTS, IN, NOT_IN
from moorage.cluster.access.rbac import Authorizer
from moorage.cluster.access.rules import Rule
from moorage.cluster.access.tokens import Rejected, Tokens
from moorage.cluster.access.users import Attributes, User
from moorage.cluster.base import errors
from moorage.cluster.base.store import Document, Store
from moorage.cluster.base.times import Clock, timestamp
from moorage.cluster.schema.selecting import field_selector, label_selector

_OWN_ACCESS = "SelfSubjectAccessReview"
_LOCAL_ACCESS = "LocalSubjectAccessReview"
_RESOURCE = "spec.resourceAttributes"
_NO_RESOURCE = "spec.nonResourceAttributes"
_SELECTORS = {"fieldSelector": field_selector, "labelSelector": label_selector}
_INVALID_TOKEN = "invalid bearer token"


class Reviews:
    """Answers reviews with what tokens, roles and bindings say at that moment."""

    def __init__(
        self, tokens: Tokens, store: Store, authorizer: Authorizer, clock: Clock = time.time
    ) -> None:
        self._tokens = tokens
        self._store = store
        self._authorizer = authorizer
        self._clock = clock
        self._kinds: dict[str, Callable[[Document, User], Document]] = {
            "TokenReview": self._token,
            "SelfSubjectReview": self._self,
            "SubjectAccessReview": self._access,
            _LOCAL_ACCESS: self._access,
            _OWN_ACCESS: self._access,
            "SelfSubjectRulesReview": self._own_rules,
        }

    def review(self, kind: str, document: Document, *, user: User, namespace: str = "") -> Document:
        """The document as the answer to it; the metadata in it must be what the client sent.

        `namespace` is the one in the address; of the kinds only LocalSubjectAccessReview has one.
        """
        metadata = {name: value for name, value in (document.get("metadata") or {}).items() if value}
        if namespace:
            errors.check_namespace(metadata, namespace)
            metadata["namespace"] = namespace
        else:
            metadata.pop("namespace", None)
        asked = {**document, "kind": kind, "metadata": metadata}
        answer = self._kinds[kind](asked, user)
        return {"kind": kind, "apiVersion": document["apiVersion"], "metadata": metadata, **answer}

    def _token(self, document: Document, user: User) -> Document:
        spec = document.get("spec") or {}
        token = spec.get("token")
        if not token:
            raise errors.bad_request("token is required for TokenReview in authentication")
        try:
            found = self._tokens.prove(token, self._store, spec.get("audiences") or ())
        except Rejected as rejected:
            why = f"[{_INVALID_TOKEN}, {rejected}]" if str(rejected) else _INVALID_TOKEN
            return {"spec": spec, "status": {"user": {}, "error": why}}
        proven = {"user": _user_info(found.user), "audiences": list(found.audiences)}
        return {"spec": spec, "status": {"authenticated": True, **proven}}

    def _self(self, document: Document, user: User) -> Document:
        metadata = {"creationTimestamp": timestamp(self._clock())}
        return {"metadata": metadata, "status": {"userInfo": _user_info(user)}}

    def _access(self, document: Document, user: User) -> Document:
        if causes := list(_broken_rules(document)):
            raise errors.invalid("", "authorization.k8s.io", "", causes)
        spec = document["spec"]
        if document["kind"] != _OWN_ACCESS:
            user = User(spec.get("user", ""), spec.get("uid", ""), tuple(spec.get("groups") or ()))
        decision = self._authorizer.decide(user, _attributes(spec))
        status: Document = {"allowed": decision.allowed}
        if decision.reason:
            status["reason"] = decision.reason
        if problem := _evaluation_error(spec.get("resourceAttributes") or {}):
            status["evaluationError"] = problem
        return {"spec": spec, "status": status}

    def _own_rules(self, document: Document, user: User) -> Document:
        namespace = (document.get("spec") or {}).get("namespace")
        if not namespace:
            raise errors.bad_request("no namespace on request")
        rules, problems = self._authorizer.rules_for(user, namespace)
        status: Document = {
            "resourceRules": _about("resources", rules, ("verbs", "apiGroups", "resources", "resourceNames")),
            "nonResourceRules": _about("nonResourceURLs", rules, ("verbs", "nonResourceURLs")),
            "incomplete": False,
        }
        if problems:
            status["evaluationError"] = problems
        return {"metadata": {}, "spec": {}, "status": status}


def _attributes(spec: Document) -> Attributes:
    """What a review asks about; it keeps the rules of reviews."""
    resource: Document | None = spec.get("resourceAttributes")
    if resource is None:
        other = spec["nonResourceAttributes"]
        return Attributes(other.get("verb", ""), path=other.get("path", ""))
    return Attributes(*(resource.get(name, "") for name in Attributes._fields if name != "path"))


def _user_info(user: User) -> Document:
    info: dict[str, Any] = {
        "username": user.name,
        "uid": user.uid,
        "groups": list(user.groups),
        "extra": {key: list(values) for key, values in sorted(user.extra.items())},
    }
    return {name: value for name, value in info.items() if value}


def _about(what: str, rules: Iterable[Rule], fields: tuple[str, ...]) -> list[Document]:
    """Of the rules about this, these fields."""
    documents = [rule.document for rule in rules if rule.document.get(what)]
    return [{field: rule[field] for field in fields if rule.get(field)} for rule in documents]


# Which rules a review breaks, and what in it is not understood


def _broken_rules(document: Document) -> Iterator[errors.Cause]:
    """The rules that a review of one's own access, or of the access of others, breaks."""
    spec = document.get("spec") or {}
    resource, other = spec.get("resourceAttributes"), spec.get("nonResourceAttributes")
    if resource is not None and other is not None:
        why = "cannot be specified in combination with resourceAttributes"
        yield errors.invalid_value(_NO_RESOURCE, _shown(other), why)
    if resource is None and other is None:
        why = "exactly one of nonResourceAttributes or resourceAttributes must be specified"
        yield errors.invalid_value(_RESOURCE, None, why)
    if document["kind"] != _OWN_ACCESS and not spec.get("user") and not spec.get("groups"):
        yield errors.invalid_value("spec.user", "", "at least one of user or group must be specified")
    if resource is not None:
        for name in _SELECTORS:
            yield from _broken_by_selector(resource.get(name), name)
    metadata, local = document["metadata"], document["kind"] == _LOCAL_ACCESS
    if metadata.keys() - {"namespace", "managedFields"}:
        why = "must be empty except for namespace" if local else "must be empty"
        yield errors.invalid_value("metadata", metadata, why)
    if not local:
        return
    given = (resource or {}).get("namespace", "")
    if resource is not None and given != metadata.get("namespace", ""):
        yield errors.invalid_value(f"{_RESOURCE}.namespace", given, "must match metadata.namespace")
    if other is not None:
        yield errors.invalid_value(_NO_RESOURCE, _shown(other), "disallowed on this kind of request")


def _broken_by_selector(selector: Document | None, name: str) -> Iterator[errors.Cause]:
    if selector is None:
        return
    field = f"{_RESOURCE}.{name}"
    raw, requirements = selector.get("rawSelector"), selector.get("requirements") or ()
    if raw and requirements:
        why = "may not specified at the same time as requirements"
        yield errors.invalid_value(f"{field}.rawSelector", raw, why)
    if not raw and not requirements:
        why = f"when {field} is specified, requirements or rawSelector is required"
        yield errors.required(f"{field}.requirements", why)
    for index, requirement in enumerate(requirements):
        place = f"{field}.requirements[{index}]"
        key, values = requirement.get("key", ""), requirement.get("values") or ()
        if name == "fieldSelector" and not key:
            yield errors.required(f"{place}.key", "must be specified")
        operator = requirement.get("operator")
        if operator in (IN, NOT_IN) and not values:
            yield errors.required(f"{place}.values", "must be specified when `operator` is 'In' or 'NotIn'")
        if operator in (EXISTS, DOES_NOT_EXIST) and values:
            why = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
            yield errors.forbidden_value(f"{place}.values", why)
        if name == "labelSelector":
            for problem in qualified_name_problems(key):
                yield errors.invalid_value(f"{place}.key", key, problem)
            for position, value in enumerate(values):
                for problem in label_value_problems(value):
                    yield errors.invalid_value(f"{place}.values[{position}]", value, problem)


def _evaluation_error(resource: Document) -> str:
    """Which selectors did not count, or not all of them, because they cannot be understood."""
    ignored = {name: _ignored(name, resource.get(name) or {}) for name in _SELECTORS}
    return "; ".join(f"{_RESOURCE}.{name} {how} due to parse error" for name, how in ignored.items() if how)


def _ignored(name: str, selector: Document) -> str:
    """How much of a selector that breaks no rules is not understood; empty if all is."""
    if selector.get("rawSelector"):
        try:
            _SELECTORS[name](selector["rawSelector"])
        except errors.Refusal:
            return "ignored"
        return ""
    requirements = selector.get("requirements") or ()
    understood = sum(_is_understood(name, requirement) for requirement in requirements)
    if understood == len(requirements):
        return ""
    return "partially ignored" if understood else "ignored"


def _is_understood(name: str, requirement: Document) -> bool:
    operator = requirement.get("operator")
    if name == "fieldSelector":
        return operator in (IN, NOT_IN) and len(requirement.get("values") or ()) == 1
    return operator in (IN, NOT_IN, EXISTS, DOES_NOT_EXIST)


def _shown(attributes: Document) -> dict[str, Any]:
    return {"Path": attributes.get("path", ""), "Verb": attributes.get("verb", "")}
