from __future__ import annotations

import pytest

from moorage.api.meta import Object
from moorage.api.storage import PersistentVolume
from moorage.framework.cycle_state import CycleState
from moorage.framework.events import (
    NODE,
    PERSISTENT_VOLUME,
    PERSISTENT_VOLUME_CLAIM,
    STORAGE_CLASS,
    Action,
    Hint,
)
from moorage.framework.status import Code, Status
from moorage.plugins.storage.volume_zone import VolumeZone
from moorage.testing import make_node
from tests.plugins.helpers import filtered, hint, passing, registered, verdicts
from tests.plugins.storage.storage_cases import claim, plugin_of, pod, storage_class, volume

ZONE, REGION = "topology.kubernetes.io/zone", "topology.kubernetes.io/region"
BETA_ZONE = "failure-domain.beta.kubernetes.io/zone"
BETA_REGION = "failure-domain.beta.kubernetes.io/region"
ELSEWHERE = Status.unresolvable("node(s) had no available volume zone")
NODES = (
    make_node("a", labels={ZONE: "a", REGION: "r"}),
    make_node("b", labels={ZONE: "b", REGION: "r"}),
    make_node("beta", labels={BETA_ZONE: "a", BETA_REGION: "r"}),
    make_node("both", labels={BETA_ZONE: "b", ZONE: "a"}),
    make_node("region", labels={REGION: "r"}),
    make_node("none"),
)


def bound_to(labels: dict[str, str]) -> list[Object]:
    return [claim("c", "pv"), volume("pv", labels)]


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        ({ZONE: "a"}, {"a", "both", "none"}),
        ({BETA_ZONE: "a"}, {"a", "beta", "none"}),
        ({ZONE: "a__b"}, {"a", "b", "both", "none"}),
        ({ZONE: " a __x"}, {"a", "both", "none"}),
        ({ZONE: "x"}, {"none"}),
        ({REGION: "r"}, {"a", "b", "region", "none"}),
        ({BETA_REGION: "r"}, {"a", "b", "beta", "region", "none"}),
        ({ZONE: "b", REGION: "r"}, {"b", "none"}),
        ({ZONE: "b__", REGION: "r"}, {"a", "b", "region", "none"}),
    ],
)
def test_nodes_within_reach_of_a_volume(labels: dict[str, str], expected: set[str]) -> None:
    plugin = plugin_of(VolumeZone, [*NODES, *bound_to(labels)])
    found = filtered(plugin, pod("pod", "c"))
    assert passing(found) == expected
    assert set(found.values()) == {None, ELSEWHERE}


def test_all_volumes_must_be_within_reach() -> None:
    objects = [*NODES, *bound_to({ZONE: "a__b"}), claim("d", "other"), volume("other", {ZONE: "b"})]
    assert passing(filtered(plugin_of(VolumeZone, objects), pod("pod", "c", "d"))) == {"b", "none"}


def test_a_changed_node_is_seen() -> None:
    plugin = plugin_of(VolumeZone, [*NODES, *bound_to({ZONE: "x"})])
    assert passing(filtered(plugin, pod("pod", "c"))) == {"none"}
    plugin.handle.services.door.put(make_node("a", labels={ZONE: "x"}))
    assert passing(filtered(plugin, pod("pod", "c"))) == {"a", "none"}


@pytest.mark.parametrize(
    ("objects", "name", "problem"),
    [
        ([], "", "PersistentVolumeClaim had no name"),
        ([], "c", 'persistentvolumeclaim "c" not found'),
        ([claim("c", "pv")], "c", 'persistentvolume "pv" not found'),
        ([claim("c")], "c", "PersistentVolumeClaim had no pv name and storageClass name"),
        ([claim("c", storageClassName="s")], "c", 'storageclass.storage.k8s.io "s" not found'),
        (
            [claim("c", storageClassName="s"), storage_class("s", mode=None)],
            "c",
            'VolumeBindingMode not set for StorageClass "s"',
        ),
        (
            [claim("c", storageClassName="s"), storage_class("s", mode="Immediate")],
            "c",
            "PersistentVolume had no name",
        ),
    ],
)
def test_what_cannot_be_said_is_told_with_the_reason(objects: list[Object], name: str, problem: str) -> None:
    plugin = plugin_of(VolumeZone, [*NODES, *objects])
    expected = Status.unresolvable(problem)
    assert plugin.pre_filter(CycleState(), pod("pod", name)) == expected
    # Without PreFilter, the filter finds out itself.
    assert set(verdicts(plugin, CycleState(), pod("pod", name)).values()) == {expected}


