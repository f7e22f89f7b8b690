"""The rules for a complete configuration, in the order and words of kube-scheduler."""

from __future__ import annotations

from moorage.api.durations import Duration
from moorage.api.names import qualified_name_problems
from moorage.api.points import POINTS
from moorage.api.resources import is_extended
from moorage.config.args_checks import CHECKS
from moorage.config.problems import ConfigProblem, duplicate, invalid, required, shown
from moorage.config.types import (
    V1,
    ClientConnection,
    Extender,
    KubeSchedulerConfiguration,
    LeaderElection,
    PluginSet,
    Profile,
)

REMOVED_PLUGINS = ("AzureDiskLimits", "CinderLimits", "EBSLimits", "GCEPDLimits")


def validate(config: KubeSchedulerConfiguration) -> list[ConfigProblem]:
    """Everything that is wrong with a complete configuration."""
    problems = _check_client_connection(config.client_connection)
    problems += _check_leader_election(config.leader_election)
    if config.parallelism <= 0:
        message = "should be an integer value greater than zero"
        problems.append(invalid("parallelism", config.parallelism, message))
    first: dict[str, int] = {}
    for i, profile in enumerate(config.profiles):
        problems += _check_profile(f"profiles[{i}]", profile)
        name = profile.scheduler_name
        if first.setdefault(name, i) != i:
            # The reference prints the place of the first profile here, which comes out as `{}`.
            problem = duplicate(f"profiles[{i}].schedulerName", {})
            remedy = f"{shown(name)} is the name of profiles[{first[name]}], too; give each profile its own"
            problems.append(problem._replace(message=f"{problem.message}: {remedy}"))
    problems += _check_common_queue_sort(config.profiles)
    problems += _check_percentage("percentageOfNodesToScore", config.percentage_of_nodes_to_score)
    initial, longest = config.pod_initial_backoff_seconds, config.pod_max_backoff_seconds
    if initial <= 0:
        problems.append(invalid("podInitialBackoffSeconds", initial, "must be greater than 0"))
    if longest < initial:
        message = "must be greater than or equal to PodInitialBackoffSeconds"
        problems.append(invalid("podMaxBackoffSeconds", longest, message))
    return problems + _check_extenders(config.extenders)


def _check_client_connection(connection: ClientConnection) -> list[ConfigProblem]:
    if connection.burst >= 0:
        return []
    return [invalid("clientConnection.burst", connection.burst, "must be non-negative")]


def _check_leader_election(election: LeaderElection) -> list[ConfigProblem]:
    if not election.leader_elect:
        return []
    durations = {
        "leaseDuration": election.lease_duration,
        "renewDeadline": election.renew_deadline,
        "retryPeriod": election.retry_period,
    }
    problems = [
        invalid(f"leaderElection.{name}", duration, "must be greater than zero")
        for name, duration in durations.items()
        if duration <= Duration()
    ]
    if election.lease_duration <= election.renew_deadline:
        message = "must be greater than `RenewDeadline`"
        problems.append(invalid("leaderElection.leaseDuration", election.renew_deadline, message))
    if election.resource_lock != "leases":
        message = 'resourceLock value must be "leases"'
        problems.append(invalid("leaderElection.resourceLock", election.resource_lock, message))
    return problems


def _check_percentage(path: str, percentage: int | None) -> list[ConfigProblem]:
    if percentage is None or 0 <= percentage <= 100:
        return []
    return [invalid(path, percentage, "not in valid range [0-100]")]


def _check_profile(path: str, profile: Profile) -> list[ConfigProblem]:
    problems = []
    if not profile.scheduler_name:
        problems.append(required(f"{path}.schedulerName"))
    problems += _check_percentage(f"{path}.percentageOfNodesToScore", profile.percentage_of_nodes_to_score)
    for point in POINTS:
        for i, ref in enumerate(profile.plugins.at(point).enabled):
            problems += _check_removed(f"{path}.plugins.{point}.enabled[{i}]", ref.name)
    seen = set()
    for i, config in enumerate(profile.plugin_config):
        place = f"{path}.pluginConfig[{i}]"
        if config.name in seen:
            problems.append(duplicate(place, config.name))
        seen.add(config.name)
        problems += _check_removed(place, config.name)
        if config.name in CHECKS:
            problems += CHECKS[config.name](f"{place}.args", config.args)
    return problems


def _check_removed(path: str, name: str) -> list[ConfigProblem]:
    if name not in REMOVED_PLUGINS:
        return []
    message = f'was invalid in version "v1" (KubeSchedulerConfiguration is version "{V1}")'
    return [invalid(path, name, message)]


def _check_common_queue_sort(profiles: list[Profile]) -> list[ConfigProblem]:
    first = profiles[0]
    canon = first.plugins.queue_sort
    problems = []
    if len(canon.enabled) > 1:
        path = "profiles[0].plugins.queueSort.Enabled"
        problems.append(invalid(path, len(canon.enabled), "only one queue sort plugin can be enabled"))
    name = canon.enabled[0].name if canon.enabled else None
    for i, profile in enumerate(profiles[1:], start=1):
        own = profile.plugins.queue_sort
        if own != canon:
            path, message = f"profiles[{i}].plugins.queueSort", "must be the same for all profiles"
            problems.append(invalid(path, _internal(own), message))
        for config in profile.plugin_config:
            if config.name == name and config.args != first.args_of(name):
                path, message = (
                    f"profiles[{i}].pluginConfig.args",
                    "queueSort must be the same for all profiles",
                )
                problems.append(invalid(path, config.args, message))
    return problems


def _internal(plugins: PluginSet) -> dict[str, list[dict[str, str | int]] | None]:
    """The form in which the reference prints a plugin set in an error."""
    lists = {"Enabled": plugins.enabled, "Disabled": plugins.disabled}
    return {
        key: [{"Name": ref.name, "Weight": ref.weight} for ref in refs] or None for key, refs in lists.items()
    }


def _check_extenders(extenders: list[Extender]) -> list[ConfigProblem]:
    problems = []
    seen = set()
    for i, extender in enumerate(extenders):
        if extender.prioritize_verb and extender.weight <= 0:
            message = "must have a positive weight applied to it"
            problems.append(invalid(f"extenders[{i}].weight", extender.weight, message))
        for j, resource in enumerate(extender.managed_resources):
            path = f"extenders[{i}].managedResources[{j}].name"
            problems += _check_extended_resource(path, resource.name)
            if resource.name in seen:
                problems.append(invalid(path, resource.name, "duplicate extender managed resource name"))
            seen.add(resource.name)
    binders = sum(bool(extender.bind_verb) for extender in extenders)
    if binders > 1:
        found = f"found {binders} extenders implementing bind"
        problems.append(invalid("extenders", found, "only one extender can implement bind"))
    return problems


def _check_extended_resource(path: str, name: str) -> list[ConfigProblem]:
    wrong = qualified_name_problems(name)
    if wrong:
        return [invalid(path, name, problem) for problem in wrong]
    return [] if is_extended(name) else [invalid(path, name, "is an invalid extended resource name")]
