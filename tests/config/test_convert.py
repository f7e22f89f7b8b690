"""Configurations of older versions."""

from __future__ import annotations

from typing import Any

import pytest

from moorage.config import ConfigError, expand, load
from moorage.config.load import load_document
from tests.config.samples import IN_TREE, V1, V1BETA2, V1BETA3, document, text_of, with_args, with_plugins

WEIGHTS = [
    {"name": "TaintToleration", "weight": 1},
    {"name": "NodeAffinity", "weight": 1},
    {"name": "InterPodAffinity", "weight": 1},
]
FILTERS = [
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
    "NodeDeclaredFeatures",
]


def named(*names: str) -> list[dict[str, Any]]:
    return [{"name": name} for name in names]


def converted(version: str, **fields: Any) -> dict[str, Any]:
    result = load_document(text_of(version, **fields)).document
    assert load(text_of(version, **fields)).config.api_version == V1
    return result


def warnings_of(version: str, **fields: Any) -> list[str]:
    return load(text_of(version, **fields)).warnings


def plugins_of(version: str, **plugins: Any) -> Any:
    return converted(version, **with_plugins(**plugins))["profiles"][0].get("plugins")


@pytest.mark.parametrize("version", [V1BETA2, V1BETA3])
def test_old_versions_are_read_with_one_warning(version: str) -> None:
    assert warnings_of(version) == [
        f"KubeSchedulerConfiguration {version} is no longer served, reading it as v1"
    ]
    assert warnings_of(V1) == []


@pytest.mark.parametrize("version", [V1BETA2, V1BETA3])
def test_old_versions_are_refused_on_demand(version: str) -> None:
    with pytest.raises(ConfigError) as caught:
        load(text_of(version), strict_version=True)
    message = f'no kind "KubeSchedulerConfiguration" is registered for version "{version}"'
    assert str(caught.value).startswith(f"apiVersion: {message}")
    load(text_of(V1), strict_version=True)


def test_v1_stays_as_it_is() -> None:
    fields = {"parallelism": 3, **with_plugins(preEnqueue={"enabled": named("SchedulingGates")})}
    assert converted(V1, **fields) == document(V1, **fields)


def test_v1beta3_changes_little() -> None:
    fields = {"parallelism": 3, **with_plugins(multiPoint={"enabled": named("MyPreFilter")})}
    assert converted(V1BETA3, **fields) == document(V1, **fields)
    assert converted(V1BETA3) == document(V1)


def test_rule_1_args_get_the_new_version() -> None:
    args = {"apiVersion": V1BETA3, "kind": "InterPodAffinityArgs", "hardPodAffinityWeight": 5}
    (entry,) = converted(V1BETA3, **with_args("InterPodAffinity", args))["profiles"][0]["pluginConfig"]
    assert entry["args"] == {**args, "apiVersion": V1}
    mine = {"apiVersion": "example.com/v1", "kind": "MineArgs"}
    (entry,) = converted(V1BETA3, **with_args("Mine", mine))["profiles"][0]["pluginConfig"]
    assert entry["args"] == mine


def test_rule_2_addresses_go() -> None:
    result = converted(V1BETA2, healthzBindAddress="", metricsBindAddress="0.0.0.0:0")
    assert result.keys() == {"apiVersion", "kind", "profiles"}
    with pytest.raises(ConfigError) as caught:
        load(text_of(V1BETA2, healthzBindAddress=":10251"))
    assert str(caught.value) == (
        'healthzBindAddress: Invalid value: ":10251": must be empty or with an explicit 0 port'
    )
    with pytest.raises(ConfigError, match='strict decoding error: unknown field "healthzBindAddress"'):
        load(text_of(V1BETA3, healthzBindAddress=""))


@pytest.mark.parametrize(
    "name", ["EBSLimits", "GCEPDLimits", "AzureDiskLimits", "CinderLimits", "SelectorSpread"]
)
def test_rule_3_removed_plugins_go(name: str) -> None:
    fields = {
        "profiles": [
            {
                "plugins": {"filter": {"enabled": named(name, "Mine"), "disabled": named(name)}},
                "pluginConfig": [{"name": name, "args": {"x": 1}}, {"name": "Mine", "args": {"z": 2}}],
            }
        ]
    }
    (profile,) = converted(V1BETA3, **fields)["profiles"]
    assert profile["plugins"]["filter"] == {"enabled": named("Mine"), "disabled": named(name)}
    assert profile["pluginConfig"] == [{"name": "Mine", "args": {"z": 2}}]
    assert sum(f"{name} is dropped" in warning for warning in warnings_of(V1BETA3, **fields)) == 2


def test_rule_4_lists_that_were_ignored_go_with_a_warning() -> None:
    plugins = {"multiPoint": {"enabled": named("Mine")}, "preEnqueue": {"disabled": named("*")}}
    assert plugins_of(V1BETA2, **plugins) == {"score": {"enabled": WEIGHTS}}
    assert plugins_of(V1BETA3, **plugins) == {"multiPoint": {"enabled": named("Mine")}}
    assert warnings_of(V1BETA2, **with_plugins(**plugins))[1:] == [
        f"profiles[0].plugins.multiPoint is dropped: {V1BETA2} ignored it",
        f"profiles[0].plugins.preEnqueue is dropped: {V1BETA2} ignored it",
    ]
    assert warnings_of(V1BETA3, **with_plugins(**plugins))[1:] == [
        f"profiles[0].plugins.preEnqueue is dropped: {V1BETA3} ignored it"
    ]


