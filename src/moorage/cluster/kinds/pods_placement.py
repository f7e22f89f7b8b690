"""What relates the fields of where a pod may go: affinity, tolerations, spreading and gates."""

from __future__ import annotations

from collections.abc import Iterator

from moorage.cluster.base import errors
from moorage.cluster.base.errors import Cause
from moorage.cluster.base.store import Document
from moorage.cluster.kinds.common import items_of, part, repeated
from moorage.cluster.schema.checking import Around, check_form, relates
from moorage.cluster.schema.forms import label_value_problems

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
_ANY_KEY = 'operator must be Exists when `key` is empty, which means "match all values and all keys"'


@relates("core.v1.PodAffinityTerm", where="namespaces")
def _namespaces(term: Document, path: str, around: Around) -> Iterator[Cause]:
    for name in term["namespaces"]:
        yield from check_form("dns-label", name, f"{path}.namespace")


@relates("core.v1.PodAffinityTerm", "core.v1.TopologySpreadConstraint", where="matchLabelKeys")
def _same_labels(term: Document, path: str, around: Around) -> Iterator[Cause]:
    """Labels that must be the incoming pod's own.

    The server itself adds one requirement to the selector for each of them, at its end; a key that stands
    there twice is one that someone else had put there before.
    """
    keys, others, selector = (
        term["matchLabelKeys"],
        term.get("mismatchLabelKeys") or (),
        term.get("labelSelector"),
    )
    yield from _label_keys(keys, selector, f"{path}.matchLabelKeys")
    places = {key: index for index, key in enumerate(keys)}
    seen = set(part(selector or {}, "matchLabels"))
    for requirement in (selector or {}).get("matchExpressions") or ():
        key = requirement.get("key", "")
        if key in places and key in seen:
            text = "exists in both matchLabelKeys and labelSelector"
            yield errors.invalid_value(f"{path}[{places[key]}]", key, text)
        seen.add(key)
    for index, key in enumerate(keys):
        if key in others:
            text = "exists in both matchLabelKeys and mismatchLabelKeys"
            yield errors.invalid_value(f"{path}.matchLabelKeys[{index}]", key, text)


@relates("core.v1.PodAffinityTerm", where="mismatchLabelKeys")
def _other_labels(term: Document, path: str, around: Around) -> Iterator[Cause]:
    yield from _label_keys(term["mismatchLabelKeys"], term.get("labelSelector"), f"{path}.mismatchLabelKeys")


def _label_keys(keys: list[str], selector: Document | None, path: str) -> Iterator[Cause]:
    if keys and selector is None:
        yield errors.forbidden_value(path, "must not be specified when labelSelector is not set")
        return
    for index, key in enumerate(keys):
        yield from check_form("qualified-name", key, f"{path}[{index}]")


@relates("core.v1.Toleration")
def _toleration(toleration: Document, path: str, around: Around) -> Iterator[Cause]:
    operator, value, effect = (toleration.get(name, "") for name in ("operator", "value", "effect"))
    place = f"{path}.operator"
    if not toleration.get("key") and operator != "Exists":
        yield errors.invalid_value(place, operator, _ANY_KEY)
    if "tolerationSeconds" in toleration and effect != "NoExecute":
        text = "effect must be 'NoExecute' when `tolerationSeconds` is set"
        yield errors.invalid_value(f"{path}.effect", effect, text)
    if operator in ("Equal", ""):
        if problems := label_value_problems(value):
            yield errors.invalid_value(place, value, ";".join(problems))
    elif operator != "Exists":
        known = ("Equal", "Exists", "Lt", "Gt") if operator in ("Lt", "Gt") else ("Equal", "Exists")
        yield errors.unsupported_value(place, operator, known)
    elif value:
        yield errors.invalid_value(place, value, "value must be empty when `operator` is 'Exists'")


@relates("core.v1.PodSpec", where="topologySpreadConstraints")
def _spreading(spec: Document, path: str, around: Around) -> Iterator[Cause]:
    constraints = list(items_of(spec, "topologySpreadConstraints", path))
    kinds = [(each.get("topologyKey", ""), each.get("whenUnsatisfiable", "")) for each, _ in constraints]
    for index, (constraint, place) in enumerate(constraints):
        key, action = kinds[index]
        if kinds[index] in kinds[index + 1 :]:
            where = f"{place}.{{topologyKey, whenUnsatisfiable}}"
            yield errors.duplicate_value(where, f"{{{key}, {action}}}")
        domains = constraint.get("minDomains")
        if domains is not None and action != "DoNotSchedule":
            text = f"can only use minDomains if whenUnsatisfiable=DoNotSchedule, not {action}"
            yield errors.invalid_value(f"{place}.minDomains", domains, text)


@relates("core.v1.PodSchedulingGate")
def _gate(gate: Document, path: str, around: Around) -> Iterator[Cause]:
    yield from check_form("qualified-name", gate.get("name", ""), path)


@relates("core.v1.PodSpec", where="schedulingGates")
def _gates(spec: Document, path: str, around: Around) -> Iterator[Cause]:
    for index, name in repeated(gate.get("name", "") for gate in spec["schedulingGates"]):
        yield errors.duplicate_value(f"{path}.schedulingGates[{index}]", name)


def merge_label_keys(spec: Document, labels: dict[str, str]) -> None:
    """Writes the pod's own values of the labels in question into the selectors that ask for them."""
    affinity = part(spec, "affinity")
    for kind in ("podAffinity", "podAntiAffinity"):
        terms = part(affinity, kind)
        for weighted in terms.get(PREFERRED) or ():
            _merge(part(weighted, "podAffinityTerm"), labels)
        for term in terms.get(REQUIRED) or ():
            _merge(term, labels)
    for constraint in spec.get("topologySpreadConstraints") or ():
        _merge(constraint, labels)


def _merge(term: Document, labels: dict[str, str]) -> None:
    selector = term.get("labelSelector")
    added = [
        {"key": key, "operator": operator, "values": [labels[key]]}
        for field, operator in (("matchLabelKeys", "In"), ("mismatchLabelKeys", "NotIn"))
        for key in term.get(field) or ()
        if key in labels
    ]
    if added and selector is not None:
        selector["matchExpressions"] = [*(selector.get("matchExpressions") or ()), *added]
