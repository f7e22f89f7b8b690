"""A profile: the plugins of one scheduler name, made and put in order."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, cast

from moorage.api.points import POINTS
from moorage.config.types import PluginRef
from moorage.framework.diagnosis import place_in
from moorage.framework.events import EVERYTHING, ClusterEvent, with_implied
from moorage.framework.extenders.asking import EXTENDER
from moorage.framework.extension_points import (
    BASES,
    FilterPlugin,
    Plugin,
    PluginsByPoint,
    PreFilterPlugin,
    ScorePlugin,
)
from moorage.framework.gangs import GangPlugin
from moorage.framework.handle import Handle, Services
from moorage.framework.loading.registry import PluginLoadError, Registry
from moorage.framework.placements import PlacementGeneratePlugin, PlacementScorePlugin
from moorage.framework.plugin_errors import author_of, definition, described, is_ours, told
from moorage.framework.runtime.answers import listed_events, nothing_of
from moorage.framework.runtime.calls import FAILURES
from moorage.framework.runtime.plans import Plans
from moorage.framework.runtime.slow_calls import watched
from moorage.state.cluster import ClusterState

log = logging.getLogger(__name__)

_check_close = nothing_of("close")


class FastOrEasy(NamedTuple):
    plugin: FilterPlugin
    is_fast: bool


class Weighted(NamedTuple):
    plugin: ScorePlugin
    weight: int
    normalizes: bool


class Registration(NamedTuple):
    """An event that may help pods which `plugin` rejected."""

    plugin: str
    event: ClusterEvent


class Profile(PluginsByPoint):
    """The plugins of one scheduler name, per extension point in the order in which they run."""

    filter: list[FastOrEasy]
    score: list[Weighted]

    def __init__(
        self,
        name: str,
        points: Mapping[str, Sequence[PluginRef]],
        plugins: Mapping[str, Plugin],
        services: Services,
        percentage_of_nodes_to_score: int | None = None,
    ) -> None:
        self.name = name
        self.services = services
        self.state: ClusterState = services.state
        self.observer = services.observer
        self.running = services.running
        self.trials = services.state.trials
        self.recorder = services.recorder_of(name)
        self.plugins = dict(plugins)
        self.ours = {plugin for plugin in plugins.values() if is_ours(type(plugin))}
        """The in-tree ones."""
        self.percentage_of_nodes_to_score = percentage_of_nodes_to_score

        for key in BASES:
            setattr(self, POINTS[key].attribute, [self._enabled(key, ref) for ref in points.get(key, ())])
        self.with_add_pod = [p for p in self.pre_filter if _overrides(p, PreFilterPlugin, "add_pod")]
        self.with_remove_pod = [p for p in self.pre_filter if _overrides(p, PreFilterPlugin, "remove_pod")]
        self.reserve_without_claims = [p for p in self.reserve if not p.settles_claims_only]
        self.pre_bind_without_claims = [p for p in self.pre_bind if not p.settles_claims_only]
        self.gangs = next((plugin for plugin in plugins.values() if isinstance(plugin, GangPlugin)), None)
        self.placement_generate = [
            cast("PlacementGeneratePlugin", self.plugins[ref.name])
            for ref in points.get("placementGenerate", ())
        ]
        self.placement_score = [
            (cast("PlacementScorePlugin", self.plugins[ref.name]), ref.weight or 1)
            for ref in points.get("placementScore", ())
        ]
        self.judges = [each for each in self.placement_score if each[0] not in self.ours]
        """Those of them that judge gangs of all kinds; the in-tree ones know PodGroups of Kubernetes only."""
        self.registrations = self._registrations(points)
        finding = (
            *self.pre_filter,
            *(fast_or_easy.plugin for fast_or_easy in self.filter),
            *self.post_filter,
        )
        self.plans = Plans(self, are_used=services.shortcuts)
        self.treats_like_pods_alike = not services.extenders and all(
            plugin.treats_like_pods_alike for plugin in finding
        )

    def _enabled(self, point: str, enabled: PluginRef) -> Plugin | FastOrEasy | Weighted:
        """What a point's list holds of a plugin: where more than the plugin counts, that as well."""
        plugin = self.plugins[enabled.name]
        if point == "filter":
            filtering = cast("FilterPlugin", plugin)
            is_fast = _overrides(plugin, FilterPlugin, "filter_nodes") and not filtering.is_costly
            return FastOrEasy(filtering, is_fast)
        if point == "score":
            normalizes = _overrides(plugin, ScorePlugin, "normalize_scores")
            return Weighted(cast("ScorePlugin", plugin), enabled.weight or 1, normalizes)
        return plugin

    def close(self) -> None:
        for plugin in self.plugins.values():
            try:
                close: Callable[[], object] = plugin.close
                _check_close(watched(self, plugin, "Close", close))
            except FAILURES as error:
                self.services.plugin_errors.note(error, plugin.name, author_of(type(plugin)), "close")
                log.error(
                    "plugin %s failed to close: %s%s", plugin.name, told(error), place_in(plugin, error)
                )

    def _registrations(self, points: Mapping[str, Sequence[PluginRef]]) -> list[Registration]:
        asked = dict.fromkeys(
            enabled.name
            for point in POINTS.values()
            if point.rejects
            for enabled in points.get(point.key, ())
        )
        found: list[Registration] = []
        if self.services.extenders:
            # They cannot say what helps a pod that they rejected.
            found += [Registration(EXTENDER, event) for event in EVERYTHING]
        for name in asked:
            found += [Registration(name, event) for event in _events_of(self.plugins[name])]
        return found


