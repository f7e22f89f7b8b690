"""The custom resources of plugins are defined in the embedded cluster, and those of others left alone."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from moorage import Object
from moorage.cli.plugin_resources import MARK, Outcome, apply_definitions, kinds_of
from moorage.cli.setup import set_up
from moorage.client.http import HttpClient
from tests.api.licenses import License
from tests.cluster.api_worlds import World

NAME = "licenses.shop.example.com"
PATH = f"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{NAME}"


class Smaller(Object, kw_only=True):
    """Another definition of the same resource."""

    group, version, resource, kind = "shop.example.com", "v1", "licenses", "License"
    seats: int = 1


class Measured(Smaller, kw_only=True):
    """The same with another type of a field."""

    seats: float = 1.0  # type: ignore[assignment]


class Newer(Object, kw_only=True):
    """The same resource in another version."""

    group, version, resource, kind = "shop.example.com", "v2", "licenses", "License"
    namespaced = License.namespaced


class Apps(Object, kw_only=True):
    """A plugin's own view of a built-in kind."""

    group, version, resource, kind = "apps", "v1", "deployments", "Deployment"


class Leases(Object, kw_only=True):
    """As above, in a group with dots."""

    group, version, resource, kind = "coordination.k8s.io", "v1", "leases", "Lease"


class Protected(Object, kw_only=True):
    group, version, resource, kind = "sched.x-k8s.io", "v1", "things", "Thing"
    size: int = 0


class Strange(Object, kw_only=True):
    group, version, resource, kind = "shop.example.com", "v1", "strangers", "Stranger"
    odd: str | list[str] = ""


Step = Callable[[World], Any] | list[type[Object]]


def applied(*steps: Step, world: World | None = None) -> list[Outcome]:
    """What becomes of applying each list of classes; functions do something to the cluster in between."""
    made = world or World().prepared()

    async def main() -> list[Outcome]:
        outcomes = []
        async with HttpClient(made.cluster.connection()) as http:
            for step in steps:
                if callable(step):
                    step(made)
                else:
                    outcomes.append(await apply_definitions(http, step))
                await asyncio.sleep(0)
        return outcomes

    return asyncio.run(main())


def served(world: World) -> bool:
    return world.ask("GET", "/apis/shop.example.com/v1/licenses").code == 200


def test_a_new_definition_is_served_and_applied_once() -> None:
    world = World().prepared()
    first, again = applied([License], [License], world=world)
    assert (first, again) == (Outcome([NAME], []), Outcome([], []))
    assert served(world)


def test_another_schema_changes_it() -> None:
    world = World().prepared()
    first, second, third = applied([Smaller], [Measured], [Measured], world=world)
    assert (first.applied, second.applied, third.applied) == ([NAME], [NAME], [])
    schema = world.get(PATH)["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    assert schema["properties"]["seats"]["type"] == "number"


def _changed(world: World) -> None:
    found = world.get(PATH)
    found["spec"]["names"]["shortNames"] = ["lic"]
    world.done("PUT", PATH, found)


def _annotated(world: World) -> None:
    found = world.get(PATH)
    found["metadata"]["annotations"]["kubectl.kubernetes.io/last-applied-configuration"] = "{}"
    world.done("PUT", PATH, found)


def _unmarked(world: World) -> None:
    found = world.get(PATH)
    del found["metadata"]["annotations"][MARK]
    world.done("PUT", PATH, found)


@pytest.mark.parametrize("touch", [_changed, _annotated, _unmarked])
def test_what_somebody_else_applied_is_left_alone(touch: Callable[[World], None]) -> None:
    world = World().prepared()
    before: list[Any] = []
    look: Step = lambda world: before.append(world.get(PATH))  # noqa: E731
    _, outcome = applied([Smaller], touch, look, [License], world=world)
    assert outcome.applied == []
    assert outcome.notes == [
        f"{NAME}: is defined otherwise than by tests.api.licenses:License, and not by this command; "
        "it is left as it is (moorage crd tests.api.licenses:License | kubectl apply -f - replaces it)"
    ]
    assert world.get(PATH) == before[0]


def test_the_same_by_somebody_else_is_nothing_to_speak_of() -> None:
    assert applied([License], _unmarked, [License])[1] == Outcome([], [])


def test_what_is_built_in_needs_no_definition() -> None:
    assert applied([Apps, Leases]) == [Outcome([], [])]


def test_groups_of_the_community_are_marked_as_unapproved() -> None:
    world = World().prepared()
    assert applied([Protected], world=world) == [Outcome(["things.sched.x-k8s.io"], [])]


def test_what_cannot_be_defined_is_told() -> None:
    [outcome] = applied([Strange, License])
    assert outcome.applied == [NAME]
    [note] = outcome.notes
    assert note.startswith("strangers.shop.example.com: not applied: Strange")
    assert "odd" in note


def test_what_the_server_refuses_is_told_in_one_line() -> None:
    """Objects are stored in a version that the new class does not have."""
    first, second = applied([License], [Newer])
    assert first.applied == [NAME]
    [note] = second.notes
    assert note.startswith(f"{NAME}: not applied: ")
    assert "v1 was previously a storage version" in note
    assert "\n" not in note


# Which classes belong to plugins

API = """
from moorage import Object


class {}(Object, kw_only=True):
    group, version, resource, kind = "shop.example.com", "v1", "{}", "{}"


class _Private(Object, kw_only=True):
    pass
"""
PLUGIN = """
from moorage import FilterPlugin, Pod
{}


class {}(FilterPlugin):
    def filter(self, cycle, pod, node):
        return None
"""


def names_of(*plugins: Path, config: Path | None = None) -> list[str]:
    setup = set_up(None if config is None else str(config), [str(each) for each in plugins])
    return [kind.__name__ for kind in kinds_of(setup)]


def test_classes_that_a_plugin_file_defines_or_imports(tmp_path: Path) -> None:
    for name in ("Box", "Crate", "Chest"):
        (tmp_path / f"{name.lower()}.py").write_text(API.format(name, f"{name.lower()}s", name))
    plugin = tmp_path / "plugin.py"
    plugin.write_text(PLUGIN.format("from .box import Box\nfrom . import crate", "One"))
    assert names_of(plugin) == ["Box", "Crate"]
    plugin.write_text(API.format("Own", "owns", "Own") + PLUGIN.format("", "Two"))
    assert names_of(plugin) == ["Own"]


def test_plugins_that_run_nowhere_have_none(tmp_path: Path) -> None:
    plugin = tmp_path / "plugin.py"
    plugin.write_text(API.format("Own", "owns", "Own") + PLUGIN.format("", "Idle"))
    config = tmp_path / "config.yaml"
    config.write_text("apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n")
    assert names_of(plugin, config=config) == []


def test_a_resource_with_two_classes_has_the_first(tmp_path: Path) -> None:
    for name in ("one", "two"):
        text = API.format(name.title(), "things", "Thing") + PLUGIN.format("", f"Plugin{name}")
        (tmp_path / f"{name}.py").write_text(text)
    assert names_of(tmp_path / "one.py", tmp_path / "two.py") == ["One"]
