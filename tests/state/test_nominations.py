from __future__ import annotations

import pytest

from moorage.api.pods import Pod
from moorage.state.nominations import Nominations
from moorage.testing import make_pod


def pod(name: str = "p", nominated: str = "", priority: int | None = None) -> Pod:
    return make_pod(name, priority=priority, status={"nominatedNodeName": nominated})


def nodes_of(nominations: Nominations) -> dict[str, list[str]]:
    return {node: [pod.name for pod in pods.values()] for node, pods in nominations._by_node.items()}


@pytest.mark.parametrize(
    ("in_status", "given", "recorded"),
    [
        ("", None, {}),
        ("a", None, {"a": ["p"]}),
        ("a", "b", {"b": ["p"]}),
        ("", "b", {"b": ["p"]}),
        ("a", "", {}),
    ],
)
def test_a_given_name_overrides_the_status(
    in_status: str, given: str | None, recorded: dict[str, list[str]]
) -> None:
    nominations = Nominations()
    nominations.add(pod(nominated=in_status), given)
    assert nodes_of(nominations) == recorded
    assert nominations.node_of(pod().uid) == next(iter(recorded), "")


@pytest.mark.parametrize("second", [None, "", "c"])
def test_adding_always_removes_the_old_entry(second: str | None) -> None:
    nominations = Nominations()
    nominations.add(pod(), "a")
    nominations.add(pod(), second)
    assert nodes_of(nominations) == ({second: ["p"]} if second else {})


def test_a_pod_that_is_gone_or_has_a_node_is_not_recorded() -> None:
    gone = {"gone"}
    nominations = Nominations(lambda pod: pod.name not in gone)
    nominations.add(pod("gone"), "a")
    nominations.add(pod("here"), "a")
    assert nodes_of(nominations) == {"a": ["here"]}
    gone.add("here")
    nominations.add(pod("here"), "b")
    assert nodes_of(nominations) == {}, "the old entry goes all the same"


@pytest.mark.parametrize(
    ("before", "after", "recorded"),
    [
        ("", "", {"memory": ["p"]}),
        ("", "new", {"new": ["p"]}),
        ("old", "new", {"new": ["p"]}),
        ("old", "", {}),
        ("old", "old", {"old": ["p"]}),
    ],
)
def test_an_update_keeps_what_is_only_in_memory_if_neither_version_names_a_node(
    before: str, after: str, recorded: dict[str, list[str]]
) -> None:
    nominations = Nominations()
    nominations.add(pod(nominated=before), "memory")
    newer = pod(nominated=after)
    nominations.update(pod(nominated=before), newer)
    assert nodes_of(nominations) == recorded
    for name in recorded:
        assert list(nominations.on(name)) == [newer], "lookups give the newest version"


def test_an_update_without_any_nomination_records_nothing() -> None:
    nominations = Nominations()
    nominations.update(pod(), pod())
    assert len(nominations) == 0


def test_removal_leaves_nothing_behind() -> None:
    nominations = Nominations()
    nominations.add(pod("p"), "a")
    nominations.add(pod("q"), "a")
    nominations.remove(pod("p").uid)
    nominations.remove("nobody")
    assert nodes_of(nominations) == {"a": ["q"]}
    nominations.remove(pod("q").uid)
    assert (nominations._by_node, nominations._node_of, list(nominations.on("a"))) == ({}, {}, [])


def test_rivals_are_others_of_at_least_the_same_priority() -> None:
    nominations = Nominations()
    for name, node, priority in (
        ("high", "a", 9),
        ("same", "a", 5),
        ("low", "a", 4),
        ("lower", "b", 1),
        ("unset", "c", None),
        ("me", "d", 5),
    ):
        nominations.add(pod(name, priority=priority), node)
    rivals = nominations.rivals(pod("me", priority=5))
    assert {node: [rival.name for rival in pods] for node, pods in rivals.items()} == {"a": ["high", "same"]}
    assert set(nominations.rivals(pod("me", priority=None))) == {"a", "b", "c"}
