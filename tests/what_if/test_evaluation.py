"""What an evaluation tells of a preemption that is not the in-tree one."""

from __future__ import annotations

from examples.polite_preemption.plugin import PREEMPTIBLE, PolitePreemption
from moorage.config import load
from moorage.plugins.catalog import in_tree_registry
from moorage.testing import make_node, make_pod
from moorage.what_if.scenario import Scenario

CONFIG = """
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- plugins:
    multiPoint: {enabled: [{name: PolitePreemption}]}
    postFilter: {disabled: [{name: DefaultPreemption}]}
"""


def test_the_choice_of_a_plugin_of_ones_own_is_told() -> None:
    registry = in_tree_registry()
    registry.add_class(PolitePreemption, "test")
    batch = make_pod("batch", node="a", cpu="4", labels={PREEMPTIBLE: "true"})
    world = Scenario([make_node("a", cpu="4"), batch], registry, load(CONFIG).config)
    told = world.evaluate(make_pod("urgent", cpu="1")).document()["postFilter"]
    assert told["code"] == "Success"
    assert (told["nominatedNode"], told["victims"]) == ("a", ["default/batch"])
    again = world.evaluate(make_pod("too large", cpu="8")).document()["postFilter"]
    assert (again["nominatedNode"], again["victims"]) == ("", None)
