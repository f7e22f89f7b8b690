from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
import pytest

from moorage.api.pods import Pod
from moorage.config.types import PluginRef
from moorage.framework.events import EVERYTHING, NODE, POD, Action, ClusterEvent
from moorage.framework.extension_points import FilterPlugin, Plugin, PreFilterPlugin, ScorePlugin
from moorage.framework.handle import Handle, Services
from moorage.framework.loading.registry import PluginLoadError, Registry
from moorage.framework.runtime.profile import Profile, make_profile
from moorage.testing import make_pod
from tests.framework.scripted import (
    FastFilters,
    FastScores,
    Filters,
    Permits,
    PostFilters,
    PreFilters,
    PreScores,
    Reserves,
    Scores,
    World,
    plugin,
)


def registry_of(*plugins: type[Plugin]) -> Registry:
    registry = Registry()
    for each in plugins:
        registry.add_class(each, "test")
    return registry


def refs(*names: str, weight: int = 0) -> list[PluginRef]:
    return [PluginRef(name=name, weight=weight) for name in names]


def profile_of(
    points: dict[str, list[PluginRef]], *plugins: type[Plugin], args: dict[str, Any] | None = None
) -> Profile:
    return make_profile("mine", points, registry_of(*plugins), Services(), args, 30)


def test_plugins_stand_in_the_order_of_each_point() -> None:
    a, b = plugin(Filters, "A"), plugin(FastFilters, "B")
    profile = profile_of({"filter": refs("B", "A")}, a, b)
    assert [(each.name, is_fast) for each, is_fast in profile.filter] == [("B", True), ("A", False)]
    assert profile.percentage_of_nodes_to_score == 30


def test_every_plugin_has_a_handle_of_its_own() -> None:
    profile = profile_of({"filter": refs("B", "A")}, plugin(Filters, "A"), plugin(Filters, "B"))
    handles = [each.handle for each in profile.plugins.values()]
    assert [(handle.profile_name, handle.plugin_name) for handle in handles] == [("mine", "B"), ("mine", "A")]
    assert all(handle.profile is profile for handle in handles)


def test_a_plugin_is_made_once_and_serves_all_its_points() -> None:
    class Both(PreFilterPlugin, FilterPlugin):
        def pre_filter(self, cycle: Any, pod: Any) -> None: ...
        def filter(self, cycle: Any, pod: Any, node: Any) -> None: ...
        def add_pod(self, cycle: Any, pod: Any, other: Any, node: Any) -> None: ...

    profile = profile_of({"preFilter": refs("Both"), "filter": refs("Both")}, Both)
    assert {id(profile.pre_filter[0]), id(profile.filter[0].plugin)} == {id(profile.plugins["Both"])}
    assert profile.with_add_pod == profile.pre_filter
    assert profile.with_remove_pod == []


def test_only_enabled_plugins_are_made() -> None:
    class Never(FilterPlugin):
        def __init__(self, args: Any, handle: Handle) -> None:
            raise AssertionError

        def filter(self, cycle: Any, pod: Any, node: Any) -> None: ...

    assert list(profile_of({"filter": refs("A")}, Never, plugin(Filters, "A")).plugins) == ["A"]


@pytest.mark.parametrize(("given", "counts"), [(0, 1), (1, 1), (3, 3), (-2, -2)])
def test_a_weight_that_is_not_given_is_one(given: int, counts: int) -> None:
    profile = profile_of({"score": refs("A", weight=given)}, plugin(Scores, "A"))
    assert [(weight, normalizes) for _, weight, normalizes in profile.score] == [(counts, False)]


def test_a_plugin_that_normalizes_is_known() -> None:
    class Normalizing(ScorePlugin):
        def score(self, cycle: Any, pod: Any, node: Any) -> int:
            return 1

        def normalize_scores(self, cycle: Any, pod: Any, scores: Any) -> Any:
            return scores

    assert profile_of({"score": refs("Normalizing")}, Normalizing).score[0].normalizes


def test_a_profile_runs_the_pods_that_name_it() -> None:
    profile = profile_of({})

    def runs(pod: Pod) -> bool:
        return pod.spec.scheduler_name == profile.name

    assert runs(make_pod(scheduler="mine"))
    assert not runs(make_pod())


# Events


def registering(base: type[Any], name: str, events: Any) -> type[Plugin]:
    return plugin(base, name, events=lambda self: events)


def registrations(*plugins: type[Plugin]) -> list[tuple[str, str]]:
    profile = World(*plugins).profile
    return [(registration.plugin, registration.event.label) for registration in profile.registrations]


def test_a_plugin_that_does_not_say_hears_everything() -> None:
    assert registrations(plugin(Filters, "A")) == [("A", event.label) for event in EVERYTHING]


def test_a_plugin_that_lists_nothing_hears_nothing() -> None:
    assert registrations(registering(Filters, "A", [])) == []