def _events_of(plugin: Plugin) -> list[ClusterEvent]:
    try:
        events = listed_events(plugin.events())
    except FAILURES as error:
        cause = f"{told(error)}{place_in(plugin, error)}"
        raise PluginLoadError(f'initializing plugin "{plugin.name}": {cause}') from error
    if events is None:
        return list(EVERYTHING)
    if not is_ours(type(plugin)):
        _check_events(plugin, events)
    return with_implied(events)


def _check_events(plugin: Plugin, events: list[ClusterEvent]) -> None:
    from moorage.framework.loading.event_checks import event_mistakes

    where = definition(plugin.events)
    found = [f'initializing plugin "{plugin.name}": {each}{where}' for each in event_mistakes(events)]
    if found:
        raise PluginLoadError("\n".join(found))


def _overrides(plugin: Plugin, base: type[Plugin], method: str) -> bool:
    return getattr(type(plugin), method) is not getattr(base, method)


def make_profile(
    name: str,
    points: Mapping[str, Sequence[PluginRef]],
    registry: Registry,
    services: Services,
    args: Mapping[str, Any] | None = None,
    percentage_of_nodes_to_score: int | None = None,
) -> Profile:
    """Makes the plugins that `points` enable, each once, and the profile of them.

    Raises PluginLoadError, in the words `initializing plugin "NAME": CAUSE`, if a plugin cannot be made.
    """
    wanted = dict.fromkeys(enabled.name for enabled_here in points.values() for enabled in enabled_here)
    handles = {plugin: Handle(services, name, plugin) for plugin in wanted}
    plugins = {
        plugin: _make(plugin, registry, (args or {}).get(plugin), handle)
        for plugin, handle in handles.items()
    }
    profile = Profile(name, points, plugins, services, percentage_of_nodes_to_score)
    for handle in handles.values():
        handle.profile = profile
    return profile


def _make(name: str, registry: Registry, args: Any, handle: Handle) -> Plugin:
    from moorage.framework.loading.plugin_args import decode_args

    entry = registry.get(name)
    if entry is None:
        raise PluginLoadError(f'plugin "{name}" does not exist')
    plugin = entry.load()
    try:
        made = plugin(decode_args(plugin, args), handle)
    except FAILURES as error:
        cause = str(error) if isinstance(error, PluginLoadError) else described(error, author_of(plugin))
        raise PluginLoadError(f'initializing plugin "{name}": {cause}') from error
    if made.name == name:
        return made
    if isinstance(made, ScorePlugin):
        raise PluginLoadError(f'score plugin "{made.name}" is not configured with weight')
    raise PluginLoadError(f'initializing plugin "{name}": it calls itself "{made.name}"')
