from __future__ import annotations

from typing import Any

import pytest

from moorage.api.durations import Duration
from moorage.config.args import ResourceSpec, default_args
from tests.config.samples import config_of, problems_of, with_args

PATH = "profiles[0].pluginConfig[0].args"
MADE = (
    "profiles[0]: initializing profiles: creating profile for scheduler name default-scheduler: "
    'initializing plugin "NodeResourcesFit"'
)
CPU_AND_MEMORY = [ResourceSpec(name="cpu", weight=1), ResourceSpec(name="memory", weight=1)]


def args_of(plugin: str, args: Any) -> Any:
    return config_of(**with_args(plugin, args)).profiles[0].args_of(plugin)


def test_defaults() -> None:
    preemption = args_of("DefaultPreemption", {})
    assert (preemption.min_candidate_nodes_percentage, preemption.min_candidate_nodes_absolute) == (10, 100)
    affinity = args_of("InterPodAffinity", {})
    assert affinity.hard_pod_affinity_weight == 1
    assert affinity.ignore_preferred_terms_of_existing_pods is False
    assert args_of("NodeAffinity", {}).added_affinity is None
    fit = args_of("NodeResourcesFit", {})
    assert (fit.ignored_resources, fit.ignored_resource_groups) == ([], [])
    assert fit.scoring_strategy.type == "LeastAllocated"
    assert fit.scoring_strategy.resources == CPU_AND_MEMORY
    assert args_of("NodeResourcesBalancedAllocation", {}).resources == CPU_AND_MEMORY
    spread = args_of("PodTopologySpread", {})
    assert (spread.default_constraints, spread.defaulting_type) == ([], "System")
    binding = args_of("VolumeBinding", {})
    assert (binding.bind_timeout_seconds, binding.shape) == (600, None)
    devices = args_of("DynamicResources", {})
    assert (devices.filter_timeout, devices.binding_timeout) == (
        Duration.of_seconds(10),
        Duration.of_seconds(600),
    )


def test_args_are_made_for_every_enabled_plugin_that_has_some() -> None:
    configured = {entry.name: entry.args for entry in config_of().profiles[0].plugin_config}
    assert sorted(configured) == [
        "DefaultPreemption",
        "DynamicResources",
        "InterPodAffinity",
        "NodeAffinity",
        "NodeResourcesBalancedAllocation",
        "NodeResourcesFit",
        "PodTopologySpread",
        "VolumeBinding",
    ]
    assert all(args == default_args(name) for name, args in configured.items())
    assert default_args("NodeName") is None


def test_args_are_completed_field_by_field() -> None:
    assert args_of("DefaultPreemption", {"minCandidateNodesAbsolute": 5}).min_candidate_nodes_percentage == 10
    fit = args_of(
        "NodeResourcesFit", {"scoringStrategy": {"type": "MostAllocated", "resources": [{"name": "x"}]}}
    )
    assert fit.scoring_strategy.resources == [ResourceSpec(name="x", weight=1)]
    balanced = args_of("NodeResourcesBalancedAllocation", {"resources": [{"name": "x", "weight": 0}]})
    assert balanced.resources == [ResourceSpec(name="x", weight=1)]


def test_added_affinity_is_typed() -> None:
    term = {"matchExpressions": [{"key": "pool", "operator": "In", "values": ["a"]}]}
    affinity = {
        "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]},
        "preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 3, "preference": term}],
    }
    added = args_of("NodeAffinity", {"addedAffinity": affinity}).added_affinity
    assert added.required.node_selector_terms[0].match_expressions[0].values == ("a",)
    assert added.preferred[0].weight == 3


def constraint(**changes: Any) -> dict[str, Any]:
    return {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "ScheduleAnyway", **changes}


def listed(*constraints: dict[str, Any]) -> dict[str, Any]:
    return {"defaultingType": "List", "defaultConstraints": list(constraints)}


def required(**expression: Any) -> dict[str, Any]:
    term = {"matchExpressions": [expression]}
    return {
        "addedAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}
    }


REQUIRED = f"{PATH}.addedAffinity.requiredDuringSchedulingIgnoredDuringExecution"
EXPRESSION = f"{REQUIRED}.nodeSelectorTerms[0].matchExpressions[0]"
PREFERRED = f"{PATH}.addedAffinity.preferredDuringSchedulingIgnoredDuringExecution"
KEY_RULE = (
    "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an "
    "alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is "
    "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
)
VALUE_RULE = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', "
    "and must start "
    "and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for "
    "validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
)


