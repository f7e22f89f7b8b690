"""The rules for the in-tree plugins' args, with Kubernetes' words.

NodeResourcesFit is not in CHECKS: its plugin complains when it is made, not the configuration.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from moorage.api.durations import Duration
from moorage.api.names import label_value_problems, qualified_name_problems
from moorage.api.selectors import NodeSelectorTerm, Requirement, parse_int64
from moorage.config.args import (
    DefaultPreemptionArgs,
    DynamicResourcesArgs,
    InterPodAffinityArgs,
    NodeAffinityArgs,
    NodeResourcesBalancedAllocationArgs,
    NodeResourcesFitArgs,
    PodTopologySpreadArgs,
    ScoringStrategy,
    UtilizationShapePoint,
    VolumeBindingArgs,
)
from moorage.config.problems import ConfigProblem, child, duplicate, forbidden, invalid, required, unsupported

RATIO = "RequestedToCapacityRatio"
_STRATEGIES = ("LeastAllocated", "MostAllocated", RATIO)
_ACTIONS = ("DoNotSchedule", "ScheduleAnyway")
_LABEL_OPERATORS = ("In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt")
_FIELD_OPERATORS = ("In", "NotIn")


def check_default_preemption(path: str, args: DefaultPreemptionArgs) -> list[ConfigProblem]:
    share, count = args.min_candidate_nodes_percentage, args.min_candidate_nodes_absolute
    share_path, count_path = f"{path}.minCandidateNodesPercentage", f"{path}.minCandidateNodesAbsolute"
    problems = []
    if not 0 <= share <= 100:
        problems.append(invalid(share_path, share, "not in valid range [0, 100]"))
    if count < 0:
        problems.append(invalid(count_path, count, "not in valid range [0, inf)"))
    if share == 0 and count == 0:
        both = "cannot be zero at the same time as"
        problems.append(invalid(share_path, share, f"{both} minCandidateNodesAbsolute"))
        problems.append(invalid(count_path, count, f"{both} minCandidateNodesPercentage"))
    return problems


def check_dynamic_resources(path: str, args: DynamicResourcesArgs) -> list[ConfigProblem]:
    problems = []
    if args.filter_timeout < Duration():
        problems.append(invalid(f"{path}.filterTimeout", args.filter_timeout, "must be zero or positive"))
    if args.binding_timeout < Duration.of_seconds(1):
        problems.append(invalid(f"{path}.bindingTimeout", args.binding_timeout, "must be at least 1 second"))
    return problems


def check_inter_pod_affinity(path: str, args: InterPodAffinityArgs) -> list[ConfigProblem]:
    weight = args.hard_pod_affinity_weight
    if 0 <= weight <= 100:
        return []
    return [invalid(f"{path}.hardPodAffinityWeight", weight, "not in valid range [0, 100]")]


def check_node_affinity(path: str, args: NodeAffinityArgs) -> list[ConfigProblem]:
    affinity = args.added_affinity
    if affinity is None:
        return []
    problems = []
    if affinity.required is not None:
        terms = f"{path}.addedAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms"
        for i, term in enumerate(affinity.required.node_selector_terms):
            problems += _check_term(f"{terms}[{i}]", term)
    preferred = f"{path}.addedAffinity.preferredDuringSchedulingIgnoredDuringExecution"
    for i, preference in enumerate(affinity.preferred):
        if preference.weight != 0:
            problems += _check_term(f"{preferred}[{i}]", preference.preference)
    return problems


def _check_term(path: str, term: NodeSelectorTerm) -> list[ConfigProblem]:
    problems = []
    for i, expression in enumerate(term.match_expressions):
        problems += _check_expression(f"{path}.matchExpressions[{i}]", expression)
    for i, field in enumerate(term.match_fields):
        place = f"{path}.matchFields[{i}]"
        if field.operator not in _FIELD_OPERATORS:
            problems.append(unsupported(f"{place}.operator", field.operator, _FIELD_OPERATORS))
        elif len(field.values) != 1:
            problems.append(invalid(f"{place}.values", _listed(field), "must have one element"))
    return problems


def _check_expression(path: str, expression: Requirement) -> list[ConfigProblem]:
    key, operator, values = expression.key, expression.operator, expression.values
    if operator not in _LABEL_OPERATORS:
        return [unsupported(f"{path}.operator", operator, _LABEL_OPERATORS)]
    problems = []
    wrong_key = qualified_name_problems(key)
    if wrong_key:
        problems.append(invalid(f"{path}.key", key, "; ".join(wrong_key)))
    place = f"{path}.values"
    if operator in ("In", "NotIn") and not values:
        message = "for 'in', 'notin' operators, values set can't be empty"
        problems.append(invalid(place, _listed(expression), message))
    if operator in ("Exists", "DoesNotExist") and values:
        message = "values set must be empty for exists and does not exist"
        problems.append(invalid(place, _listed(expression), message))
    if operator in ("Gt", "Lt"):
        problems += _check_bound(place, expression)
    for i, value in enumerate(values):
        wrong_value = label_value_problems(value)
        if wrong_value:
            problems.append(invalid(f"{place}[{i}][{key}]", value, "; ".join(wrong_value)))
    return problems


def _check_bound(path: str, expression: Requirement) -> list[ConfigProblem]:
    problems = []
    if len(expression.values) != 1:
        message = "for 'Gt', 'Lt' operators, exactly one value is required"
        problems.append(invalid(path, _listed(expression), message))
    for i, value in enumerate(expression.values):
        if parse_int64(value) is None:
            message = "for 'Gt', 'Lt' operators, the value must be an integer"
            problems.append(invalid(f"{path}[{i}]", value, message))
    return problems


def _listed(requirement: Requirement) -> list[str] | None:
    return list(requirement.values) or None


def check_balanced_allocation(path: str, args: NodeResourcesBalancedAllocationArgs) -> list[ConfigProblem]:
    problems = []
    seen = set()
    for i, resource in enumerate(args.resources):
        place = f"{path}.resources[{i}]"
        if resource.name in seen:
            problems.append(duplicate(f"{place}.name", resource.name))
        seen.add(resource.name)
        if resource.weight != 1:
            problems.append(invalid(f"{place}.weight", resource.weight, "must be 1"))
    return problems


def check_topology_spread(path: str, args: PodTopologySpreadArgs) -> list[ConfigProblem]:
    problems = []
    place, kind = f"{path}.defaultingType", args.defaulting_type
    if kind not in ("System", "List"):
        problems.append(unsupported(place, kind, ("System", "List")))
    elif kind == "System" and args.default_constraints:
        problems.append(invalid(place, kind, "when .defaultConstraints are not empty"))
    seen = set()
    for i, constraint in enumerate(args.default_constraints):
        place = f"{path}.defaultConstraints[{i}]"
        key, action = constraint.topology_key, constraint.when_unsatisfiable
        if constraint.max_skew <= 0:
            problems.append(invalid(f"{place}.maxSkew", constraint.max_skew, "not in valid range (0, inf)"))
        if not key:
            problems.append(required(f"{place}.topologyKey", "can not be empty"))
        problems += _check_names(f"{place}.topologyKey", key) if key else []
        if not action:
            problems.append(required(f"{place}.whenUnsatisfiable", "can not be empty"))
        elif action not in _ACTIONS:
            problems.append(unsupported(f"{place}.whenUnsatisfiable", action, _ACTIONS))
        if constraint.label_selector is not None:
            message = "constraint must not define a selector, as they deduced for each pod"
            problems.append(forbidden(f"{place}.labelSelector", message))
        if (key, action) in seen:
            problems.append(duplicate(place, f"{{{key}, {action}}}"))
        seen.add((key, action))
    return problems


def check_volume_binding(path: str, args: VolumeBindingArgs) -> list[ConfigProblem]:
    problems = []
    if args.bind_timeout_seconds < 0:
        message = "invalid BindTimeoutSeconds, should not be a negative value"
        problems.append(invalid(f"{path}.bindTimeoutSeconds", args.bind_timeout_seconds, message))
    if args.shape is not None:
        points = [{"Utilization": point.utilization, "Score": point.score} for point in args.shape]
        message = "unexpected field `shape`, remove it or turn on the feature gate StorageCapacityScoring"
        problems.append(invalid(f"{path}.shape", points, message))
    return problems


def check_resources_fit(args: NodeResourcesFitArgs, path: str = "") -> list[ConfigProblem]:
    """Asked where the plugin is made; the paths are then relative to its args."""
    problems = []
    for i, name in enumerate(args.ignored_resources):
        problems += _check_names(child(path, f"ignoredResources[{i}]"), name)
    for i, group in enumerate(args.ignored_resource_groups):
        place = child(path, f"ignoredResourceGroups[{i}]")
        if "/" in group:
            problems.append(invalid(place, group, "resource group name can't contain '/'"))
        problems += _check_names(place, group)
    return problems + _check_strategy(child(path, "scoringStrategy"), args.scoring_strategy)


def _check_strategy(path: str, strategy: ScoringStrategy) -> list[ConfigProblem]:
    problems = []
    if strategy.type not in _STRATEGIES:
        problems.append(unsupported(f"{path}.type", strategy.type, _STRATEGIES))
    for i, resource in enumerate(strategy.resources):
        if not 0 < resource.weight <= 100:
            message = f"resource weight of {resource.name} not in valid range (0, 100]"
            problems.append(invalid(f"{path}.resources[{i}].weight", resource.weight, message))
    place, ratio = f"{path}.requestedToCapacityRatio", strategy.requested_to_capacity_ratio
    if strategy.type != RATIO:
        if ratio is not None:
            problems.append(forbidden(place, f"must be nil when type is not {RATIO}"))
    elif ratio is None:
        problems.append(required(place, f"must be specified when type is {RATIO}"))
    else:
        problems += _check_shape(f"{place}.shape", ratio.shape)
    return problems


def _check_shape(path: str, shape: Sequence[UtilizationShapePoint]) -> list[ConfigProblem]:
    if not shape:
        return [required(path, "at least one point must be specified")]
    problems = []
    for i in range(1, len(shape)):
        if shape[i - 1].utilization >= shape[i].utilization:
            message = "values must be sorted in increasing order"
            problems.append(invalid(f"{path}[{i}].utilization", shape[i].utilization, message))
            break
    for i, point in enumerate(shape):
        if not 0 <= point.utilization <= 100:
            message = "not in valid range [0, 100]"
            problems.append(invalid(f"{path}[{i}].utilization", point.utilization, message))
        if not 0 <= point.score <= 10:
            problems.append(invalid(f"{path}[{i}].score", point.score, "not in valid range [0, 10]"))
    return problems


def _check_names(path: str, name: str) -> list[ConfigProblem]:
    return [invalid(path, name, problem) for problem in qualified_name_problems(name)]


CHECKS: dict[str, Callable[[str, Any], list[ConfigProblem]]] = {
    "DefaultPreemption": check_default_preemption,
    "DynamicResources": check_dynamic_resources,
    "InterPodAffinity": check_inter_pod_affinity,
    "NodeAffinity": check_node_affinity,
    "NodeResourcesBalancedAllocation": check_balanced_allocation,
    "PodTopologySpread": check_topology_spread,
    "VolumeBinding": check_volume_binding,
}