def test_what_is_listed_and_implied_is_registered_in_the_order_of_the_points() -> None:
    found = registrations(
        registering(Filters, "A", [ClusterEvent(POD, Action.DELETE)]),
        registering(PreFilters, "B", (ClusterEvent(NODE, Action.ADD),)),
    )
    assert found == [("B", "NodeAdd"), ("B", "NodeUpdateNodeTaint"), ("A", "PodDelete")]


@pytest.mark.parametrize(
    ("base", "asked"),
    [
        (PreFilters, True),
        (Filters, True),
        (Reserves, True),
        (Permits, True),
        (PostFilters, False),
        (PreScores, False),
        (Scores, False),
        (FastScores, False),
    ],
)
def test_only_plugins_that_can_reject_are_asked(base: type[Any], asked: bool) -> None:
    found = registrations(registering(base, "A", [ClusterEvent(POD, Action.DELETE)]))
    assert found == ([("A", "PodDelete")] if asked else [])


def test_a_custom_resource_can_be_waited_for() -> None:
    events = [ClusterEvent("foos.v1.example", Action.ADD)]
    assert registrations(registering(Filters, "A", events)) == [("A", "foos.v1.exampleAdd")]


def test_events_that_cannot_be_had_stop_the_start() -> None:
    def broken(self: Plugin) -> Sequence[ClusterEvent]:
        raise ValueError("no idea")

    with pytest.raises(
        PluginLoadError, match=r'^initializing plugin "A": ValueError: no idea \(test_profile'
    ):
        World(plugin(Filters, "A", events=broken))
    with pytest.raises(PluginLoadError, match=r"events returned 'Node', use a list of ClusterEvent"):
        World(registering(Filters, "A", ["Node"]))


# Making and closing


class Args(msgspec.Struct):
    weight: int = 1


class Careful(FilterPlugin):
    args_type = Args

    def __init__(self, args: Args, handle: Handle) -> None:
        super().__init__(args, handle)
        if args.weight > 9:
            raise ValueError("too heavy")

    def filter(self, cycle: Any, pod: Any, node: Any) -> None: ...


def test_a_plugin_gets_its_args_and_a_handle_of_its_profile() -> None:
    made = profile_of({"filter": refs("Careful")}, Careful, args={"Careful": {"weight": 3}}).plugins[
        "Careful"
    ]
    assert made.args == Args(3)
    assert made.handle.profile_name == "mine"
    assert made.handle.profile is not None


@pytest.mark.parametrize(
    ("name", "args", "message"),
    [
        ("Careful", {"weight": 10}, 'initializing plugin "Careful": ValueError: too heavy (test_profile.py:'),
        ("Careful", {"wait": 1}, 'initializing plugin "Careful": args.wait: unknown field; known are weight'),
        ("Careful", {"weight": "x"}, 'initializing plugin "Careful": args.weight: Expected `int`, got `str`'),
        ("Other", None, 'plugin "Other" does not exist'),
    ],
)
def test_a_plugin_that_cannot_be_made_is_named(name: str, args: Any, message: str) -> None:
    with pytest.raises(PluginLoadError) as caught:
        profile_of({"filter": refs(name)}, Careful, args={name: args})
    assert str(caught.value).startswith(message)


def test_a_plugin_that_wants_to_exit_is_named_too() -> None:
    class Leaves(Careful):
        def __init__(self, args: Args, handle: Handle) -> None:
            raise SystemExit("enough")

    with pytest.raises(
        PluginLoadError, match=r'^initializing plugin "Leaves": SystemExit: enough \(test_profile'
    ):
        profile_of({"filter": refs("Leaves")}, Leaves)


def renamed(base: type[Plugin]) -> type[Plugin]:
    """A plugin that gives itself another name when it is made."""

    def make(self: Plugin, args: Any, handle: Handle) -> None:
        base.__init__(self, args, handle)
        self.name = "Other"  # type: ignore[misc]

    return type("Mine", (base,), {"__init__": make})


def test_a_plugin_keeps_the_name_it_is_registered_with() -> None:
    with pytest.raises(PluginLoadError, match=r'^score plugin "Other" is not configured with weight$'):
        profile_of({"score": refs("Mine")}, renamed(Scores))
    with pytest.raises(PluginLoadError, match=r'^initializing plugin "Mine": it calls itself "Other"$'):
        profile_of({"filter": refs("Mine")}, renamed(Filters))


def test_every_plugin_is_closed_even_if_one_fails_to(caplog: pytest.LogCaptureFixture) -> None:
    closed: list[str] = []

    def close(self: Plugin) -> None:
        closed.append(self.name)
        if self.name == "A":
            raise ValueError("stuck")

    answers = plugin(Scores, "C", close=lambda self: "done")
    World(plugin(Filters, "A", close=close), plugin(Scores, "B", close=close), answers).profile.close()
    assert closed == ["A", "B"]
    line = close.__code__.co_firstlineno
    assert caplog.messages == [
        "Plugin A raised an exception at close",
        f"plugin A failed to close: ValueError: stuck (test_profile.py:{line + 3})",
        "plugin C failed to close: close returned str, there is nothing to return "
        f"(test_profile.py:{line + 5})",
    ]
