"""Where volumes of drivers that once were built in may be used, as their CSI successors put it."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from moorage.api.in_tree_volumes import (
    BETA_REGION,
    BETA_ZONE,
    REGION,
    ZONE,
    ZONE_DELIMITER,
    Successor,
    csi_volume,
    successor_of,
)
from moorage.api.selectors import IN, NodeSelector, NodeSelectorTerm, Requirement
from moorage.api.storage import CSINode, PersistentVolume

MIGRATED_PLUGINS = "storage.alpha.kubernetes.io/migrated-plugins"


def translated_affinity(volume: PersistentVolume, csi_node: CSINode | None) -> NodeSelector | None:
    """What a volume asks of the labels of a node, as the driver on that node understands it.

    Raises TranslationError for a volume that the driver has no name for.
    """
    affinity = volume.spec.node_affinity.required if volume.spec.node_affinity else None
    successor = successor_of(volume.spec)
    if successor is None or not successor.migrates or not _is_migrated(successor, csi_node):
        return affinity
    # Only a volume that can be named is translated.
    csi_volume(volume)
    return _rewritten(affinity, volume, successor.zone_key) if successor.zone_key else affinity


def _is_migrated(successor: Successor, csi_node: CSINode | None) -> bool:
    if csi_node is None:
        return False
    return successor.in_tree in csi_node.metadata.annotations.get(MIGRATED_PLUGINS, "").split(",")


def _rewritten(affinity: NodeSelector | None, volume: PersistentVolume, csi_zone: str) -> NodeSelector | None:
    zone, region = _topology_keys(affinity, volume)
    if any(line.key == zone and line.values for line in _lines(affinity)):
        affinity = _renamed(affinity, zone, csi_zone)
    else:
        label = volume.metadata.labels.get(zone, "")
        zones = {part.strip() for part in label.split(ZONE_DELIMITER)} - {""}
        if zones:
            affinity = _narrowed(affinity, Requirement(csi_zone, IN, tuple(sorted(zones))))
    if region == BETA_REGION and any(line.key == region and line.values for line in _lines(affinity)):
        affinity = _renamed(affinity, region, REGION)
    return affinity


def _topology_keys(affinity: NodeSelector | None, volume: PersistentVolume) -> tuple[str, str]:
    """The labels for zone and region that a volume goes by: what its affinity names counts most."""
    named = {line.key for line in _lines(affinity)}
    for keys in (named, volume.metadata.labels):
        if ZONE in keys:
            return ZONE, REGION
        if BETA_ZONE in keys:
            return BETA_ZONE, BETA_REGION
    return ZONE, REGION


def _lines(affinity: NodeSelector | None) -> Iterator[Requirement]:
    for term in affinity.node_selector_terms if affinity else ():
        yield from term.match_expressions


def _renamed(affinity: NodeSelector | None, old: str, new: str) -> NodeSelector:
    return NodeSelector(
        tuple(
            replace(
                term,
                match_expressions=tuple(
                    replace(line, key=new) if line.key == old else line for line in term.match_expressions
                ),
            )
            for term in (affinity.node_selector_terms if affinity else ())
        )
    )


def _narrowed(affinity: NodeSelector | None, line: Requirement) -> NodeSelector:
    terms = (affinity.node_selector_terms if affinity else ()) or (NodeSelectorTerm(),)
    return NodeSelector(
        tuple(replace(term, match_expressions=(*term.match_expressions, line)) for term in terms)
    )
