"""Plugins with the names of those that have controllers, and nothing else of theirs."""

from __future__ import annotations

import sys
from types import ModuleType

from moorage import Pod, PreFilterPlugin, QueuedPod, QueueSortPlugin, ReservePlugin
from moorage.framework.loading.registry import Registry
from moorage.plugins.catalog import CONTRIB, InTree, in_tree_registry

MODULE = "moorage.contrib.stand_ins_of_tests"


class Coscheduling(QueueSortPlugin, PreFilterPlugin):
    """Sorts as the default does."""

    def sort_key(self, queued: QueuedPod) -> tuple[int, float]:
        return -queued.pod.priority, queued.timestamp

    def pre_filter(self, cycle: object, pod: Pod) -> None:
        return None


class CapacityScheduling(PreFilterPlugin, ReservePlugin):
    """Lets every pod pass."""

    def pre_filter(self, cycle: object, pod: Pod) -> None:
        return None

    def reserve(self, cycle: object, pod: Pod, node_name: str) -> None:
        return None

    def unreserve(self, cycle: object, pod: Pod, node_name: str) -> None:
        return None


PLUGINS = {plugin.__name__: plugin for plugin in (Coscheduling, CapacityScheduling)}
CATALOG = {
    "Coscheduling": InTree("stand_ins_of_tests", ("queueSort", "preFilter")),
    "CapacityScheduling": InTree("stand_ins_of_tests", ("preFilter", "reserve")),
}


def registry() -> Registry:
    """All plugins that come with Moorage, with these in the place of the real ones."""
    made = Registry()
    for entry in in_tree_registry():
        if entry.name not in PLUGINS:
            made.add(entry)
    for plugin in PLUGINS.values():
        made.add_class(plugin, "tests")
    return made


def install() -> None:
    """Has every command find them in this process."""
    module = ModuleType(MODULE)
    vars(module).update(PLUGINS)
    sys.modules[MODULE] = module
    CONTRIB.update(CATALOG)


if __name__ == "__main__":
    from moorage.cli.main import moorage

    install()
    moorage()
