"""The plugins that come along and are off by default: what the catalog says of them is true."""

from __future__ import annotations

import msgspec
import pytest

from moorage.config import load
from moorage.config.expand import expand_all
from moorage.framework.extension_points import missing_methods, points_of
from moorage.plugins.catalog import CONTRIB, CONTRIB_SOURCE, in_tree_registry
from moorage.scheduler.profiles import default_configuration


@pytest.mark.parametrize("name", CONTRIB)
def test_an_entry_tells_the_truth_about_its_class(name: str) -> None:
    entry = in_tree_registry().get(name)
    assert entry is not None
    plugin = entry.load()
    assert (plugin.name, entry.source) == (name, CONTRIB_SOURCE)
    assert sorted(entry.points) == sorted(points_of(plugin))
    assert missing_methods(plugin) == []
    assert entry.summary.endswith(".")
    assert plugin.__module__ == f"moorage.contrib.{CONTRIB[name].module}"


def test_none_is_on_by_default() -> None:
    profile = default_configuration(in_tree_registry(), []).profiles[0]
    assert profile.plugins is not None
    for point in ("multi_point", "pre_filter", "post_filter", "reserve", "queue_sort"):
        enabled = getattr(profile.plugins, point).enabled
        assert not {each.name for each in enabled} & CONTRIB.keys()


WHERE_THE_ORIGINALS_STAND = {
    "Coscheduling": ("queueSort", "preFilter", "postFilter", "permit", "reserve"),
    "CapacityScheduling": ("preFilter", "postFilter", "reserve"),
    "PreemptionToleration": ("postFilter",),
    "QOSSort": ("queueSort",),
}


@pytest.mark.parametrize("name", CONTRIB)
def test_a_configuration_may_name_it_wherever_the_original_stands(name: str) -> None:
    """As configurations do that were written for scheduler-plugins before there was multiPoint."""
    lists = {
        point: {
            "enabled": [{"name": name}],
            **({"disabled": [{"name": "*"}]} if point == "queueSort" else {}),
        }
        for point in WHERE_THE_ORIGINALS_STAND[name]
    }
    document = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [{"plugins": lists}],
    }
    config = load(msgspec.json.encode(document)).config
    [points] = expand_all(config, in_tree_registry().points_of())
    assert name in {ref.name for refs in points.values() for ref in refs}
