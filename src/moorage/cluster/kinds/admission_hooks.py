"""Configurations of admission webhooks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from moorage.api.names import dns_subdomain_problems
from moorage.cluster.base.errors import Cause, duplicate_value, invalid_value, required
from moorage.cluster.base.store import Document
from moorage.cluster.custom.webhooks import url_problems
from moorage.cluster.kinds.common import KindStrategy, items_of
from moorage.cluster.kinds.match_rules import (
    FAILURE_POLICIES,
    MATCH_POLICIES,
    choice,
    condition_problems,
    rule_problems,
    selector_problems,
)
from moorage.cluster.schema.forms import dns_1035_label_problems

MUTATING = "mutatingwebhookconfigurations.admissionregistration.k8s.io"
VALIDATING = "validatingwebhookconfigurations.admissionregistration.k8s.io"
REVIEW_VERSIONS = ("v1", "v1beta1")
_NO_SIDE_EFFECTS = ("None", "NoneOnDryRun")
_REINVOCATION = ("IfNeeded", "Never")
_STATIC = ".static.k8s.io"
_LEAST_PARTS = 3
_SHORTEST, _LONGEST = 1, 30


class _HooksStrategy(KindStrategy):
    def validate(self, document: Document) -> Iterator[Cause]:
        return _problems(document, None)

    def validate_change(
        self, new: Document, old: Document, subresource: str, warnings: list[str]
    ) -> Iterable[Cause]:
        return _problems(new, old)

    def warnings(self, document: Document) -> list[str]:
        return static_suffix_warnings(document)


class MutatingStrategy(_HooksStrategy):
    type_name = "admissionregistration.v1.MutatingWebhookConfiguration"


class ValidatingStrategy(_HooksStrategy):
    type_name = "admissionregistration.v1.ValidatingWebhookConfiguration"


def static_suffix_warnings(document: Document) -> list[str]:
    """A name that files on the disk of API servers are to have alone."""
    name = document["metadata"].get("name", "")
    if not name.endswith(_STATIC):
        return []
    why = f'names ending with "{_STATIC}" are reserved for static manifest-based configurations'
    return [f"metadata.name: {why} and cannot be managed via the API"]


def _conditions(document: Document) -> list[object]:
    return [hook.get("matchConditions") or [] for hook in document.get("webhooks") or ()]


def _problems(new: Document, old: Document | None) -> Iterator[Cause]:
    same_conditions = old is not None and _conditions(old) == _conditions(new)
    names: set[str] = set()
    for hook, path in items_of(new, "webhooks", ""):
        path = path.removeprefix(".")
        yield from _hook_problems(hook, path, checks_conditions=not same_conditions)
        yield from _version_problems(hook.get("admissionReviewVersions") or [], path)
        name = hook.get("name", "")
        if name and name in names:
            yield duplicate_value(f"{path}.name", name)
        names.add(name)


def _hook_problems(hook: Document, path: str, *, checks_conditions: bool) -> Iterator[Cause]:
    yield from _name_problems(hook.get("name", ""), f"{path}.name")
    for rule, where in items_of(hook, "rules", path):
        yield from rule_problems(rule, where)
    yield from choice(hook.get("failurePolicy"), f"{path}.failurePolicy", FAILURE_POLICIES)
    yield from choice(hook.get("matchPolicy"), f"{path}.matchPolicy", MATCH_POLICIES)
    if hook.get("sideEffects") is None:
        yield required(f"{path}.sideEffects", f"must specify one of {', '.join(_NO_SIDE_EFFECTS)}")
    yield from choice(hook.get("sideEffects"), f"{path}.sideEffects", _NO_SIDE_EFFECTS)
    seconds = hook.get("timeoutSeconds")
    if seconds is not None and not _SHORTEST <= seconds <= _LONGEST:
        why = f"the timeout value must be between {_SHORTEST} and {_LONGEST} seconds"
        yield invalid_value(f"{path}.timeoutSeconds", seconds, why)
    yield from selector_problems(hook, "namespaceSelector", path)
    yield from selector_problems(hook, "objectSelector", path)
    yield from choice(hook.get("reinvocationPolicy"), f"{path}.reinvocationPolicy", _REINVOCATION)
    yield from _client_problems(hook.get("clientConfig") or {}, f"{path}.clientConfig")
    if checks_conditions:
        conditions = hook.get("matchConditions") or []
        yield from condition_problems(conditions, f"{path}.matchConditions", has_params=False)


def _name_problems(name: str, path: str) -> Iterator[Cause]:
    if not name:
        yield required(path)
    elif problems := dns_subdomain_problems(name):
        yield invalid_value(path, name, ",".join(problems))
    elif len(name.split(".")) < _LEAST_PARTS:
        yield invalid_value(path, name, "should be a domain with at least three segments separated by dots")


def _version_problems(versions: list[str], path: str) -> Iterator[Cause]:
    path = f"{path}.admissionReviewVersions"
    if not versions:
        yield required(path, f"must specify one of {', '.join(REVIEW_VERSIONS)}")
        return
    for place, version in enumerate(versions):
        if version in versions[:place]:
            yield invalid_value(f"{path}[{place}]", version, "duplicate version")
            continue
        for problem in dns_1035_label_problems(version):
            yield invalid_value(f"{path}[{place}]", version, problem)
    if not set(versions) & set(REVIEW_VERSIONS):
        yield invalid_value(path, versions, f"must include at least one of {', '.join(REVIEW_VERSIONS)}")


def _client_problems(client: Document, path: str) -> Iterator[Cause]:
    url, service = client.get("url"), client.get("service")
    if (url is None) == (service is None):
        yield required(path, "exactly one of url or service is required")
    elif url is not None:
        yield from url_problems(f"{path}.url", url)
    elif service is not None:
        yield from _service_problems(service, f"{path}.service")


def _service_problems(service: Document, path: str) -> Iterator[Cause]:
    # The original takes the one for the other.
    for name, told in (("namespace", "name"), ("name", "namespace")):
        if not service.get(name):
            yield required(f"{path}.{told}")
    port = service.get("port", 443)
    if not 1 <= port <= 65535:
        why = "port is not valid: must be between 1 and 65535, inclusive"
        yield invalid_value(f"{path}.port", port, why)
    where = service.get("path") or ""
    if where in ("", "/"):
        return
    if where == "//":
        yield invalid_value(f"{path}.path", where, "segment[0] may not be empty")
        return
    if not where.startswith("/"):
        yield invalid_value(f"{path}.path", where, "must start with a '/'")
    for place, segment in enumerate(where[1:].removesuffix("/").split("/")):
        if not segment:
            yield invalid_value(f"{path}.path", where, f"segment[{place}] may not be empty")
        for problem in dns_subdomain_problems(segment) if segment else ():
            yield invalid_value(f"{path}.path", where, f"segment[{place}]: {problem}")
