"""One node more, like one there is."""

from __future__ import annotations

import copy
from collections.abc import Iterator

from moorage.api.meta import Object
from moorage.api.nodes import Node
from moorage.api.storage import CSINode
from moorage.insight.advice.drafts import Draft, drop_if_empty, items, part
from moorage.insight.advice.remedies.taints import OF_KUBERNETES, uncordon
from moorage.insight.advice.remedy import Remedy, Sight
from moorage.insight.advice.steps import Document
from moorage.state.node_info import NodeInfo

HOSTNAME = "kubernetes.io/hostname"
_MOST_MODELS = 64
_OF_ONE_NODE = ("uid", "resourceVersion", "creationTimestamp", "selfLink", "managedFields", "generation")


def remedies_of_pod(sight: Sight) -> Iterator[Remedy]:
    """All sorts of nodes are tried at once; those whose likeness would do follow, the smallest first."""
    models = _models(sight)
    if not models:
        return
    draft = sight.draft()
    names: dict[str, NodeInfo] = {}
    for number, model in enumerate(models):
        name = free_name(sight, model.name, number)
        names[name] = model
        _create(sight, draft, model, name)
    outcome = sight.world.outcome(draft.steps())
    if outcome is None:
        return
    fitting = [names[name] for name in outcome.nodes if name in names]
    for model in sorted(fitting, key=_size):
        yield remedy(sight, model)


def remedy(sight: Sight, model: NodeInfo) -> Remedy:
    def edit(draft: Draft) -> None:
        _create(sight, draft, model, free_name(sight, model.name))

    text = f"there were one more node like {model.name}"
    if model.node.spec.unschedulable:
        text += ", not cordoned"
    return Remedy("node", text, 90, edit, names_node=True)


def free_name(sight: Sight, model: str, number: int = 0) -> str:
    """A name that no node has."""
    for further in range(number + 1, number + 10**6):
        name = f"{model[:240]}-more-{further}"
        if sight.state.node(name) is None and sight.state.objects.of(CSINode).get(name) is None:
            return name
    raise AssertionError("there are fewer nodes than that")


def _models(sight: Sight) -> list[NodeInfo]:
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


def _size(node: NodeInfo) -> tuple[int, int, str]:
    return node.allocatable["cpu"], node.allocatable["memory"], node.name


def _create(sight: Sight, draft: Draft, model: NodeInfo, name: str) -> None:
    draft.create(_renamed(model.node, name))
    csi_node = sight.state.objects.of(CSINode).get(model.name)
    if csi_node is not None:
        document = _renamed(csi_node, name)
        document["metadata"].pop("ownerReferences", None)
        draft.create(document)


def _renamed(model: Object, name: str) -> Document:
    """The document of an object like another, but new and well."""
    # Those of a list do not say what they are.
    document = {"apiVersion": model.api_version(), "kind": model.kind, **copy.deepcopy(model.raw)}
    metadata = part(document, "metadata")
    for field in _OF_ONE_NODE:
        metadata.pop(field, None)
    labels = metadata.get("labels") or {}
    if HOSTNAME in labels:
        labels[HOSTNAME] = name
    metadata["name"] = name
    if isinstance(model, Node):
        spec = part(document, "spec")
        uncordon(spec)
        taints = items(spec, "taints")
        spec["taints"] = [taint for taint in taints if not taint.get("key", "").startswith(OF_KUBERNETES)]
        drop_if_empty(spec, "taints")
        for field in ("providerID", "podCIDR", "podCIDRs"):
            spec.pop(field, None)
        part(document, "status").pop("volumesInUse", None)
        part(document, "status").pop("volumesAttached", None)
    return document
