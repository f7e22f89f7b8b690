"""The rules of where a pod may go: affinity, tolerations, spreading and gates."""

from __future__ import annotations

from collections.abc import Sequence

from moorage.api.names import label_value_problems
from moorage.cluster.base.errors import (
    duplicate_value,
    forbidden_value,
    invalid_value,
    required,
    unsupported_value,
)
from moorage.cluster.base.store import Document
from moorage.cluster.kinds.rules import (
    Found,
    check_label_selector,
    check_label_value,
    check_positive,
    check_qualified_name,
)
from moorage.cluster.schema.forms import dns_label_problems, dns_subdomain_problems

_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
_EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")
_UNSATISFIABLE = ("DoNotSchedule", "ScheduleAnyway")
_SELECTOR_IN_KEYS = "exists in both matchLabelKeys and labelSelector"


# Affinity


def check_affinity(affinity: Document, path: str, found: Found) -> None:
    nodes = affinity.get("nodeAffinity")
    if nodes:
        place = f"{path}.nodeAffinity"
        if _REQUIRED in nodes:
            check_node_selector(nodes[_REQUIRED], f"{place}.{_REQUIRED}", found)
        for index, term in enumerate(nodes.get(_PREFERRED, ())):
            where = f"{place}.{_PREFERRED}[{index}]"
            _check_weight(term, where, found)
            _check_node_term(term.get("preference", {}), f"{where}.preference", found, any_value=True)
    for kind in ("podAffinity", "podAntiAffinity"):
        pods = affinity.get(kind)
        if pods:
            _check_pod_affinity(pods, f"{path}.{kind}", found)


def check_node_selector(selector: Document, path: str, found: Found) -> None:
    terms = selector.get("nodeSelectorTerms") or ()
    if not terms:
        found.append(required(f"{path}.nodeSelectorTerms", "must have at least one node selector term"))
    for index, term in enumerate(terms):
        _check_node_term(term, f"{path}.nodeSelectorTerms[{index}]", found, any_value=False)


def _check_weight(term: Document, path: str, found: Found) -> None:
    weight = term.get("weight", 0)
    if not 1 <= weight <= 100:
        found.append(invalid_value(f"{path}.weight", weight, "must be in the range 1-100"))


def _check_node_term(term: Document, path: str, found: Found, *, any_value: bool) -> None:
    for index, requirement in enumerate(term.get("matchExpressions", ())):
        _check_node_requirement(requirement, f"{path}.matchExpressions[{index}]", found, any_value=any_value)
    for index, requirement in enumerate(term.get("matchFields", ())):
        _check_node_field(requirement, f"{path}.matchFields[{index}]", found)


def _check_node_requirement(requirement: Document, path: str, found: Found, *, any_value: bool) -> None:
    operator, values = requirement.get("operator", ""), requirement.get("values", ())
    if operator in ("In", "NotIn"):
        if not values:
            detail = "must be specified when `operator` is 'In' or 'NotIn'"
            found.append(required(f"{path}.values", detail))
    elif operator in ("Exists", "DoesNotExist"):
        if values:
            detail = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
            found.append(forbidden_value(f"{path}.values", detail))
    elif operator in ("Gt", "Lt"):
        if len(values) != 1:
            detail = "must be specified single value when `operator` is 'Lt' or 'Gt'"
            found.append(required(f"{path}.values", detail))
    else:
        found.append(invalid_value(f"{path}.operator", operator, "not a valid selector operator"))
    check_qualified_name(requirement.get("key", ""), f"{path}.key", found)
    if not any_value:
        for index, value in enumerate(values):
            check_label_value(value, f"{path}.values[{index}]", found)


