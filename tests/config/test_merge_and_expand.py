from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moorage.api.points import POINTS as TABLE
from moorage.config import ConfigError, expand, load
from moorage.config.merge import merge
from moorage.config.types import PluginRef, Plugins, PluginSet, Profile
from tests.config.samples import DEFAULT_POINTS, IN_TREE, config_of, problems_of, text_of, with_plugins

POINTS = tuple(TABLE)
FAILED = "profiles[0]: initializing profiles: creating profile for scheduler name default-scheduler: "


def refs(*names: Any) -> list[PluginRef]:
    return [
        PluginRef(name=name) if isinstance(name, str) else PluginRef(name=name[0], weight=name[1])
        for name in names
    ]


def listed(*names: Any) -> list[dict[str, Any]]:
    return [
        {"name": name} if isinstance(name, str) else {"name": name[0], "weight": name[1]} for name in names
    ]


def pairs(found: list[PluginRef]) -> list[tuple[str, int]]:
    return [(ref.name, ref.weight) for ref in found]


def points(**plugins: Any) -> dict[str, list[str]]:
    """The names at each point for a profile with these plugin lists."""
    profile = config_of(**with_plugins(**plugins)).profiles[0]
    known = {**IN_TREE, "Mine": ("preFilter", "filter", "score"), "Sort": ("queueSort",)}
    return {point: [ref.name for ref in found] for point, found in expand(profile, known).items()}


def scores(**plugins: Any) -> dict[str, int]:
    profile = config_of(**with_plugins(**plugins)).profiles[0]
    return {ref.name: ref.weight for ref in expand(profile, IN_TREE)["score"]}


@pytest.mark.parametrize(
    ("enabled", "disabled", "merged"),
    [
        ([], [], [("a", 1), ("b", 2), ("c", 0)]),
        ([], ["b"], [("a", 1), ("c", 0)]),
        ([], ["*"], []),
        ([], ["nobody"], [("a", 1), ("b", 2), ("c", 0)]),
        ([("b", 7)], [], [("a", 1), ("b", 7), ("c", 0)]),
        (["b"], [], [("a", 1), ("b", 0), ("c", 0)]),
        (["x", "b", "y"], [], [("a", 1), ("b", 0), ("c", 0), ("x", 0), ("y", 0)]),
        ([("a", 5)], ["a"], [("b", 2), ("c", 0), ("a", 5)]),
        (["c", "x"], ["*"], [("c", 0), ("x", 0)]),
        ([("b", 3), ("b", 4)], [], [("a", 1), ("b", 4), ("c", 0), ("b", 3)]),
    ],
)
def test_merge(enabled: list[Any], disabled: list[str], merged: list[tuple[str, int]]) -> None:
    custom = PluginSet(enabled=refs(*enabled), disabled=refs(*disabled))
    result = merge(refs(("a", 1), ("b", 2), "c"), custom)
    assert pairs(result.enabled) == merged
    assert [ref.name for ref in result.disabled] == disabled


def test_default_points() -> None:
    found = points()
    assert {point: found[point] for point in DEFAULT_POINTS} == {
        point: names.split() for point, names in DEFAULT_POINTS.items()
    }
    assert tuple(found) == POINTS
    assert scores() == {
        "TaintToleration": 3,
        "NodeAffinity": 2,
        "NodeResourcesFit": 1,
        "VolumeBinding": 1,
        "PodTopologySpread": 2,
        "InterPodAffinity": 2,
        "DynamicResources": 2,
        "NodeResourcesBalancedAllocation": 1,
        "ImageLocality": 1,
    }


def test_own_plugin_runs_behind_the_defaults() -> None:
    assert points(filter={"enabled": listed("Mine")})["filter"][-1] == "Mine"
    found = points(multiPoint={"enabled": listed("Mine")})
    assert (found["preFilter"][-1], found["filter"][-1], found["score"][-1]) == ("Mine", "Mine", "Mine")


def test_relisting_moves_to_the_front_and_sets_the_weight_to_one() -> None:
    score = {"enabled": listed("ImageLocality", ("NodeAffinity", 9), "TaintToleration")}
    assert list(scores(score=score))[:4] == [
        "ImageLocality",
        "NodeAffinity",
        "TaintToleration",
        "NodeResourcesFit",
    ]
    assert scores(score=score)["TaintToleration"] == 1
    assert scores(score=score)["NodeAffinity"] == 9


