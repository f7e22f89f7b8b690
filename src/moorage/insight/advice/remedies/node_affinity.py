"""Node selector, node affinity and node name: what the pod asks of its node, and labels the node lacks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from moorage.api.selectors import (
    DOES_NOT_EXIST,
    EXISTS,
    GREATER,
    IN,
    LESS,
    NOT_IN,
    NodeSelectorTerm,
    Requirement,
    matches_field,
    parse_int64,
)
from moorage.insight.advice.drafts import Draft, drop_if_empty, items, part
from moorage.insight.advice.remedy import Remedy, Sight, joined
from moorage.insight.advice.steps import Document
from moorage.plugins.node_matching import node_affinity_of
from moorage.state.node_info import NodeInfo

PLUGIN = "NodeAffinity"
NODE_NAME = "NodeName"
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
_FIXES = frozenset({PLUGIN})
_GIVEN_BY_OTHERS = ("kubernetes.io/", "k8s.io/")
"""Labels below these domains are facts about a node, which nobody changes to place a pod."""


def remedies(sight: Sight, node: NodeInfo) -> Iterator[Remedy]:
    """The pod asks for less, or the node gets the labels."""
    missed = _missed_labels(sight, node)
    blocked = not _affinity_matches(sight, node)
    term = _nearest_term(sight, node) if blocked else None
    if missed and not blocked:
        yield _less_selective(sight, missed)
    if blocked and not missed:
        if term is not None:
            yield from _wider(sight, node, term)
        yield only_preferred(sight)
        yield without_affinity(sight)
    if missed and blocked:
        yield _without_both(sight, missed)
    yield from _labelled(sight, node, missed, term, blocked)


def _missed_labels(sight: Sight, node: NodeInfo) -> dict[str, str]:
    wanted = sight.pod.spec.node_selector or {}
    return {key: value for key, value in wanted.items() if node.labels.get(key) != value}


def _affinity_matches(sight: Sight, node: NodeInfo) -> bool:
    affinity = node_affinity_of(sight.pod)
    required = None if affinity is None else affinity.required
    return required is None or required.matches(node.labels, node.name)


def _nearest_term(sight: Sight, node: NodeInfo) -> int | None:
    """The place of the term of which the fewest requirements fail; None if all are unusable."""
    affinity = node_affinity_of(sight.pod)
    assert affinity is not None and affinity.required is not None
    usable = [
        (len(_failing(term, node)), place)
        for place, term in enumerate(affinity.required.node_selector_terms)
        if not term.empty and term.problem() is None
    ]
    return min(usable)[1] if usable else None


def _failing(term: NodeSelectorTerm, node: NodeInfo) -> list[tuple[str, int, Requirement]]:
    """List, place and requirement for each that the node does not meet."""
    found = [
        ("matchExpressions", place, requirement)
        for place, requirement in enumerate(term.match_expressions)
        if not requirement.matches(node.labels)
    ]
    return found + [
        ("matchFields", place, field)
        for place, field in enumerate(term.match_fields)
        if not (matches_field(field, node.name) if field.key == "metadata.name" else False)
    ]


def _less_selective(sight: Sight, missed: dict[str, str]) -> Remedy:
    def edit(draft: Draft) -> None:
        _drop_labels(draft.edit(sight.pod), missed)

    labels = joined(f"{key}={value}" for key, value in missed.items())
    text = f"its node selector did not ask for {labels}"
    return Remedy("node selector", text, 33 + 4 * len(missed), edit, fixes=_FIXES)


def _drop_labels(document: Document, missed: dict[str, str]) -> None:
    selector = part(document, "spec", "nodeSelector")
    for key in missed:
        selector.pop(key, None)
    drop_if_empty(document["spec"], "nodeSelector")


def _terms(document: Document) -> list[Document]:
    return items(part(document, "spec", "affinity", "nodeAffinity", REQUIRED), "nodeSelectorTerms")


def _wider(sight: Sight, node: NodeInfo, place: int) -> Iterator[Remedy]:
    """One term lets the node in: with another value where it has one, or with a requirement less."""
    affinity = node_affinity_of(sight.pod)
    assert affinity is not None and affinity.required is not None
    term = affinity.required.node_selector_terms[place]
    failing = _failing(term, node)
    if len(failing) == len(term.match_expressions) + len(term.match_fields) and not all(
        _accepting(requirement, node) for _, _, requirement in failing
    ):
        # Nothing would be left of the term.
        return

    def edit(draft: Draft) -> None:
        found = _terms(draft.edit(sight.pod))[place]
        for listed, index, requirement in reversed(failing):
            values = _accepting(requirement, node)
            if values is None:
                del found[listed][index]
            else:
                found[listed][index]["values"] = values
        for listed in ("matchExpressions", "matchFields"):
            drop_if_empty(found, listed)

    text = f"its node affinity did not ask for {joined(_told(each) for _, _, each in failing)}"
    if all(_accepting(requirement, node) for _, _, requirement in failing):
        text = f"its node affinity allowed {joined(_told_value(each, node) for _, _, each in failing)}"
    yield Remedy("node affinity", text, 30 + 4 * len(failing), edit, fixes=_FIXES)


def _accepting(requirement: Requirement, node: NodeInfo) -> list[str] | None:
    """Values with which a requirement accepts the node; None if it has to go."""
    value = node.name if requirement.key == "metadata.name" else node.labels.get(requirement.key)
    if requirement.operator == IN and value is not None and requirement.key != "metadata.name":
        return [*requirement.values, value]
    if requirement.operator == NOT_IN and len(requirement.values) > 1:
        return [each for each in requirement.values if each != value]
    return None


def _told(requirement: Requirement) -> str:
    values = ", ".join(requirement.values)
    key, operator = requirement.key, requirement.operator
    if operator == IN:
        return f"{key}={values}" if len(requirement.values) == 1 else f"{key} in ({values})"
    if operator == NOT_IN:
        return f"{key} not in ({values})"
    if operator == EXISTS:
        return f"the label {key}"
    if operator == DOES_NOT_EXIST:
        return f"no label {key}"
    return f"{key} {'>' if operator == GREATER else '<'} {values}"


def _told_value(requirement: Requirement, node: NodeInfo) -> str:
    value = node.name if requirement.key == "metadata.name" else node.labels.get(requirement.key)
    return f"{requirement.key}={value}, too"


def only_preferred(sight: Sight) -> Remedy:
    """What is required becomes a preference."""

    def edit(draft: Draft) -> None:
        affinity = part(draft.edit(sight.pod), "spec", "affinity", "nodeAffinity")
        required = affinity.pop(REQUIRED, None) or {}
        preferred = [{"weight": 100, "preference": term} for term in items(required, "nodeSelectorTerms")]
        affinity[PREFERRED] = [*items(affinity, PREFERRED), *preferred]

    text = "its required node affinity were only preferred"
    return Remedy("node affinity", text, 42, edit, fixes=_FIXES)


def without_affinity(sight: Sight) -> Remedy:
    def edit(draft: Draft) -> None:
        document = draft.edit(sight.pod)
        part(document, "spec", "affinity", "nodeAffinity").pop(REQUIRED, None)
        drop_if_empty(document["spec"], "affinity", "nodeAffinity")

    return Remedy("node affinity", "it had no required node affinity", 44, edit, fixes=_FIXES)


def _without_both(sight: Sight, missed: dict[str, str]) -> Remedy:
    def edit(draft: Draft) -> None:
        without_affinity(sight).edit(draft)
        _drop_labels(draft.edit(sight.pod), missed)

    labels = joined(f"{key}={value}" for key, value in missed.items())
    text = f"it had no required node affinity and its node selector did not ask for {labels}"
    return Remedy("node affinity", text, 60 + 4 * len(missed), edit, fixes=_FIXES)


# Labels of the node


def _labelled(
    sight: Sight, node: NodeInfo, missed: dict[str, str], place: int | None, blocked: bool
) -> Iterator[Remedy]:
    wanted: dict[str, str | None] = dict(missed)
    if blocked:
        affinity = node_affinity_of(sight.pod)
        if place is None or affinity is None or affinity.required is None:
            return
        for listed, _, requirement in _failing(affinity.required.node_selector_terms[place], node):
            value = _meeting(requirement) if listed == "matchExpressions" else False
            if isinstance(value, bool):
                return
            wanted[requirement.key] = value
    if not wanted:
        wanted = _enforced_labels(sight, node)
    if not wanted or any(_is_a_fact(key) for key in wanted):
        return

    def edit(draft: Draft) -> None:
        labels = part(draft.edit(node.node), "metadata", "labels")
        for key, value in wanted.items():
            if value is None:
                labels.pop(key, None)
            else:
                labels[key] = value

    given = [f"the label {key}={value}" for key, value in wanted.items() if value is not None]
    gone = [f"no label {key}" for key, value in wanted.items() if value is None]
    text = f"{node.name} had {joined([*given, *gone])}"
    yield Remedy("node label", text, 44 + 4 * len(wanted), edit, names_node=True, fixes=_FIXES)


def _enforced_labels(sight: Sight, node: NodeInfo) -> dict[str, str | None]:
    """What the configuration asks of the nodes of every pod, as labels."""
    plugin = next((each for each, _ in sight.world.profile.filter if each.name == PLUGIN), None)
    added: Any = None if plugin is None else getattr(plugin.args, "added_affinity", None)
    if added is None or added.required is None:
        return {}
    for term in added.required.node_selector_terms:
        wanted: dict[str, str | None] = {}
        for listed, _, requirement in _failing(term, node):
            value = _meeting(requirement) if listed == "matchExpressions" else False
            if isinstance(value, bool):
                break
            wanted[requirement.key] = value
        else:
            return wanted
    return {}


def _meeting(requirement: Requirement) -> str | bool | None:
    """A value of the label that meets a requirement, None for no label, False if nothing does."""
    operator, values = requirement.operator, requirement.values
    if operator == IN:
        return values[0] if values else False
    if operator == EXISTS:
        return "true"
    if operator in (NOT_IN, DOES_NOT_EXIST):
        return None
    bound = parse_int64(values[0]) if len(values) == 1 else None
    if bound is None or operator not in (GREATER, LESS):
        return False
    return str(bound + 1 if operator == GREATER else bound - 1)


def _is_a_fact(key: str) -> bool:
    domain = key.partition("/")[0] + "/"
    return "/" in key and domain.endswith(_GIVEN_BY_OTHERS)


# The node's name


def remedies_for_name(sight: Sight, node: NodeInfo) -> Iterator[Remedy]:
    def edit(draft: Draft) -> None:
        part(draft.edit(sight.pod), "spec").pop("nodeName", None)

    text = f"it did not name the node {sight.pod.spec.node_name}"
    yield Remedy("node name", text, 30, edit, fixes=frozenset({NODE_NAME}))
