"""Sorts of nodes that could be added: templates, and nodes like those there are."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass
from dataclasses import replace as with_other

import msgspec
from msgspec.structs import replace

from moorage.api.decoding import from_document
from moorage.api.devices import ResourceSlice
from moorage.api.meta import Object
from moorage.api.nodes import Node
from moorage.api.pods import Pod, on_node
from moorage.api.storage import CSINode
from moorage.what_if.capacity.copies import DAEMON_SET, controller_of, copy_of
from moorage.what_if.capacity.world import World
from moorage.what_if.node_models import HOSTNAME, renamed

INSTANCE_TYPE = "node.kubernetes.io/instance-type"


@dataclass(frozen=True)
class NodeType:
    """What one more node would be like, and what it costs."""

    name: str
    model: Node
    price: float = 1.0
    csi_node: CSINode | None = None
    slices: tuple[ResourceSlice, ...] = ()
    """The devices of the model, of which a new node has as many."""
    daemons: tuple[Pod, ...] = ()
    """A pod of each DaemonSet that runs on such nodes, too."""

    def node_name(self, number: int) -> str:
        return f"{self.name[:240]}-new-{number}"

    def made(self, number: int) -> list[Object]:
        """A new node of this type, what its drivers say of it, and the pods that come with it."""
        name = self.node_name(number)
        found: list[Object] = [from_document(Node, renamed(self.model, name))]
        if self.csi_node is not None:
            document = renamed(self.csi_node, name)
            document["metadata"].pop("ownerReferences", None)
            found.append(from_document(CSINode, document))
        found += (_slice(each, self.model.name, name) for each in self.slices)
        return [*found, *(on_node(_daemon(pod, name), name) for pod in self.daemons)]


def _slice(model: ResourceSlice, model_node: str, name: str) -> ResourceSlice:
    """Devices like these on another node."""
    document = renamed(model, f"{model.name[:120]}-on-{name[:120]}")
    document["metadata"].pop("ownerReferences", None)
    pool = document["spec"].get("pool") or {}
    pool["name"] = name if pool.get("name") == model_node else f"{pool.get('name')}-on-{name}"
    document["spec"] |= {"nodeName": name, "pool": pool}
    return from_document(ResourceSlice, document)


def with_daemons(world: World, node_type: NodeType) -> NodeType:
    """The type with the pods of those DaemonSets that would run on such a node."""
    samples: dict[str, Pod] = {}
    for pod in world.given.pods:
        owner = controller_of(pod)
        if owner is not None and owner["kind"] == DAEMON_SET and pod.spec.scheduler_name in world.profiles:
            samples.setdefault(owner["uid"] or owner["name"], pod)
    name = node_type.node_name(1)
    with world.undone(*node_type.made(1)):
        daemons = tuple(pod for pod in samples.values() if name in world.fitting(_daemon(pod, name)))
    return with_other(node_type, daemons=daemons)


def _daemon(pod: Pod, node_name: str) -> Pod:
    """The pod of the same DaemonSet for another node, which it names where this one names its own."""
    copied = copy_of(pod, 0)
    document = deepcopy(copied.raw)
    document["metadata"]["name"] = f"{pod.name[:120]}-on-{node_name[:120]}"
    document["metadata"]["uid"] = f"{pod.uid}/{node_name}"
    affinity = (document["spec"].get("affinity") or {}).get("nodeAffinity") or {}
    required = affinity.get("requiredDuringSchedulingIgnoredDuringExecution") or {}
    for term in required.get("nodeSelectorTerms") or ():
        for field in term.get("matchFields") or ():
            if field.get("key") == "metadata.name":
                field["values"] = [node_name]
    return from_document(Pod, document)


def like_existing(objects: Sequence[Object], names: Iterable[str] | None = None) -> Iterator[NodeType]:
    """A type for each sort of node there is, or for these nodes; called after the first of its sort."""
    csi_nodes = {each.name: each for each in objects if isinstance(each, CSINode)}
    slices: dict[str, list[ResourceSlice]] = {}
    for each in objects:
        if isinstance(each, ResourceSlice) and each.spec.node_name:
            slices.setdefault(each.spec.node_name, []).append(each)
    wanted = None if names is None else set(names)
    known: set[object] = set()
    for node in objects:
        if not isinstance(node, Node) or (wanted is not None and node.name not in wanted):
            continue
        devices = tuple(slices.get(node.name, ()))
        sort = sort_of(node), _devices(devices)
        if sort not in known or wanted is not None:
            known.add(sort)
            yield NodeType(node.name, node, 1.0, csi_nodes.get(node.name), devices)


def _devices(slices: Sequence[ResourceSlice]) -> object:
    """How many there are of each driver, and what they are like."""
    return frozenset(
        (each.spec.driver, msgspec.json.encode([replace(device, name="") for device in each.spec.devices]))
        for each in slices
    )


def sort_of(node: Node) -> object:
    """What nodes of one sort have in common: all but their names, and whether they are well."""
    document = renamed(node, "")
    labels = {key: value for key, value in node.labels.items() if key != HOSTNAME}
    taints = [tuple(sorted(taint.items())) for taint in (document.get("spec") or {}).get("taints") or ()]
    amounts = {name: str(amount) for name, amount in node.status.allocatable.items()}
    return frozenset(labels.items()), tuple(taints), frozenset(amounts.items()), node.status.declared_features
