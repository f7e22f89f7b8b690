"""One node more, like one there is."""

from __future__ import annotations

from collections.abc import Iterator

from moorage.api.storage import CSINode
from moorage.insight.advice.drafts import Draft
from moorage.insight.advice.remedy import Remedy, Sight
from moorage.state.node_info import NodeInfo
from moorage.what_if.node_models import HOSTNAME, renamed

_MOST_MODELS = 64


def remedies_of_pod(sight: Sight) -> Iterator[Remedy]:
    """All sorts of nodes are tried at once; those whose likeness would do follow, the smallest first."""
    found = models(sight)
    if not found:
        return
    draft = sight.draft()
    names: dict[str, NodeInfo] = {}
    for number, model in enumerate(found):
        name = free_name(sight, model.name, number)
        names[name] = model
        _create(sight, draft, model, name)
    outcome = sight.world.outcome(draft.steps())
    if outcome is None:
        return
    fitting = [names[name] for name in outcome.nodes if name in names]
    for model in sorted(fitting, key=size):
        yield remedy(sight, model)


def remedy(sight: Sight, model: NodeInfo) -> Remedy:
    return several(sight, model, 1)


def several(sight: Sight, model: NodeInfo, count: int) -> Remedy:
    """So many nodes more."""

    def edit(draft: Draft) -> None:
        for number in range(count):
            _create(sight, draft, model, free_name(sight, model.name, number))

    many = "one more node" if count == 1 else f"{count} more nodes"
    text = f"there were {many} like {model.name}"
    if model.node.spec.unschedulable:
        text += ", not cordoned"
    return Remedy("node", text, 89 + count, edit, names_node=True)


def free_name(sight: Sight, model: str, number: int = 0) -> str:
    """A name that no node has."""
    for further in range(number + 1, number + 10**6):
        name = f"{model[:240]}-more-{further}"
        if sight.state.node(name) is None and sight.state.objects.of(CSINode).get(name) is None:
            return name
    raise AssertionError("there are fewer nodes than that")


def models(sight: Sight) -> list[NodeInfo]:
    """A node of each sort, of the most usual sorts first."""
    sorts: dict[object, list[NodeInfo]] = {}
    for node in sight.state.table.infos:
        if node.name not in sight.state.table.problems:
            sorts.setdefault(_sort(node), []).append(node)
    most = sorted(sorts.values(), key=len, reverse=True)[:_MOST_MODELS]
    return [nodes[0] for nodes in most]


def _sort(node: NodeInfo) -> object:
    labels = frozenset((key, value) for key, value in node.labels.items() if key != HOSTNAME)
    status = node.node.status
    return labels, node.taints, tuple(sorted(node.allocatable.items())), status.declared_features


def size(node: NodeInfo) -> tuple[int, int, str]:
    return node.allocatable["cpu"], node.allocatable["memory"], node.name


def _create(sight: Sight, draft: Draft, model: NodeInfo, name: str) -> None:
    draft.create(renamed(model.node, name))
    csi_node = sight.state.objects.of(CSINode).get(model.name)
    if csi_node is not None:
        document = renamed(csi_node, name)
        document["metadata"].pop("ownerReferences", None)
        draft.create(document)