@pytest.mark.parametrize(
    "objects",
    [
        [claim("c", storageClassName="s"), storage_class("s")],
        bound_to({}),
        bound_to({ZONE: "__"}),
        bound_to({"zone": "a"}),
    ],
)
def test_volumes_that_ask_nothing(objects: list[Object]) -> None:
    plugin = plugin_of(VolumeZone, [*NODES, *objects])
    answer = plugin.pre_filter(CycleState(), pod("pod", "c"))
    assert answer is not None and answer.code is Code.SKIP
    assert set(verdicts(plugin, CycleState(), pod("pod", "c")).values()) == {None}


def test_ephemeral_volumes_are_not_looked_at() -> None:
    answer = plugin_of(VolumeZone, NODES).pre_filter(CycleState(), pod("pod", {"ephemeral": {}}))
    assert answer is not None and answer.code is Code.SKIP


def test_registered_events() -> None:
    assert registered(plugin_of(VolumeZone, ())) == [
        (STORAGE_CLASS, Action.ADD, True),
        (NODE, Action.ADD | Action.UPDATE_NODE_LABEL, False),
        (PERSISTENT_VOLUME_CLAIM, Action.ADD | Action.UPDATE, True),
        (PERSISTENT_VOLUME, Action.ADD | Action.UPDATE, True),
    ]


@pytest.mark.parametrize(
    ("mode", "expected"), [("WaitForFirstConsumer", Hint.QUEUE), ("Immediate", Hint.SKIP), (None, Hint.SKIP)]
)
def test_class_added_hint(mode: str | None, expected: Hint) -> None:
    new = storage_class("s", mode=mode)
    told = hint(plugin_of(VolumeZone, ()), STORAGE_CLASS, Action.ADD, pod("pod", "c"), None, new)
    assert told is expected


def test_claim_changed_hint() -> None:
    plugin, mine = plugin_of(VolumeZone, ()), pod("pod", "c")
    for action, old in ((Action.ADD, None), (Action.UPDATE, claim("c"))):
        for new, expected in (
            (claim("c"), Hint.QUEUE),
            (claim("d"), Hint.SKIP),
            (claim("c", namespace="other"), Hint.SKIP),
        ):
            assert hint(plugin, PERSISTENT_VOLUME_CLAIM, action, mine, old, new) is expected


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        (None, volume("pv"), Hint.QUEUE),
        (volume("pv"), volume("pv"), Hint.SKIP),
        (volume("pv"), volume("pv", {"app": "x"}), Hint.SKIP),
        (volume("pv"), volume("pv", {ZONE: "a"}), Hint.QUEUE),
        (volume("pv", {ZONE: "a__b"}), volume("pv", {ZONE: "b__a"}), Hint.SKIP),
        (volume("pv", {ZONE: "a"}), volume("pv", {BETA_ZONE: "a"}), Hint.QUEUE),
        (volume("pv", {ZONE: "a__"}), volume("pv"), Hint.SKIP),
    ],
)
def test_volume_changed_hint(old: PersistentVolume | None, new: PersistentVolume, expected: Hint) -> None:
    action = Action.ADD if old is None else Action.UPDATE
    told = hint(plugin_of(VolumeZone, ()), PERSISTENT_VOLUME, action, pod("pod", "c"), old, new)
    assert told is expected
