"""What a search may change: every choice makes a configuration that loads and has what was chosen."""

from __future__ import annotations

from typing import Any

import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from moorage.config import expand_all, load
from moorage.config.args import (
    NodeResourcesBalancedAllocationArgs,
    NodeResourcesFitArgs,
    PodTopologySpreadArgs,
)
from moorage.config.show import to_yaml
from moorage.plugins.catalog import in_tree_registry
from moorage.what_if.sweeps.configurations import Document, score_weights, text_of
from moorage.what_if.tuning.parameters import Choice, Value, matters
from moorage.what_if.tuning.space import Space

POINTS_OF = in_tree_registry().points_of()
GPU = "example.com/gpu"

PLAIN = """
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
"""
ELABORATE = """
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- schedulerName: one
  plugins:
    score:
      enabled: [{name: NodeResourcesFit, weight: 40}]
  pluginConfig:
  - name: NodeResourcesFit
    args:
      ignoredResources: [example.com/nic]
      scoringStrategy:
        type: RequestedToCapacityRatio
        resources: [{name: cpu, weight: 20}]
        requestedToCapacityRatio: {shape: [{utilization: 0, score: 10}, {utilization: 60, score: 4}]}
  - name: PodTopologySpread
    args:
      defaultingType: List
      defaultConstraints: [{maxSkew: 2, topologyKey: rack, whenUnsatisfiable: ScheduleAnyway}]
- schedulerName: two
  plugins:
    multiPoint:
      disabled: [{name: PodTopologySpread}, {name: NodeResourcesBalancedAllocation}]
"""


def space_of(text: str, *resources: str) -> tuple[Document, Space]:
    document: Document = yaml.safe_load(text)
    return document, Space(document, score_weights(document, POINTS_OF), resources)


PLAIN_SPACE = space_of(PLAIN, "cpu", GPU)[1]
ELABORATE_SPACE = space_of(ELABORATE, "cpu", GPU)[1]


@st.composite
def choices(draw: st.DrawFn, space: Space) -> dict[str, Value]:
    """What a search may ask for."""
    values: dict[str, Value] = {}
    for parameter in space.parameters:
        if not matters(parameter, values):
            continue
        if isinstance(parameter, Choice):
            values[parameter.name] = draw(st.sampled_from(parameter.choices))
        else:
            values[parameter.name] = draw(st.integers(parameter.low, parameter.high))
    return values


def test_the_parameters_of_the_defaults() -> None:
    names = [parameter.name for parameter in PLAIN_SPACE.parameters]
    assert names == [
        "TaintToleration.weight",
        "NodeAffinity.weight",
        "NodeResourcesFit.weight",
        "PodTopologySpread.weight",
        "InterPodAffinity.weight",
        "DynamicResources.weight",
        "NodeResourcesBalancedAllocation.weight",
        "ImageLocality.weight",
        "NodeResourcesFit.strategy",
        "NodeResourcesFit.resources.cpu",
        "NodeResourcesFit.resources.memory",
        f"NodeResourcesFit.resources.{GPU}",
        "NodeResourcesFit.scoreAt0Percent",
        "NodeResourcesFit.scoreAt50Percent",
        "NodeResourcesFit.scoreAt100Percent",
        f"NodeResourcesBalancedAllocation.resources.{GPU}",
        "PodTopologySpread.defaultConstraints",
    ]


def test_the_base_is_the_file_as_it_is() -> None:
    for text in (PLAIN, ELABORATE):
        document, space = space_of(text, GPU)
        assert load(text_of(space.document(space.base))) == load(text_of(document))
        assert load(text_of(space.document({}))) == load(text_of(document))
    assert ELABORATE_SPACE.base["one/NodeResourcesFit.strategy"] == "RequestedToCapacityRatio"
    assert ELABORATE_SPACE.base["one/NodeResourcesFit.weight"] == 40
    scores = [ELABORATE_SPACE.base[f"one/NodeResourcesFit.scoreAt{at}Percent"] for at in (0, 50, 100)]
    assert scores == [10, 5, 4]
    assert "two/PodTopologySpread.defaultConstraints" not in ELABORATE_SPACE.base


@given(values=choices(PLAIN_SPACE))
def test_what_is_chosen_is_what_runs(values: dict[str, Value]) -> None:
    text = to_yaml(PLAIN_SPACE.document(values), sort_keys=False)
    config = load(text).config
    [points] = expand_all(config, POINTS_OF)
    weights = {ref.name: ref.weight for ref in points["score"]}
    for name, value in values.items():
        plugin, _, what = name.partition(".")
        if what == "weight":
            assert weights.get(plugin, 0) == value
    [profile] = config.profiles
    fit = profile.args_of("NodeResourcesFit")
    assert isinstance(fit, NodeResourcesFitArgs)
    assert fit.scoring_strategy.type == values["NodeResourcesFit.strategy"]
    chosen = {name: int(values[f"NodeResourcesFit.resources.{name}"]) for name in ("cpu", "memory", GPU)}
    found = {resource.name: resource.weight for resource in fit.scoring_strategy.resources}
    expected = {name: weight for name, weight in chosen.items() if weight} or {"cpu": 1, "memory": 1}
    assert found == expected
    balanced = profile.args_of("NodeResourcesBalancedAllocation")
    assert isinstance(balanced, NodeResourcesBalancedAllocationArgs)
    has_gpu = values[f"NodeResourcesBalancedAllocation.resources.{GPU}"] == "yes"
    assert [each.name for each in balanced.resources] == ["cpu", "memory", *([GPU] if has_gpu else [])]
    spread = profile.args_of("PodTopologySpread")
    assert isinstance(spread, PodTopologySpreadArgs)
    kind = values["PodTopologySpread.defaultConstraints"]
    assert (spread.defaulting_type == "System") == (kind == "System")
    assert [each.topology_key for each in spread.default_constraints] == {
        "hosts": ["kubernetes.io/hostname"],
        "zones": ["topology.kubernetes.io/zone"],
    }.get(str(kind), [])


@settings(max_examples=50)
@given(values=choices(ELABORATE_SPACE))
def test_every_choice_for_an_elaborate_file_loads_and_keeps_the_rest(values: dict[str, Value]) -> None:
    config = load(text_of(ELABORATE_SPACE.document(values))).config
    expand_all(config, POINTS_OF)
    one: Any = config.profiles[0].args_of("NodeResourcesFit")
    assert one.ignored_resources == ["example.com/nic"]
    assert [profile.scheduler_name for profile in config.profiles] == ["one", "two"]


def test_the_wishes_of_pods_keep_some_weight() -> None:
    lowest = {each.name: each.low for each in PLAIN_SPACE.parameters if not isinstance(each, Choice)}
    for plugin in ("TaintToleration", "NodeAffinity", "PodTopologySpread", "InterPodAffinity"):
        assert lowest[f"{plugin}.weight"] == 1
    assert lowest["NodeResourcesFit.weight"] == 0