def _check_node_field(requirement: Document, path: str, found: Found) -> None:
    operator, values = requirement.get("operator", ""), requirement.get("values", ())
    if operator not in ("In", "NotIn"):
        found.append(invalid_value(f"{path}.operator", operator, "not a valid selector operator"))
    elif len(values) != 1:
        detail = "must be only one value when `operator` is 'In' or 'NotIn' for node field selector"
        found.append(required(f"{path}.values", detail))
    key = requirement.get("key", "")
    if key != "metadata.name":
        found.append(invalid_value(f"{path}.key", key, "not a valid field selector key"))
        return
    for index, value in enumerate(values):
        for problem in dns_subdomain_problems(value):
            found.append(invalid_value(f"{path}.values[{index}]", value, problem))


def _check_pod_affinity(affinity: Document, path: str, found: Found) -> None:
    for index, term in enumerate(affinity.get(_REQUIRED, ())):
        _check_pod_term(term, f"{path}.{_REQUIRED}[{index}]", found)
    for index, weighted in enumerate(affinity.get(_PREFERRED, ())):
        place = f"{path}.{_PREFERRED}[{index}]"
        _check_weight(weighted, place, found)
        _check_pod_term(weighted.get("podAffinityTerm", {}), f"{place}.podAffinityTerm", found)


def _check_pod_term(term: Document, path: str, found: Found) -> None:
    selector = term.get("labelSelector")
    check_label_selector(selector, f"{path}.labelSelector", found)
    check_label_selector(term.get("namespaceSelector"), f"{path}.namespaceSelector", found)
    for name in term.get("namespaces", ()):
        for problem in dns_label_problems(name):
            found.append(invalid_value(f"{path}.namespace", name, problem))
    _check_label_keys(
        term.get("matchLabelKeys", ()), term.get("mismatchLabelKeys", ()), selector, path, found
    )
    key = term.get("topologyKey", "")
    if not key:
        found.append(required(f"{path}.topologyKey", "can not be empty"))
    check_qualified_name(key, f"{path}.topologyKey", found)


def _check_label_keys(
    same: Sequence[str], other: Sequence[str], selector: Document | None, path: str, found: Found
) -> None:
    """Labels that must be, or must not be, the incoming pod's own.

    The server itself adds one requirement to the selector for each of them, at its end; a key that stands
    there twice is one that someone else had put there before.
    """
    for field, keys in (("matchLabelKeys", same), ("mismatchLabelKeys", other)):
        if not keys:
            continue
        if selector is None:
            detail = "must not be specified when labelSelector is not set"
            found.append(forbidden_value(f"{path}.{field}", detail))
            continue
        for index, key in enumerate(keys):
            check_qualified_name(key, f"{path}.{field}[{index}]", found)
    if selector is not None and same:
        places = {key: index for index, key in enumerate(same)}
        seen = set(selector.get("matchLabels", ()))
        for requirement in selector.get("matchExpressions", ()):
            key = requirement.get("key", "")
            if key in places and key in seen:
                found.append(invalid_value(f"{path}[{places[key]}]", key, _SELECTOR_IN_KEYS))
            seen.add(key)
    for index, key in enumerate(same):
        if key in other:
            detail = "exists in both matchLabelKeys and mismatchLabelKeys"
            found.append(invalid_value(f"{path}.matchLabelKeys[{index}]", key, detail))


# Tolerations, spreading, gates


def check_tolerations(tolerations: Sequence[Document], path: str, found: Found) -> None:
    for index, toleration in enumerate(tolerations):
        place = f"{path}[{index}]"
        key, operator = toleration.get("key", ""), toleration.get("operator", "")
        value, effect = toleration.get("value", ""), toleration.get("effect", "")
        if key:
            check_qualified_name(key, f"{place}.key", found)
        elif operator != "Exists":
            detail = (
                'operator must be Exists when `key` is empty, which means "match all values and all keys"'
            )
            found.append(invalid_value(f"{place}.operator", operator, detail))
        if "tolerationSeconds" in toleration and effect != "NoExecute":
            detail = "effect must be 'NoExecute' when `tolerationSeconds` is set"
            found.append(invalid_value(f"{place}.effect", effect, detail))
        if operator in ("Equal", ""):
            problems = label_value_problems(value)
            if problems:
                found.append(invalid_value(f"{place}.operator", value, ";".join(problems)))
        elif operator == "Exists":
            if value:
                detail = "value must be empty when `operator` is 'Exists'"
                found.append(invalid_value(f"{place}.operator", value, detail))
        else:
            known = ("Equal", "Exists", "Lt", "Gt") if operator in ("Lt", "Gt") else ("Equal", "Exists")
            found.append(unsupported_value(f"{place}.operator", operator, known))
        if effect and effect not in _EFFECTS:
            found.append(unsupported_value(f"{place}.effect", effect, _EFFECTS))


