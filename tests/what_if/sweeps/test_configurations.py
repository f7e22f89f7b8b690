"""Changes to configuration files have the effect they are meant to have, whatever the file says."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moorage.config import load
from moorage.config.args import NodeResourcesFitArgs
from moorage.config.types import KIND, V1
from moorage.plugins.catalog import in_tree_registry
from moorage.what_if.sweeps.configurations import profiles_of, score_weights, set_args, set_weight, text_of

POINTS_OF = in_tree_registry().points_of()
SCORING = ["NodeResourcesFit", "ImageLocality", "NodeAffinity", "TaintToleration"]


def document(**plugins: Any) -> dict[str, Any]:
    return {"apiVersion": V1, "kind": KIND, "profiles": [{"plugins": plugins}]}


FORMS: list[dict[str, Any]] = [
    {"apiVersion": V1, "kind": KIND},
    {"apiVersion": V1, "kind": KIND, "profiles": None},
    {"apiVersion": V1, "kind": KIND, "profiles": [{"schedulerName": "a"}, {"schedulerName": "b"}]},
    {"apiVersion": V1, "kind": KIND, "profiles": [{"plugins": None}]},
    document(multiPoint={"enabled": [{"name": "NodeResourcesFit", "weight": 3}]}),
    document(multiPoint={"disabled": [{"name": "ImageLocality"}]}),
    document(score={"enabled": [{"name": "NodeResourcesFit", "weight": 4}], "disabled": [{"name": "*"}]}),
    document(score={"enabled": [{"name": "NodeAffinity"}], "disabled": [{"name": "NodeAffinity"}]}),
    document(score={"disabled": None, "enabled": None}),
    document(
        multiPoint={
            "disabled": [{"name": "*"}],
            "enabled": [{"name": name} for name in ("PrioritySort", "DefaultBinder", "NodeAffinity")],
        }
    ),
]


@given(
    form=st.sampled_from(FORMS),
    wanted=st.dictionaries(st.sampled_from(SCORING), st.integers(0, 100), max_size=4),
)
def test_the_weights_are_those_that_were_set_and_no_others_change(
    form: dict[str, Any], wanted: dict[str, int]
) -> None:
    before = score_weights(form, POINTS_OF)
    changed = deepcopy(form)
    for profile, scoring in zip(profiles_of(changed), before, strict=True):
        for plugin, weight in wanted.items():
            if plugin in scoring:
                set_weight(profile, plugin, weight)
    after = score_weights(changed, POINTS_OF)
    for had, has in zip(before, after, strict=True):
        expected = {name: wanted.get(name, weight) for name, weight in had.items()}
        assert has == {name: weight for name, weight in expected.items() if weight}


def test_what_scores_elsewhere_stays_in_its_place() -> None:
    """A plugin that scores no more still filters."""
    changed = document()
    set_weight(changed["profiles"][0], "NodeResourcesFit", 0)
    from moorage.config import expand_all

    [points] = expand_all(load(text_of(changed)).config, POINTS_OF)
    [default] = expand_all(load(text_of(document())).config, POINTS_OF)
    assert points["filter"] == default["filter"]


@pytest.mark.parametrize("given_args", [None, {}, {"ignoredResources": ["example.com/gpu"]}])
def test_args_are_replaced_one_by_one(given_args: dict[str, Any] | None) -> None:
    changed = document()
    profile = changed["profiles"][0]
    if given_args is not None:
        profile["pluginConfig"] = [{"name": "NodeResourcesFit", "args": given_args}]
    strategy = {"type": "MostAllocated", "resources": [{"name": "cpu", "weight": 3}]}
    set_args(profile, "NodeResourcesFit", {"scoringStrategy": strategy})
    args = load(text_of(changed)).config.profiles[0].args_of("NodeResourcesFit")
    assert isinstance(args, NodeResourcesFitArgs)
    assert args.scoring_strategy.type == "MostAllocated"
    assert args.ignored_resources == (given_args or {}).get("ignoredResources", [])
    set_args(profile, "NodeResourcesFit", {"scoringStrategy": None})
    args = load(text_of(changed)).config.profiles[0].args_of("NodeResourcesFit")
    assert args.scoring_strategy.type == "LeastAllocated"