def test_multi_point_weights_count_where_the_point_has_none() -> None:
    assert scores(multiPoint={"enabled": listed(("TaintToleration", 8))})["TaintToleration"] == 8
    assert scores(multiPoint={"enabled": listed("TaintToleration")})["TaintToleration"] == 1
    both = scores(
        multiPoint={"enabled": listed(("ImageLocality", 8))}, score={"enabled": listed(("ImageLocality", 4))}
    )
    assert both["ImageLocality"] == 4


def test_disabled_at_a_point() -> None:
    assert points(filter={"disabled": listed("*"), "enabled": listed("Mine")})["filter"] == ["Mine"]
    assert "NodeName" not in points(filter={"disabled": listed("NodeName")})["filter"]
    again = points(filter={"disabled": listed("NodeName"), "enabled": listed("NodeName")})["filter"]
    assert again[-1] == "NodeName"


def test_queue_sort_is_replaced_after_disabling_the_default() -> None:
    for at in ("multiPoint", "queueSort"):
        plugins: dict[str, Any] = {"queueSort": {"enabled": listed("Sort")}}
        plugins.setdefault(at, {})["disabled"] = listed("PrioritySort")
        assert points(**plugins)["queueSort"] == ["Sort"]


REGISTER = "; register it with --plugin, or choose one of `moorage plugins`"


@pytest.mark.parametrize(
    ("plugins", "message"),
    [
        ({"score": {"enabled": listed("NoSuch")}}, f'ScorePlugin "NoSuch" does not exist{REGISTER}'),
        (
            {"filter": {"enabled": listed("ImageLocality")}},
            'plugin "ImageLocality" does not extend FilterPlugin plugin; it extends score',
        ),
        (
            {"score": {"enabled": listed("ImageLocality", "ImageLocality")}},
            'plugin "ImageLocality" already registered as "ScorePlugin"',
        ),
        ({"multiPoint": {"enabled": listed("NoSuch")}}, f'PreFilterPlugin "NoSuch" does not exist{REGISTER}'),
        (
            {"multiPoint": {"enabled": listed("NoSuch")}, "preFilter": {"disabled": listed("*")}},
            f'FilterPlugin "NoSuch" does not exist{REGISTER}',
        ),
        (
            {"multiPoint": {"enabled": listed("ImageLocality", "ImageLocality")}},
            'plugin "ImageLocality" already registered as "ScorePlugin"',
        ),
        (
            {"queueSort": {"disabled": listed("*")}},
            "only one queue sort plugin required for profile with scheduler name "
            '"default-scheduler", but got 0',
        ),
        (
            {"bind": {"disabled": listed("DefaultBinder")}},
            'at least one bind plugin is needed for profile with scheduler name "default-scheduler"',
        ),
        (
            {"placementScore": {"enabled": listed("NodeName")}},
            'plugin "NodeName" does not extend PlacementScorePlugin plugin; it extends filter',
        ),
        (
            {"score": {"enabled": listed(("ImageLocality", -1))}},
            "total score of Score plugins could overflow",
        ),
    ],
)
def test_lists_that_cannot_be_used(plugins: dict[str, Any], message: str) -> None:
    assert problems_of(**with_plugins(**plugins)) == [FAILED + message]


def test_a_negative_weight_passes_while_the_sum_stays_positive() -> None:
    assert scores(multiPoint={"enabled": listed(("NodeAffinity", -1))})["NodeAffinity"] == -1


def test_problems_of_all_profiles_come_together() -> None:
    profiles = [
        {"schedulerName": name, "plugins": {"score": {"enabled": listed(f"No{name}")}}} for name in ("a", "b")
    ]
    assert problems_of(profiles=profiles) == [
        f"profiles[{i}]: initializing profiles: creating profile for scheduler name {name}: "
        f'ScorePlugin "No{name}" does not exist{REGISTER}'
        for i, name in enumerate(("a", "b"))
    ]