def check_spreading(constraints: Sequence[Document], path: str, found: Found) -> None:
    for index, constraint in enumerate(constraints):
        place = f"{path}[{index}]"
        key, action = constraint.get("topologyKey", ""), constraint.get("whenUnsatisfiable", "")
        selector = constraint.get("labelSelector")
        check_positive(constraint.get("maxSkew", 0), f"{place}.maxSkew", found)
        if not key:
            found.append(required(f"{place}.topologyKey", "can not be empty"))
        if action not in _UNSATISFIABLE:
            found.append(unsupported_value(f"{place}.whenUnsatisfiable", action, _UNSATISFIABLE))
        for later in constraints[index + 1 :]:
            if (later.get("topologyKey", ""), later.get("whenUnsatisfiable", "")) == (key, action):
                where = f"{place}.{{topologyKey, whenUnsatisfiable}}"
                found.append(duplicate_value(where, f"{{{key}, {action}}}"))
                break
        domains = constraint.get("minDomains")
        if domains is not None:
            check_positive(domains, f"{place}.minDomains", found)
            if action != "DoNotSchedule":
                detail = f"can only use minDomains if whenUnsatisfiable=DoNotSchedule, not {action}"
                found.append(invalid_value(f"{place}.minDomains", domains, detail))
        for field in ("nodeAffinityPolicy", "nodeTaintsPolicy"):
            policy = constraint.get(field)
            if policy is not None and policy not in ("Honor", "Ignore"):
                found.append(unsupported_value(f"{place}.{field}", policy, ("Honor", "Ignore")))
        _check_label_keys(constraint.get("matchLabelKeys", ()), (), selector, place, found)
        check_label_selector(selector, f"{place}.labelSelector", found)


def check_gates(gates: Sequence[Document], path: str, found: Found) -> None:
    seen: set[str] = set()
    for index, gate in enumerate(gates):
        name = gate.get("name", "")
        check_qualified_name(name, f"{path}[{index}]", found)
        if name in seen:
            found.append(duplicate_value(f"{path}[{index}]", name))
        seen.add(name)


def merge_label_keys(spec: Document, labels: dict[str, str]) -> None:
    """Writes the pod's own values of the labels in question into the selectors that ask for them."""
    affinity = spec.get("affinity", {})
    for kind in ("podAffinity", "podAntiAffinity"):
        terms = affinity.get(kind, {})
        for weighted in terms.get(_PREFERRED, ()):
            _merge(weighted.get("podAffinityTerm", {}), labels)
        for term in terms.get(_REQUIRED, ()):
            _merge(term, labels)
    for constraint in spec.get("topologySpreadConstraints", ()):
        _merge(constraint, labels)


def _merge(term: Document, labels: dict[str, str]) -> None:
    selector = term.get("labelSelector")
    if selector is None:
        return
    added = [
        {"key": key, "operator": operator, "values": [labels[key]]}
        for field, operator in (("matchLabelKeys", "In"), ("mismatchLabelKeys", "NotIn"))
        for key in term.get(field, ())
        if key in labels
    ]
    if added:
        selector["matchExpressions"] = [*selector.get("matchExpressions", ()), *added]
