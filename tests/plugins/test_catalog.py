from __future__ import annotations

import importlib
import inspect
import pkgutil
import subprocess
import sys

import pytest

import moorage.plugins
from moorage.framework.extension_points import Plugin, missing_methods, points_of
from moorage.plugins.catalog import CATALOG, SOURCE, in_tree_registry

IN_ORDER = [
    "SchedulingGates",
    "PrioritySort",
    "NodeUnschedulable",
    "NodeName",
    "TaintToleration",
    "NodeAffinity",
    "NodePorts",
    "NodeResourcesFit",
    "VolumeRestrictions",
    "NodeVolumeLimits",
    "VolumeBinding",
    "VolumeZone",
    "PodTopologySpread",
    "InterPodAffinity",
    "DynamicResources",
    "DefaultPreemption",
    "NodeResourcesBalancedAllocation",
    "ImageLocality",
    "DefaultBinder",
    "NodeDeclaredFeatures",
]
BEHIND_GATES = ["GangScheduling", "TopologyPlacementGenerator", "PodGroupPodsCount"]


def test_the_catalog_lists_the_default_plugins_in_order() -> None:
    assert list(CATALOG) == [*IN_ORDER, *BEHIND_GATES]


@pytest.mark.parametrize("name", [*IN_ORDER, *BEHIND_GATES])
def test_an_entry_tells_the_truth_about_its_class(name: str) -> None:
    entry = in_tree_registry().get(name)
    assert entry is not None
    listed = entry.points
    plugin = entry.load()
    assert (plugin.name, entry.source) == (name, SOURCE)
    assert sorted(listed) == sorted(points_of(plugin))
    assert missing_methods(plugin) == []
    assert entry.summary.endswith(".")
    assert plugin.__module__ == f"moorage.plugins.{CATALOG[name].module}"


def test_no_plugin_is_missing_from_the_catalog() -> None:
    found = set()
    for module in pkgutil.walk_packages(moorage.plugins.__path__, "moorage.plugins."):
        loaded = importlib.import_module(module.name)
        found |= {
            item.name
            for item in vars(loaded).values()
            if inspect.isclass(item)
            and issubclass(item, Plugin)
            and item.__module__ == loaded.__name__
            and not item.__name__.startswith("_")
        }
    assert found == set(CATALOG)


def test_the_catalog_is_light_to_import() -> None:
    """Asking which plugins there are loads none of them."""
    code = (
        "import sys; from moorage.plugins.catalog import in_tree_registry; in_tree_registry().points_of(); "
        "heavy = {'numpy', 'moorage.plugins.node_name', 'moorage.state.cluster'} & set(sys.modules); "
        "sys.exit(' '.join(sorted(heavy)) or 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
