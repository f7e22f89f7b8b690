"""FlowSchemas and PriorityLevelConfigurations. Every request is served at once, whatever they say."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator

from moorage.cluster.base import errors
from moorage.cluster.base.errors import Cause, forbidden_value, invalid_value
from moorage.cluster.base.store import Document
from moorage.cluster.kinds.api_server.flow_objects import FIXED, shown_level_spec, shown_schema_spec
from moorage.cluster.kinds.common import WithStatus
from moorage.cluster.schema.checking import Around, check, check_form, relates
from moorage.cluster.schema.definitions import keep_but
from moorage.cluster.schema.forms import dns_label_problems

_GROUP = "flowcontrol.v1"
_METHODS = ("ByNamespace", "ByUser")
_VERBS = ("create", "delete", "deletecollection", "get", "list", "patch", "proxy", "update", "watch")
_SUBJECTS = {"User": "user", "Group": "group", "ServiceAccount": "serviceAccount"}
_MOST_ENTROPY = 60  # bits
_OF_OLD_VERSIONS = "flowcontrol.k8s.io/preserve-zero-concurrency-shares"


class FlowControlStrategy(WithStatus):
    def prepare_status_update(self, new: Document, old: Document) -> None:
        keep_but(new, old, "status")

    def validate_status_update(self, new: Document, old: Document) -> Iterable[Cause]:
        return check(f"{self.type_name}Status", new.get("status"), "status")


# Schemas


@relates("flowcontrol.v1.FlowSchemaSpec")
def _exempt_precedence(spec: Document, path: str, around: Around) -> Iterator[Cause]:
    if spec.get("matchingPrecedence") == 1 and _name(around, "FlowSchema") != "exempt":
        text = "only the schema named 'exempt' may have matchingPrecedence 1"
        yield invalid_value(f"{path}.matchingPrecedence", 1, text)


@relates("flowcontrol.v1.FlowSchemaSpec", where="distinguisherMethod")
def _distinguisher(spec: Document, path: str, around: Around) -> Iterator[Cause]:
    given = spec["distinguisherMethod"].get("type", "")
    if given not in _METHODS:
        yield errors.unsupported_value(f"{path}.distinguisherMethod.type", {"Type": given}, _METHODS)


@relates("flowcontrol.v1.FlowSchemaSpec")
def _fixed_schema(spec: Document, path: str, around: Around) -> Iterator[Cause]:
    name = _name(around, "FlowSchema")
    fixed = FIXED["flowschemas"].get(name)
    if fixed is not None and spec != fixed["spec"]:
        yield invalid_value(path, shown_schema_spec(spec), f"spec of '{name}' must equal the fixed value")


def _name(around: Around, kind: str) -> str:
    name: str = around[f"{_GROUP}.{kind}"]["metadata"].get("name", "")
    return name


@relates("flowcontrol.v1.PolicyRulesWithSubjects")
def _any_rules(rule: Document, path: str, around: Around) -> Iterator[Cause]:
    if not rule.get("resourceRules") and not rule.get("nonResourceRules"):
        text = "at least one of resourceRules and nonResourceRules has to be non-empty"
        yield errors.required(path, text)


@relates("flowcontrol.v1.Subject")
def _subject(subject: Document, path: str, around: Around) -> Iterator[Cause]:
    kind = subject.get("kind", "")
    wanted = _SUBJECTS.get(kind)
    if wanted is None:
        yield errors.unsupported_value(f"{path}.kind", kind, sorted(_SUBJECTS))
        return
    if subject.get(wanted) is None:
        yield errors.required(f"{path}.{wanted}", f"{wanted} is required when subject kind is '{kind}'")
    else:
        yield from check(f"{_GROUP}.{kind}Subject", subject[wanted], f"{path}.{wanted}")
    for other in ("ServiceAccount", "User", "Group"):
        name = _SUBJECTS[other]
        if name != wanted and name in subject:
            yield forbidden_value(f"{path}.{name}", f"{name} is forbidden when subject kind is not '{other}'")


@relates("flowcontrol.v1.ServiceAccountSubject")
def _account_name(subject: Document, path: str, around: Around) -> Iterator[Cause]:
    name = subject.get("name", "")
    if not name:
        yield errors.required(f"{path}.name")
    elif name != "*":
        yield from check_form("dns-subdomain", name, f"{path}.name")


def _all_or_some(rule: Document, path: str, field: str, called: str) -> Iterator[Cause]:
    """If everything is meant, nothing else is listed."""
    listed = rule.get(field) or []
    if "*" in listed and len(listed) > 1:
        text = f"if '*' is present, must not specify other {called}"
        yield invalid_value(f"{path}.{field}", listed, text)


@relates("flowcontrol.v1.ResourcePolicyRule")
def _all_groups(rule: Document, path: str, around: Around) -> Iterator[Cause]:
    return _all_or_some(rule, path, "apiGroups", "api groups")


@relates("flowcontrol.v1.ResourcePolicyRule")
def _all_resources(rule: Document, path: str, around: Around) -> Iterator[Cause]:
    return _all_or_some(rule, path, "resources", "resources")


@relates("flowcontrol.v1.ResourcePolicyRule", "flowcontrol.v1.NonResourcePolicyRule")
def _verbs(rule: Document, path: str, around: Around) -> Iterator[Cause]:
    verbs = rule.get("verbs") or []
    if not verbs:
        yield errors.required(f"{path}.verbs", "verbs must contain at least one value")
    yield from _all_or_some(rule, path, "verbs", "verbs")
    if "*" not in verbs and not set(verbs) <= set(_VERBS):
        yield errors.unsupported_value(f"{path}.verbs", verbs, _VERBS)


@relates("flowcontrol.v1.ResourcePolicyRule")
def _namespaces(rule: Document, path: str, around: Around) -> Iterator[Cause]:
    names, field = rule.get("namespaces") or [], f"{path}.namespaces"
    if not names and not rule.get("clusterScope"):
        text = "resource rules that are not cluster scoped must supply at least one namespace"
        yield errors.required(field, text)
    yield from _all_or_some(rule, path, "namespaces", "namespaces")
    for index, name in enumerate(names if "*" not in names else ()):
        for problem in dns_label_problems(name):
            text = f"each member of this list must be '*' or a DNS-1123 label; {problem}"
            yield invalid_value(f"{field}[{index}]", name, text)


@relates("flowcontrol.v1.NonResourcePolicyRule")
def _urls(rule: Document, path: str, around: Around) -> Iterator[Cause]:
    urls, field = rule.get("nonResourceURLs") or [], f"{path}.nonResourceURLs"
    if not urls:
        yield errors.required(field, "nonResourceURLs must contain at least one value")
    yield from _all_or_some(rule, path, "nonResourceURLs", "non-resource URLs")
    for index, url in enumerate(urls if "*" not in urls else ()):
        if problem := _url_problem(url):
            yield invalid_value(f"{field}[{index}]", url, problem)


def _url_problem(url: str) -> str:
    if not url:
        return "must not be empty"
    if not url.startswith("/"):
        return "must start with slash"
    if " " in url:
        return "must not contain white-space"
    if "//" in url:
        return "must not contain double slash"
    if "*" in url and (url.count("*") > 1 or not url.endswith("/*")):
        return "wildcard can only do suffix matching"
    return ""


# Levels


@relates("flowcontrol.v1.PriorityLevelConfigurationSpec")
def _level(spec: Document, path: str, around: Around) -> Iterator[Cause]:
    level = around[f"{_GROUP}.PriorityLevelConfiguration"]
    name, kind = level["metadata"].get("name", ""), spec.get("type", "")
    if _OF_OLD_VERSIONS in (level["metadata"].get("annotations") or {}):
        yield forbidden_value("metadata.annotations", f"annotation '{_OF_OLD_VERSIONS}' is forbidden")
    if (name == "exempt") != (kind == "Exempt"):
        yield invalid_value(f"{path}.type", kind, "must be 'Exempt' if and only if `name` is 'exempt'")
    limited, exempt = spec.get("limited"), spec.get("exempt")
    if kind == "Exempt":
        if limited is not None:
            yield forbidden_value(f"{path}.limited", "must be nil if the type is not Limited")
        yield from check(f"{_GROUP}.ExemptPriorityLevelConfiguration", exempt, f"{path}.exempt")
    elif kind == "Limited":
        if exempt is not None:
            yield forbidden_value(f"{path}.exempt", "must be nil if the type is Limited")
        if limited is None:
            yield errors.required(f"{path}.limited", "must not be empty when type is Limited")
        yield from check(f"{_GROUP}.LimitedPriorityLevelConfiguration", limited, f"{path}.limited")
    elif not kind:
        yield errors.required(f"{path}.type")
    else:
        yield errors.unsupported_value(f"{path}.type", kind, ("Exempt", "Limited"))
    fixed = FIXED["prioritylevelconfigurations"].get(name)
    if fixed is None:
        return
    given = {**spec, "exempt": fixed["spec"]["exempt"]} if name == "exempt" else spec
    if given != fixed["spec"]:
        but = " except the 'spec.exempt' field" if name == "exempt" else ""
        text = f"spec of '{name}'{but} must equal the fixed value"
        yield invalid_value(path, shown_level_spec(spec), text)


@relates("flowcontrol.v1.LimitResponse")
def _queuing(response: Document, path: str, around: Around) -> Iterator[Cause]:
    kind, queuing = response.get("type", ""), response.get("queuing")
    if kind == "Reject":
        if queuing is not None:
            text = "must be nil if limited.limitResponse.type is not Limited"
            yield forbidden_value(f"{path}.queuing", text)
    elif kind == "Queue":
        if queuing is None:
            text = "must not be empty if limited.limitResponse.type is Limited"
            yield errors.required(f"{path}.queuing", text)
    elif not kind:
        yield errors.required(f"{path}.type")
    else:
        yield errors.unsupported_value(f"{path}.type", kind, ("Queue", "Reject"))


@relates("flowcontrol.v1.QueuingConfiguration")
def _hand_size(queuing: Document, path: str, around: Around) -> Iterator[Cause]:
    queues, hand, field = queuing.get("queues", 0), queuing.get("handSize", 0), f"{path}.handSize"
    if hand <= 0:
        yield invalid_value(field, hand, "must be positive")
    elif hand > queues:
        yield invalid_value(field, hand, f"should not be greater than queues ({queues})")
    elif math.ceil(math.log2(queues) * hand) > _MOST_ENTROPY:
        text = f"required entropy bits of deckSize {queues} and handSize {hand} should not be greater than"
        yield invalid_value(field, hand, f"{text} {_MOST_ENTROPY}")
