from __future__ import annotations

import pytest

from moorage.config import ConfigError, load
from moorage.framework.extension_points import BindPlugin, Plugin, QueueSortPlugin
from moorage.framework.handle import Handle, Services
from moorage.framework.loading.registry import Registry
from moorage.framework.runtime.profile import Profile
from moorage.plugins.catalog import in_tree_registry
from moorage.scheduler.profiles import DEFAULT_CONFIGURATION, default_configuration, make_profiles
from tests.framework.scripted import Filters, plugin


def registry_with(*plugins: type[Plugin]) -> Registry:
    registry = in_tree_registry()
    for each in plugins:
        registry.add_class(each, "test")
    return registry


def profile_with(*plugins: type[Plugin]) -> Profile:
    """The default profile with these plugins given on the command line."""
    registry = registry_with(*plugins)
    config = default_configuration(registry, [each.name for each in plugins])
    return make_profiles(config, registry, Services())["default-scheduler"]


def test_a_plugin_without_a_configuration_is_enabled_after_the_default_ones() -> None:
    profile = profile_with(plugin(Filters, "Mine"))
    assert [each.name for each, _ in profile.filter][-2:] == ["NodeDeclaredFeatures", "Mine"]


def test_a_plugin_that_sorts_replaces_the_default_one() -> None:
    class Newest(QueueSortPlugin):
        def sort_key(self, queued: object) -> int:
            return 0

    assert [each.name for each in profile_with(Newest).queue_sort] == ["Newest"]


def test_a_plugin_that_binds_is_asked_before_the_default_one() -> None:
    class Mine(BindPlugin):
        def bind(self, cycle: object, pod: object, node_name: str) -> None: ...

    assert [each.name for each in profile_with(Mine).bind] == ["Mine", "DefaultBinder"]


def test_the_default_weights() -> None:
    weights = {each.name: weight for each, weight, _ in profile_with().score}
    assert weights == {
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


TWO_PROFILES = f"""
{DEFAULT_CONFIGURATION}
profiles:
- schedulerName: one
  percentageOfNodesToScore: 30
  plugins: {{multiPoint: {{enabled: [{{name: Fussy}}]}}}}
- schedulerName: two
  plugins: {{multiPoint: {{enabled: [{{name: Fussy}}]}}}}
"""


def fussy(unhappy_in: tuple[str, ...]) -> type[Plugin]:
    class Fussy(Filters):
        def __init__(self, args: object, handle: Handle) -> None:
            super().__init__(args, handle)
            if handle.profile_name in unhappy_in:
                raise ValueError("not here")

    return Fussy


def test_each_profile_has_plugins_of_its_own_and_shares_the_services() -> None:
    services = Services()
    profiles = make_profiles(load(TWO_PROFILES).config, registry_with(fussy(())), services)
    one, two = profiles["one"], profiles["two"]
    assert one.plugins["Fussy"] is not two.plugins["Fussy"]
    assert one.services is two.services is services
    assert (one.percentage_of_nodes_to_score, two.percentage_of_nodes_to_score) == (30, None)
    assert one.plugins["Fussy"].handle.profile is one


def test_all_plugins_that_cannot_be_made_are_reported() -> None:
    with pytest.raises(ConfigError) as caught:
        make_profiles(load(TWO_PROFILES).config, registry_with(fussy(("one", "two"))), Services())
    lines = [(problem.path, problem.message) for problem in caught.value.problems]
    assert [path for path, _ in lines] == ["profiles[0]", "profiles[1]"]
    for name, (_, message) in zip(("one", "two"), lines, strict=True):
        assert message.startswith(
            f"initializing profiles: creating profile for scheduler name {name}: "
            'initializing plugin "Fussy": ValueError: not here (test_profiles.py:'
        )


def test_a_plugin_that_does_not_exist_is_reported() -> None:
    with pytest.raises(ConfigError, match='PreFilterPlugin "Fussy" does not exist'):
        make_profiles(load(TWO_PROFILES).config, in_tree_registry(), Services())
