"""On which nodes a volume can be used."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from moorage.api.in_tree_volumes import TranslationError, successor_of
from moorage.api.selectors import NodeSelector
from moorage.api.storage import CSINode, PersistentVolume
from moorage.framework.handle import Handle
from moorage.plugins.fresh import Fresh
from moorage.plugins.node_matching import selector_mask
from moorage.plugins.storage.free_volumes import affinity_of
from moorage.plugins.storage.node_groups import for_labels
from moorage.plugins.storage.translation import MIGRATED_PLUGINS, translated_affinity
from moorage.state.columns import Bools

_KNOWN_AFFINITIES = 1024


def fits(volume: PersistentVolume, labels: Mapping[str, str], csi_node: CSINode | None) -> bool:
    """Whether a volume can be used on a node; raises TranslationError."""
    selector = for_labels(translated_affinity(volume, csi_node))
    return selector is None or selector.matches(labels, "")


class Reached(NamedTuple):
    """The rows that a volume can be used on, None for all; and where that cannot be said, and why."""

    fitting: Bools | None
    unknown: Bools | None = None
    problem: str = ""


class Reach:
    """On which nodes volumes can be used, as masks of all rows that many pods share."""

    def __init__(self, handle: Handle) -> None:
        self._table = handle.state.table
        self._masks = Fresh(_KNOWN_AFFINITIES, self._mask)
        self._csi_nodes = handle.lister_of(CSINode)
        self._csi_nodes.on_change(added=self._appeared, updated=self._changed, deleted=self._appeared)
        self._migrations = 0
        self._migrated = Fresh(1, self._migrated_nodes)

    def of_labels(self, selector: NodeSelector | None) -> Bools | None:
        """The rows that a selector of `for_labels` matches; None stands for all."""
        return None if selector is None else self._masks.get(selector, self._table.labels_version)

    def of_free(self, volume: PersistentVolume) -> Bools | None:
        """The rows whose labels a volume asks for, in its own words; None for all."""
        return self.of_labels(affinity_of(volume))

    def of_bound(self, volume: PersistentVolume) -> Reached:
        """The same in the words of the driver on each node."""
        plain = self.of_free(volume)
        if successor_of(volume.spec) is None:
            return Reached(plain)
        groups = self._migrated.get(None, (self._table.labels_version, self._migrations))
        if not groups:
            return Reached(plain)
        fitting = np.ones(len(self._table), dtype=np.bool_) if plain is None else plain.copy()
        unknown: Bools | None = None
        problem = ""
        for csi_node, rows in groups:
            try:
                translated = self.of_labels(for_labels(translated_affinity(volume, csi_node)))
            except TranslationError as error:
                if unknown is None:
                    unknown = np.zeros(len(self._table), dtype=np.bool_)
                unknown[rows] = True
                problem = f"could not translate pv: {error}"
            else:
                fitting[rows] = True if translated is None else translated[rows]
        return Reached(fitting, unknown, problem)

    def _mask(self, selector: NodeSelector) -> Bools:
        mask = selector_mask(self._table, selector)
        mask.flags.writeable = False
        return mask

    def _appeared(self, csi_node: CSINode) -> None:
        if _replaced(csi_node):
            self._migrations += 1

    def _changed(self, old: CSINode, new: CSINode) -> None:
        if _replaced(old) != _replaced(new):
            self._migrations += 1

    def _migrated_nodes(self, key: None) -> list[tuple[CSINode, list[int]]]:
        """The rows of nodes that name the same drivers as replaced on them, with one of these nodes."""
        groups: dict[str, tuple[CSINode, list[int]]] = {}
        for csi_node in self._csi_nodes.list():
            info, replaced = self._table.by_name.get(csi_node.name), _replaced(csi_node)
            if info is not None and replaced:
                groups.setdefault(replaced, (csi_node, []))[1].append(info.row)
        return list(groups.values())


def _replaced(csi_node: CSINode) -> str:
    return csi_node.annotations.get(MIGRATED_PLUGINS, "")
