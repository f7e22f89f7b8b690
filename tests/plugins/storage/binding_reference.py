"""VolumeBinding's filter in the slow and obvious form: one node, one claim, one volume after the other."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from moorage.api.in_tree_volumes import TranslationError
from moorage.api.nodes import Node
from moorage.api.quantities import parse, value
from moorage.api.selectors import NodeSelector, SelectorError, parse_selector
from moorage.api.storage import (
    CSIDriver,
    CSINode,
    CSIStorageCapacity,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
)
from moorage.plugins.storage.translation import translated_affinity
from tests.plugins.storage.volume_objects import NO_PROVISIONER, SELECTED

CONFLICT = "node(s) didn't match PersistentVolume's node affinity"
UNBOUND = "node(s) didn't find available persistent volumes to bind"
NO_SPACE = "node(s) did not have enough free storage"
GONE = "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)"


class World(NamedTuple):
    """Objects by name."""

    volumes: Mapping[str, PersistentVolume]
    classes: Mapping[str, StorageClass]
    drivers: Mapping[str, CSIDriver]
    csi_nodes: Mapping[str, CSINode]
    capacities: Iterable[CSIStorageCapacity]


class Answer(NamedTuple):
    """Reasons in their order; what the pod would get if there are none."""

    reasons: tuple[str, ...] = ()
    bindings: tuple[tuple[str, str], ...] = ()
    """Claim and volume."""
    provisions: tuple[str, ...] = ()
    failed: bool = False


def judge(
    world: World, bound: list[PersistentVolumeClaim], delayed: list[PersistentVolumeClaim], node: Node
) -> Answer:
    reasons: set[str] = set()
    for claim in bound:
        volume = world.volumes.get(claim.spec.volume_name)
        if volume is None:
            reasons.add(GONE)
            break
        try:
            asked = translated_affinity(volume, world.csi_nodes.get(node.name))
        except TranslationError:
            return Answer(failed=True)
        if not fits(asked, node):
            reasons.add(CONFLICT)
            break
    bindings: list[tuple[str, str]] = []
    provisions: list[PersistentVolumeClaim] = []
    for claim in delayed:
        chosen = claim.annotations.get(SELECTED)
        if chosen is not None and chosen != node.name:
            return in_order(reasons | {UNBOUND})
        if chosen is not None:
            provisions.append(claim)
    for claim in sorted((c for c in delayed if SELECTED not in c.annotations), key=size_of):
        try:
            parse_selector(claim.spec.selector)
        except SelectorError:
            return Answer(failed=True)
        found = match(world, claim, {name for _, name in bindings}, node)
        if found is None:
            provisions.append(claim)
        else:
            bindings.append((claim.name, found.name))
    for claim in provisions:
        problem = cannot_provision(world, claim, node)
        if problem is not None:
            return in_order(reasons | {problem})
    if reasons:
        return in_order(reasons)
    return Answer((), tuple(bindings), tuple(dict.fromkeys(claim.name for claim in provisions)))


def in_order(reasons: set[str]) -> Answer:
    return Answer(tuple(reason for reason in (CONFLICT, UNBOUND, NO_SPACE, GONE) if reason in reasons))


def fits(selector: NodeSelector | None, node: Node) -> bool:
    # Without a name of the node, fields are not looked at.
    return selector is None or selector.matches(node.labels, "")


def size_of(claim: PersistentVolumeClaim) -> int:
    return parse(claim.spec.resources.requests.get("storage", 0))


def match(world: World, claim: PersistentVolumeClaim, taken: set[str], node: Node) -> PersistentVolume | None:
    smallest: PersistentVolume | None = None
    for _, volume in sorted(world.volumes.items()):
        spec, named = volume.spec, volume.spec.claim_ref
        is_for_it = (
            named is not None
            and (named.namespace, named.name) == (claim.namespace, claim.name)
            and named.uid in ("", claim.uid)
        )
        if (
            spec.storage_class_name != claim.spec.storage_class_name
            or volume.name in taken
            or (named is not None and not is_for_it)
            or parse(spec.capacity["storage"]) < size_of(claim)
            or (spec.volume_mode or "Filesystem") != (claim.spec.volume_mode or "Filesystem")
            or (spec.volume_attributes_class_name or "") != (claim.spec.volume_attributes_class_name or "")
            or volume.deleting
        ):
            continue
        is_near = fits(spec.node_affinity.required if spec.node_affinity else None, node)
        if is_for_it:
            return volume if is_near else None
        if volume.status.phase != "Available" or not is_near:
            continue
        selector = claim.spec.selector
        if selector is not None and not parse_selector(selector).matches(volume.labels):
            continue
        if not set(spec.access_modes) >= set(claim.spec.access_modes):
            continue
        if smallest is None or parse(spec.capacity["storage"]) < parse(smallest.spec.capacity["storage"]):
            smallest = volume
    return smallest


def cannot_provision(world: World, claim: PersistentVolumeClaim, node: Node) -> str | None:
    storage_class = world.classes[claim.spec.storage_class_name or ""]
    if storage_class.provisioner in ("", NO_PROVISIONER):
        return UNBOUND
    terms = storage_class.allowed_topologies
    if terms and not any(
        term.match_label_expressions
        and all(node.labels.get(line.key) in line.values for line in term.match_label_expressions)
        for term in terms
    ):
        return UNBOUND
    driver = world.drivers.get(storage_class.provisioner)
    requested = claim.spec.resources.requests.get("storage")
    if requested is None or driver is None or not driver.spec.storage_capacity:
        return None
    for capacity in world.capacities:
        limit = capacity.maximum_volume_size or capacity.capacity
        if capacity.storage_class_name != storage_class.name or limit is None:
            continue
        if capacity.node_topology is None or not parse_selector(capacity.node_topology).matches(node.labels):
            continue
        if value(parse(limit)) >= value(parse(requested)):
            return None
    return NO_SPACE
