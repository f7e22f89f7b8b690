"""FlowSchemas."""

from __future__ import annotations

from collections.abc import Iterator

from moorage.cluster.base import errors
from moorage.cluster.base.errors import Cause, forbidden_value, invalid_value
from moorage.cluster.base.store import Document
from moorage.cluster.kinds.api_server.flow_control import FlowControlStrategy, changed_spec
from moorage.cluster.schema.checking import Around, check, check_form, relates
from moorage.cluster.schema.forms import dns_label_problems

_METHODS = ("ByNamespace", "ByUser")
_VERBS = ("create", "delete", "deletecollection", "get", "list", "patch", "proxy", "update", "watch")
_SUBJECTS = {"User": "user", "Group": "group", "ServiceAccount": "serviceAccount"}


class FlowSchemaStrategy(FlowControlStrategy):
    type_name = "flowcontrol.v1.FlowSchema"


@relates("flowcontrol.v1.FlowSchemaSpec")
def _exempt_precedence(spec: Document, path: str, around: Around) -> Iterator[Cause]:
    if spec.get("matchingPrecedence") == 1 and _name(around) != "exempt":
        text = "only the schema named 'exempt' may have matchingPrecedence 1"
        yield invalid_value(f"{path}.matchingPrecedence", 1, text)


@relates("flowcontrol.v1.FlowSchemaSpec", where="distinguisherMethod")
def _distinguisher(spec: Document, path: str, around: Around) -> Iterator[Cause]:
    given = spec["distinguisherMethod"].get("type", "")
    if given not in _METHODS:
        yield errors.unsupported_value(f"{path}.distinguisherMethod.type", {"Type": given}, _METHODS)


@relates("flowcontrol.v1.FlowSchemaSpec")
def _fixed_schema(spec: Document, path: str, around: Around) -> Iterator[Cause]:
    return changed_spec("FlowSchema", _name(around), spec, path)


def _name(around: Around) -> str:
    name: str = around["flowcontrol.v1.FlowSchema"]["metadata"].get("name", "")
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
        return
    if subject.get(wanted) is None:
        yield errors.required(f"{path}.{wanted}", f"{wanted} is required when subject kind is '{kind}'")
    else:
        yield from check(f"flowcontrol.v1.{kind}Subject", subject[wanted], f"{path}.{wanted}")
    for other in ("ServiceAccount", "User", "Group"):
        name = _SUBJECTS[other]
        if name != wanted and name in subject:
            yield forbidden_value(f"{path}.{name}", f"{name} is forbidden when subject kind is not '{other}'")


@relates("flowcontrol.v1.ServiceAccountSubject", where="name")
def _account_name(subject: Document, path: str, around: Around) -> Iterator[Cause]:
    if subject["name"] not in ("", "*"):
        yield from check_form("dns-subdomain", subject["name"], f"{path}.name")


@relates("flowcontrol.v1.ResourcePolicyRule", "flowcontrol.v1.NonResourcePolicyRule")
def _known_verbs(rule: Document, path: str, around: Around) -> Iterator[Cause]:
    verbs = rule.get("verbs") or []
    if "*" not in verbs and not set(verbs) <= set(_VERBS):
        yield errors.unsupported_value(f"{path}.verbs", verbs, _VERBS)


@relates("flowcontrol.v1.ResourcePolicyRule")
def _namespaces(rule: Document, path: str, around: Around) -> Iterator[Cause]:
    names, field = rule.get("namespaces") or [], f"{path}.namespaces"
    if not names and not rule.get("clusterScope"):
        text = "resource rules that are not cluster scoped must supply at least one namespace"
        yield errors.required(field, text)
    for index, name in enumerate(names if "*" not in names else ()):
        for problem in dns_label_problems(name):
            text = f"each member of this list must be '*' or a DNS-1123 label; {problem}"
            yield invalid_value(f"{field}[{index}]", name, text)


@relates("flowcontrol.v1.NonResourcePolicyRule")
def _urls(rule: Document, path: str, around: Around) -> Iterator[Cause]:
    urls = rule.get("nonResourceURLs") or []
    for index, url in enumerate(urls if "*" not in urls else ()):
        if problem := _url_problem(url):
            yield invalid_value(f"{path}.nonResourceURLs[{index}]", url, problem)


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