@pytest.mark.parametrize(
    ("plugin", "args", "lines"),
    [
        (
            "DefaultPreemption",
            {"minCandidateNodesPercentage": -1, "minCandidateNodesAbsolute": -1},
            [
                f"{PATH}.minCandidateNodesPercentage: Invalid value: -1: not in valid range [0, 100]",
                f"{PATH}.minCandidateNodesAbsolute: Invalid value: -1: not in valid range [0, inf)",
            ],
        ),
        (
            "DefaultPreemption",
            {"minCandidateNodesPercentage": 0, "minCandidateNodesAbsolute": 0},
            [
                f"{PATH}.minCandidateNodesPercentage: Invalid value: 0: "
                "cannot be zero at the same time as minCandidateNodesAbsolute",
                f"{PATH}.minCandidateNodesAbsolute: Invalid value: 0: "
                "cannot be zero at the same time as minCandidateNodesPercentage",
            ],
        ),
        (
            "InterPodAffinity",
            {"hardPodAffinityWeight": 101},
            [f"{PATH}.hardPodAffinityWeight: Invalid value: 101: not in valid range [0, 100]"],
        ),
        (
            "VolumeBinding",
            {"bindTimeoutSeconds": -1},
            [
                f"{PATH}.bindTimeoutSeconds: Invalid value: -1: "
                "invalid BindTimeoutSeconds, should not be a negative value"
            ],
        ),
        (
            "VolumeBinding",
            {"shape": []},
            [
                f"{PATH}.shape: Invalid value: []: unexpected field `shape`, "
                "remove it or turn on the feature gate StorageCapacityScoring"
            ],
        ),
        ("DynamicResources", {"filterTimeout": "0s", "bindingTimeout": "1s"}, []),
        (
            "DynamicResources",
            {"filterTimeout": "-1s", "bindingTimeout": "999ms"},
            [
                f'{PATH}.filterTimeout: Invalid value: "-1s": must be zero or positive',
                f'{PATH}.bindingTimeout: Invalid value: "999ms": must be at least 1 second',
            ],
        ),
        (
            "NodeResourcesBalancedAllocation",
            {"resources": [{"name": "cpu"}, {"name": "cpu", "weight": 2}]},
            [
                f'{PATH}.resources[1].name: Duplicate value: "cpu"',
                f"{PATH}.resources[1].weight: Invalid value: 2: must be 1",
            ],
        ),
        ("PodTopologySpread", listed(), []),
        ("PodTopologySpread", listed(constraint(), constraint(whenUnsatisfiable="DoNotSchedule")), []),
        (
            "PodTopologySpread",
            {"defaultingType": "Other"},
            [f'{PATH}.defaultingType: Unsupported value: "Other": supported values: "System", "List"'],
        ),
        (
            "PodTopologySpread",
            listed(constraint(maxSkew=0), constraint()),
            [
                f"{PATH}.defaultConstraints[0].maxSkew: Invalid value: 0: not in valid range (0, inf)",
                f'{PATH}.defaultConstraints[1]: Duplicate value: "{{zone, ScheduleAnyway}}"',
            ],
        ),
        (
            "PodTopologySpread",
            listed({}),
            [
                f"{PATH}.defaultConstraints[0].maxSkew: Invalid value: 0: not in valid range (0, inf)",
                f"{PATH}.defaultConstraints[0].topologyKey: Required value: can not be empty",
                f"{PATH}.defaultConstraints[0].whenUnsatisfiable: Required value: can not be empty",
            ],
        ),
        (
            "PodTopologySpread",
            listed(constraint(topologyKey="!", whenUnsatisfiable="Never", labelSelector={})),
            [
                f'{PATH}.defaultConstraints[0].topologyKey: Invalid value: "!": {KEY_RULE}',
                f'{PATH}.defaultConstraints[0].whenUnsatisfiable: Unsupported value: "Never": '
                'supported values: "DoNotSchedule", "ScheduleAnyway"',
                f"{PATH}.defaultConstraints[0].labelSelector: Forbidden: "
                "constraint must not define a selector, as they deduced for each pod",
            ],
        ),
        ("NodeAffinity", {"addedAffinity": {}}, []),
        ("NodeAffinity", required(key="a", operator="Gt", values=["5"]), []),
        (
            "NodeAffinity",
            required(key="a b", operator="In"),
            [
                f'{EXPRESSION}.key: Invalid value: "a b": {KEY_RULE}',
                f"{EXPRESSION}.values: Invalid value: null: "
                "for 'in', 'notin' operators, values set can't be empty",
            ],
        ),
        (
            "NodeAffinity",
            required(key="a", operator="Exists", values=["x"]),
            [
                f'{EXPRESSION}.values: Invalid value: ["x"]: values set must be empty for exists and '
                f"does not exist"
            ],
        ),
        (
            "NodeAffinity",
            required(key="a", operator="Lt", values=["x", "-5"]),
            [
                f'{EXPRESSION}.values: Invalid value: ["x","-5"]: '
                "for 'Gt', 'Lt' operators, exactly one value is required",
                f"{EXPRESSION}.values[0]: Invalid value: \"x\": for 'Gt', 'Lt' operators, the value "
                f"must be an integer",
                f'{EXPRESSION}.values[1][a]: Invalid value: "-5": {VALUE_RULE}',
            ],
        ),
        (
            "NodeAffinity",
            {
                "addedAffinity": {
                    "preferredDuringSchedulingIgnoredDuringExecution": [
                        {"weight": 0, "preference": {"matchFields": [{"operator": "x"}]}},
                        {
                            "weight": 1,
                            "preference": {"matchFields": [{"key": "metadata.name", "operator": "Gt"}]},
                        },
                        {
                            "weight": 1,
                            "preference": {"matchFields": [{"key": "metadata.name", "operator": "In"}]},
                        },
                    ]
                }
            },
            [
                f'{PREFERRED}[1].matchFields[0].operator: Unsupported value: "Gt": supported values: '
                f'"In", "NotIn"',
                f"{PREFERRED}[2].matchFields[0].values: Invalid value: null: must have one element",
            ],
        ),
        (
            "NodeResourcesFit",
            {"ignoredResourceGroups": ["a/b"]},
            [
                f'{MADE}: ignoredResourceGroups[0]: Invalid value: "a/b": resource group name can\'t '
                f"contain '/'"
            ],
        ),
        (
            "NodeResourcesFit",
            {"scoringStrategy": {"resources": [{"name": "cpu", "weight": 101}, {"name": "x", "weight": -1}]}},
            [
                f'{MADE}: scoringStrategy.type: Unsupported value: "": '
                'supported values: "LeastAllocated", "MostAllocated", "RequestedToCapacityRatio"',
                f"{MADE}: scoringStrategy.resources[0].weight: Invalid value: 101: "
                "resource weight of cpu not in valid range (0, 100]",
                f"{MADE}: scoringStrategy.resources[1].weight: Invalid value: -1: "
                "resource weight of x not in valid range (0, 100]",
            ],
        ),
        (
            "NodeResourcesFit",
            {"scoringStrategy": {"type": "RequestedToCapacityRatio"}},
            [
                f"{MADE}: scoringStrategy.requestedToCapacityRatio: Required value: "
                "must be specified when type is RequestedToCapacityRatio"
            ],
        ),
        (
            "NodeResourcesFit",
            {"scoringStrategy": {"type": "RequestedToCapacityRatio", "requestedToCapacityRatio": {}}},
            [
                f"{MADE}: scoringStrategy.requestedToCapacityRatio.shape: Required value: "
                "at least one point must be specified"
            ],
        ),
        (
            "NodeResourcesFit",
            {"scoringStrategy": {"type": "LeastAllocated", "requestedToCapacityRatio": {}}},
            [
                f"{MADE}: scoringStrategy.requestedToCapacityRatio: Forbidden: "
                "must be nil when type is not RequestedToCapacityRatio"
            ],
        ),
        (
            "NodeResourcesFit",
            {
                "scoringStrategy": {
                    "type": "RequestedToCapacityRatio",
                    "requestedToCapacityRatio": {"shape": [{"utilization": -1}, {"utilization": 101}]},
                }
            },
            [
                f"{MADE}: scoringStrategy.requestedToCapacityRatio.shape[0].utilization: Invalid value: -1: "
                "not in valid range [0, 100]",
                f"{MADE}: scoringStrategy.requestedToCapacityRatio.shape[1].utilization: Invalid value: 101: "
                "not in valid range [0, 100]",
            ],
        ),
    ],
)
def test_rules(plugin: str, args: dict[str, Any], lines: list[str]) -> None:
    assert problems_of(**with_args(plugin, args)) == lines


def test_fit_args_do_not_matter_where_the_plugin_is_not_enabled() -> None:
    profile = {
        "plugins": {"multiPoint": {"disabled": [{"name": "NodeResourcesFit"}]}},
        "pluginConfig": [{"name": "NodeResourcesFit", "args": {"scoringStrategy": {"type": "Best"}}}],
    }
    assert problems_of(profiles=[profile]) == []