def test_queue_sort_must_agree_through_multi_point_too() -> None:
    from moorage.config import expand_all

    change = {"disabled": listed("PrioritySort"), "enabled": listed("Sort")}
    config = load(
        text_of(profiles=[{"schedulerName": "a"}, {"schedulerName": "b", "plugins": {"multiPoint": change}}])
    ).config
    with pytest.raises(ConfigError) as caught:
        expand_all(config, {**IN_TREE, "Sort": ("queueSort",)})
    assert str(caught.value) == (
        'profiles[1]: initializing profiles: different queue sort plugins for profile "b": "Sort", '
        'first: "PrioritySort"'
    )


def test_repeated_config_is_refused_without_validation_too() -> None:
    profile = config_of().profiles[0]
    profile.plugin_config.append(profile.plugin_config[0])
    with pytest.raises(ConfigError, match="repeated config for plugin DefaultPreemption"):
        expand(profile, IN_TREE)


# The rules once more, word by word and slow, to hold the code against.


def slow_merge(defaults: list[PluginRef], custom: PluginSet) -> list[tuple[str, int]]:
    disabled = [ref.name for ref in custom.disabled]
    result: list[tuple[str, int]] = []
    remaining = list(custom.enabled)
    if "*" not in disabled:
        for default in defaults:
            if default.name in disabled:
                continue
            own = [ref for ref in remaining if ref.name == default.name]
            if own:
                result.append((own[-1].name, own[-1].weight))
                remaining = [ref for ref in remaining if ref is not own[-1]]
            else:
                result.append((default.name, default.weight))
    return result + pairs(remaining)


def slow_point(plugins: Plugins, point: str, points_of: Mapping[str, tuple[str, ...]]) -> list[str] | None:
    """None stands for an error."""
    explicit = [ref.name for ref in plugins.at(point).enabled]
    disabled = [ref.name for ref in plugins.at(point).disabled]
    if any(name not in points_of or point not in points_of[name] for name in explicit):
        return None
    if len(set(explicit)) != len(explicit):
        return None
    if "*" in disabled:
        return explicit
    multi = [ref.name for ref in plugins.multi_point.enabled]
    if any(name not in points_of for name in multi):
        return None
    multi = [name for name in multi if point in points_of[name] and name not in disabled]
    others = [name for name in multi if name not in explicit]
    if len(set(others)) != len(others):
        return None
    return (
        [name for name in explicit if name in multi]
        + others
        + [name for name in explicit if name not in multi]
    )


NAMES = st.sampled_from(["a", "b", "c", "d", "e", "none"])
SETS = st.builds(
    PluginSet,
    enabled=st.lists(st.builds(PluginRef, name=NAMES, weight=st.integers(0, 3)), max_size=4),
    disabled=st.lists(st.builds(PluginRef, name=st.one_of(NAMES, st.just("*"))), max_size=2),
)
POINTS_OF = {
    "a": ("filter", "score"),
    "b": ("filter", "preFilter"),
    "c": ("score",),
    "d": ("filter", "score", "preFilter"),
    "e": (),
    "sort": ("queueSort",),
    "bind": ("bind",),
}


@given(SETS)
def test_merge_is_the_slow_merge(custom: PluginSet) -> None:
    defaults = refs(("a", 3), ("b", 2), ("c", 0))
    assert pairs(merge(defaults, custom).enabled) == slow_merge(defaults, custom)


@given(multi=SETS, filter=SETS, score=SETS, pre_filter=SETS)
def test_expand_is_the_slow_expansion(
    multi: PluginSet, filter: PluginSet, score: PluginSet, pre_filter: PluginSet
) -> None:
    plugins = Plugins(
        multi_point=PluginSet(enabled=[*multi.enabled, *refs("sort", "bind")], disabled=multi.disabled),
        filter=filter,
        score=score,
        pre_filter=pre_filter,
    )
    wanted = {point: slow_point(plugins, point, POINTS_OF) for point in POINTS}
    try:
        expanded = expand(Profile(scheduler_name="p", plugins=plugins), POINTS_OF)
    except ConfigError:
        assert None in wanted.values()
        return
    assert {point: [ref.name for ref in found] for point, found in expanded.items()} == wanted
    for ref in expanded["score"]:
        own = [entry.weight for entry in plugins.score.enabled if entry.name == ref.name]
        through = [entry.weight for entry in plugins.multi_point.enabled if entry.name == ref.name]
        assert ref.weight == ((own + through)[0] or 1)
