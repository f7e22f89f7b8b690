"""From a profile's plugin lists to the plugins that run at each extension point."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping

from moorage.api.points import POINTS
from moorage.config.args import NodeResourcesFitArgs
from moorage.config.args_checks import check_resources_fit
from moorage.config.problems import ConfigError, ConfigProblem
from moorage.config.remedies import did_you_mean
from moorage.config.types import KubeSchedulerConfiguration, PluginRef, Plugins, Profile

PointsOf = Mapping[str, Collection[str]]
"""For every registered plugin, the extension points it implements."""

_IN_CHECK_ORDER = [point.key for point in sorted(POINTS.values(), key=lambda point: point.checked)]
_MAX_NODE_SCORE = 100
_IDLE = {"Coscheduling": ("postFilter", "reserve")}
"""Where configurations of scheduler-plugins name a plugin that has nothing to do there here."""


class _ProfileError(Exception):
    """Why a profile cannot be built."""


def expand_all(config: KubeSchedulerConfiguration, points_of: PointsOf) -> list[dict[str, list[PluginRef]]]:
    """`expand` for every profile; raises ConfigError with the problems of all of them."""
    problems: list[ConfigProblem] = []
    expanded = []
    for i, profile in enumerate(config.profiles):
        try:
            expanded.append(expand(profile, points_of))
        except ConfigError as error:
            problems += [ConfigProblem(f"profiles[{i}]", problem.message) for problem in error.problems]
    if problems:
        raise ConfigError(problems)
    sorters = [points["queueSort"][0].name for points in expanded]
    for i, profile in enumerate(config.profiles):
        if sorters[i] != sorters[0]:
            message = (
                "initializing profiles: different queue sort plugins for profile "
                f'"{profile.scheduler_name}": "{sorters[i]}", first: "{sorters[0]}"'
            )
            problems.append(ConfigProblem(f"profiles[{i}]", message))
    if problems:
        raise ConfigError(problems)
    return expanded


def expand(profile: Profile, points_of: PointsOf) -> dict[str, list[PluginRef]]:
    """The plugins of a complete profile at each point, in the order in which they run.

    Score plugins carry the weight that counts, all others 0. Raises ConfigError if a plugin does not exist,
    stands where it cannot or stands twice, and if the profile has not one queue sort plugin and a binder.
    """
    problems = _fit_problems(profile, points_of)
    try:
        expanded = _expanded(profile, points_of)
    except _ProfileError as error:
        problems.append(str(error))
    if problems:
        prefix = f"initializing profiles: creating profile for scheduler name {profile.scheduler_name}: "
        raise ConfigError(ConfigProblem("", prefix + problem) for problem in problems)
    return expanded


def _fit_problems(profile: Profile, points_of: PointsOf) -> list[str]:
    name = "NodeResourcesFit"
    args = profile.args_of(name)
    needed = name in points_of and name in profile.plugins.enabled_names()
    if not needed or not isinstance(args, NodeResourcesFitArgs):
        return []
    return [f'initializing plugin "{name}": {problem}' for problem in check_resources_fit(args)]


def _expanded(profile: Profile, points_of: PointsOf) -> dict[str, list[PluginRef]]:
    configured = set()
    for config in profile.plugin_config:
        if config.name in configured:
            raise _ProfileError(f"repeated config for plugin {config.name}")
        configured.add(config.name)
    plugins = profile.plugins
    explicit = {point: list(_explicit(plugins, point, points_of)) for point in _IN_CHECK_ORDER}
    names = {point: _ordered(plugins, point, explicit[point], points_of) for point in _IN_CHECK_ORDER}
    sorters = len(names["queueSort"])
    if sorters != 1:
        raise _ProfileError(
            "only one queue sort plugin required for profile with scheduler name "
            f'"{profile.scheduler_name}", but got {sorters}'
        )
    if not names["bind"]:
        raise _ProfileError(
            f'at least one bind plugin is needed for profile with scheduler name "{profile.scheduler_name}"'
        )
    weights = {
        point.key: _weights(plugins, point.key, points_of) for point in POINTS.values() if point.has_weights
    }
    _check_total(weights["score"])
    return {
        point: [PluginRef(name=name, weight=weights.get(point, {}).get(name, 0)) for name in names[point]]
        for point in POINTS
    }


def _explicit(plugins: Plugins, point: str, points_of: PointsOf) -> Iterator[str]:
    interface = POINTS[point].interface
    seen = set()
    for ref in plugins.at(point).enabled:
        if ref.name not in points_of:
            raise _ProfileError(_does_not_exist(interface, ref.name, points_of))
        if point not in points_of[ref.name]:
            if point in _IDLE.get(ref.name, ()):
                continue
            extends = ", ".join(points_of[ref.name])
            raise _ProfileError(
                f'plugin "{ref.name}" does not extend {interface} plugin; it extends {extends}'
            )
        if ref.name in seen:
            raise _ProfileError(f'plugin "{ref.name}" already registered as "{interface}"')
        seen.add(ref.name)
        yield ref.name


def _does_not_exist(interface: str, name: str, known: Iterable[str]) -> str:
    remedy = did_you_mean(name, known) or "; register it with --plugin, or choose one of `moorage plugins`"
    return f'{interface} "{name}" does not exist{remedy}'


def _ordered(plugins: Plugins, point: str, explicit: list[str], points_of: PointsOf) -> list[str]:
    """Re-listed multiPoint plugins first, then the other multiPoint plugins, then the rest of the list."""
    own = plugins.at(point)
    if own.disables("*"):
        return explicit
    overridden = set()
    through_multi_point = []
    for ref in plugins.multi_point.enabled:
        name = ref.name
        if name not in points_of:
            raise _ProfileError(_does_not_exist(POINTS[point].interface, name, points_of))
        if point not in points_of[name] or own.disables(name):
            continue
        if name in explicit:
            overridden.add(name)
        elif name in through_multi_point:
            raise _ProfileError(f'plugin "{name}" already registered as "{POINTS[point].interface}"')
        else:
            through_multi_point.append(name)
    first = [name for name in explicit if name in overridden]
    return first + through_multi_point + [name for name in explicit if name not in overridden]


def _weights(plugins: Plugins, point: str, points_of: PointsOf) -> dict[str, int]:
    """The weight of every plugin that can score: the point's own entry counts before multiPoint's."""
    weights: dict[str, int] = {}
    for ref in plugins.at(point).enabled + plugins.multi_point.enabled:
        if point in points_of.get(ref.name, ()):
            weights.setdefault(ref.name, ref.weight or 1)
    return weights


def _check_total(weights: dict[str, int]) -> None:
    """The reference computes the room left in 64 bits, so a negative sum so far looks like an overflow."""
    total = 0
    for weight in weights.values():
        if total < 0 or weight * _MAX_NODE_SCORE > 2**63 - 1 - total:
            raise _ProfileError("total score of Score plugins could overflow")
        total += weight * _MAX_NODE_SCORE