@pytest.mark.parametrize(
    ("score", "enabled"),
    [
        (None, WEIGHTS),
        ({"enabled": named("Mine")}, [*named("Mine"), *WEIGHTS]),
        (
            {"enabled": [{"name": "NodeAffinity", "weight": 9}]},
            [{"name": "NodeAffinity", "weight": 9}, WEIGHTS[0], WEIGHTS[2]],
        ),
        ({"disabled": named("TaintToleration", "InterPodAffinity")}, [WEIGHTS[1]]),
        ({"disabled": named("*"), "enabled": named("Mine")}, named("Mine")),
    ],
)
def test_rule_5_weights_stay_those_of_v1beta2(score: Any, enabled: list[dict[str, Any]]) -> None:
    plugins = plugins_of(V1BETA2, **({"score": score} if score else {}))
    assert plugins["score"]["enabled"] == enabled


@pytest.mark.parametrize(
    "profiles", [{}, {"profiles": []}, {"profiles": None}, {"profiles": [{}]}, {"profiles": [None]}]
)
def test_rule_5_holds_for_the_default_profile_too(profiles: dict[str, Any]) -> None:
    loaded = load(text_of(V1BETA2, **profiles))
    (profile,) = loaded.config.profiles
    assert profile.scheduler_name == "default-scheduler"
    weights = {ref.name: ref.weight for ref in expand(profile, IN_TREE)["score"]}
    assert (weights["TaintToleration"], weights["NodeAffinity"], weights["InterPodAffinity"]) == (1, 1, 1)
    assert weights["PodTopologySpread"] == 2


@pytest.mark.parametrize(
    ("point", "given", "enabled"),
    [
        ("filter", {"enabled": named("NodeName")}, FILTERS),
        ("filter", {"enabled": named("Mine", "VolumeZone")}, [*FILTERS, "Mine"]),
        (
            "filter",
            {"enabled": named("NodeName", "NodePorts"), "disabled": named("NodeName", "VolumeZone")},
            [name for name in FILTERS if name not in ("NodeName", "VolumeZone")] + ["NodeName"],
        ),
        (
            "postFilter",
            {"enabled": named("Mine", "DefaultPreemption")},
            ["DynamicResources", "DefaultPreemption", "Mine"],
        ),
        ("reserve", {"enabled": named("VolumeBinding")}, ["VolumeBinding", "DynamicResources"]),
        ("bind", {"enabled": named("Mine", "DefaultBinder")}, ["DefaultBinder", "Mine"]),
    ],
)
def test_rule_6_relisted_defaults_keep_their_place(point: str, given: Any, enabled: list[str]) -> None:
    plugins = plugins_of(V1BETA2, **{point: given})
    assert plugins[point] == {"enabled": named(*enabled), "disabled": named("*")}
    profile = load(text_of(V1BETA2, **with_plugins(**{point: given}))).config.profiles[0]
    known = {**IN_TREE, "Mine": ("filter", "postFilter", "bind")}
    assert [ref.name for ref in expand(profile, known)[point]] == enabled


@pytest.mark.parametrize(
    ("point", "given"),
    [
        ("filter", {"enabled": named("Mine")}),
        ("filter", {"enabled": named("NodeName"), "disabled": named("*")}),
        ("filter", {"enabled": named("NodeName"), "disabled": named("NodeName")}),
        ("preFilter", {"enabled": named("NodePorts")}),
        ("filter", {"disabled": named("NodeName")}),
    ],
)
def test_rules_6_and_7_leave_everything_else_alone(point: str, given: Any) -> None:
    assert plugins_of(V1BETA2, **{point: given})[point] == given


@pytest.mark.parametrize("version", [V1BETA2, V1BETA3])
def test_old_versions_are_read_strictly(version: str) -> None:
    fields: dict[str, Any] = {
        "delayCacheUntilActive": True,
        "leaderElect": True,
        "profiles": [{"percentageOfNodesToScore": 5, "plugins": {"placementScore": {}, "scoring": {}}}],
    }
    with pytest.raises(ConfigError) as caught:
        load(text_of(version, **fields))
    assert sorted(problem.path for problem in caught.value.problems) == [
        "delayCacheUntilActive",
        "leaderElect",
        "profiles[0].percentageOfNodesToScore",
        "profiles[0].plugins.placementScore",
        "profiles[0].plugins.scoring",
    ]


@pytest.mark.parametrize(
    "fields",
    [
        {"profiles": "none"},
        {"profiles": [1]},
        with_plugins(score=[]),
        with_plugins(score={"enabled": "x"}),
        with_plugins(score={"enabled": ["x"]}),
        {"profiles": [{"pluginConfig": {}}]},
        {"profiles": [{"pluginConfig": [5]}]},
        with_args("NodeAffinity", "x"),
    ],
)
@pytest.mark.parametrize("version", [V1BETA2, V1BETA3])
def test_wrong_types_are_reported_with_their_path(version: str, fields: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match=r"^profiles.*json: cannot unmarshal"):
        load(text_of(version, **fields))


def test_empty_entries_do_no_harm() -> None:
    fields = {
        "profiles": [
            {
                "plugins": {"score": None, "filter": {"enabled": [None], "disabled": None}},
                "pluginConfig": [None],
            }
        ]
    }
    assert converted(V1BETA2, **fields)["profiles"][0]["plugins"]["filter"]["enabled"] == [None]
    assert plugins_of(V1BETA3, preEnqueue={}) == {}
