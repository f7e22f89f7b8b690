"""What is suggested to a member of a gang helps the whole gang: carried out, enough members get a node."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from moorage.contrib.coscheduling.pod_groups import REQUIRED_TOPOLOGY
from moorage.insight.advice.advising import advise
from moorage.insight.advice.suggestions import Suggestion
from moorage.what_if.simulation import Simulation
from tests.contrib.gang_clusters import gang, group, node, placed, pod, simulated
from tests.insight.advice.carrying_out import apply

Document = dict[str, Any]

RACK = "example.com/rack"
TAINTED: dict[str, Any] = {"taints": [{"key": "gpu", "value": "true", "effect": "NoSchedule"}]}


def advice_for(simulation: Simulation, name: str) -> list[Suggestion]:
    scheduler = simulation.scheduler
    asked = scheduler.door.named(f"default/{name}")
    assert asked is not None
    before = fingerprint(simulation)
    found = advise(scheduler.services, scheduler.profiles["default-scheduler"], asked)
    assert fingerprint(simulation) == before
    return found


def fingerprint(simulation: Simulation) -> Any:
    state = simulation.scheduler.state
    return (
        [
            (each.name, dict(each.requested), sorted(pod.key for pod in each.pods))
            for each in state.table.infos
        ],
        sorted(each.key for each in simulation.scheduler.door.pods()),
        [each.key for each in state.pods if state.is_assumed(each.uid)],
        len(simulation.scheduler.services.nominations),
    )


def carried_out(cluster: list[Document], change: list[Document]) -> list[Document]:
    after = copy.deepcopy(cluster)
    for step in change:
        if "create" in step:
            after.append(copy.deepcopy(step["create"]))
            continue
        place = step.get("delete") or step["patch"]
        (found,) = (
            each
            for each in after
            if each["kind"] == place["kind"] and each["metadata"]["name"] == place["name"]
        )
        if "delete" in step:
            after.remove(found)
        else:
            for operation in step["operations"]:
                apply(found, operation)
    return after


def as_it_is(simulation: Simulation, cluster: list[Document]) -> list[Document]:
    """The cluster with pods on the nodes that they got, and without those that had to go."""
    after = []
    for each in copy.deepcopy(cluster):
        if each["kind"] == "Pod":
            found = simulation.client.pods.get(f"default/{each['metadata']['name']}")
            if found is None:
                continue
            if found.spec.node_name:
                each["spec"]["nodeName"] = found.spec.node_name
        after.append(each)
    return after


def check(cluster: list[Document], name: str, minimum: int) -> list[str]:
    """Carries out all that is suggested; the texts of the suggestions."""
    simulation = simulated(cluster)
    if name in placed(simulation):
        return []
    found = advice_for(simulation, name)
    cluster = as_it_is(simulation, cluster)
    prefix = name.rpartition("-")[0]
    for suggestion in found:
        after = carried_out(cluster, suggestion.document()["change"])
        # Those that have to make room are gone at the second try.
        then = placed(simulated(after, tries=3 if suggestion.then == "preempts" else 1))
        members = [each for each in then if each.rpartition("-")[0] == prefix]
        assert len(members) >= minimum, (suggestion.text, then)
    return [suggestion.text for suggestion in found]


def test_smaller_requests_are_those_of_all_members() -> None:
    texts = check([node("n", cpu="3"), *gang("g", 4, 4)], "g-0", 4)
    assert texts[0] == "its cpu request were 750m or less, for each of 4 members (n)"
    assert "there were one more node like n" in texts


def test_several_nodes_where_one_does_not_help() -> None:
    cluster = [node("n", cpu="1"), *gang("g", 4, 4)]
    assert "there were 3 more nodes like n" in check(cluster, "g-3", 4)


def test_what_helps_one_member_only_is_not_suggested() -> None:
    # One pod leaves room for one more member; two are missing.
    cluster = [node("n", cpu="3"), pod("other", nodeName="n"), *gang("g", 4, 4)]
    assert not [text for text in check(cluster, "g-0", 4) if "default/other" in text]
    cluster = [node("n", cpu="3"), pod("other", nodeName="n"), *gang("g", 3, 3)]
    assert "default/other (priority 0) left n" in check(cluster, "g-0", 3)


def test_members_are_not_told_to_leave_for_one_another() -> None:
    cluster = [node("n", cpu="4"), pod("other", nodeName="n", priority=5), *gang("g", 4, 5)]
    texts = check(cluster, "g-0", 4)
    assert "default/other (priority 5) left n" in texts
    assert not [text for text in texts if "default/g-" in text]


def test_a_toleration_for_all() -> None:
    cluster = [node("n", cpu="2"), node("m", cpu="2", **TAINTED), *gang("g", 4, 4)]
    assert check(cluster, "g-0", 4)[0] == "it tolerated gpu=true:NoSchedule, for each of 4 members (m, n)"


def test_members_of_two_kinds_are_changed_by_kind() -> None:
    leader = pod("g-leader", cpu="2", group="g")
    cluster = [node("n", cpu="4"), group("g", 4), leader, *gang("g", 4, 3)[1:]]
    assert check(cluster, "g-0", 4)


def test_priority_with_which_others_go_for_the_whole_gang() -> None:
    others = [pod(f"low-{place}", nodeName=f"n{place}") for place in range(2)]
    cluster = [node("n0", cpu="1"), node("n1", cpu="1"), *others, *gang("g", 2, 2)]
    texts = check(cluster, "g-0", 2)
    [raised] = [text for text in texts if text.startswith("its priority were 1")]
    assert raised == (
        "its priority were 1, for each of 2 members, which preempts default/low-0, default/low-1 on n0, n1"
    )


def test_a_gang_that_has_to_stay_in_one_rack() -> None:
    nodes = [node(f"{rack}-0", cpu="2", labels={RACK: rack}) for rack in ("a", "b")]
    cluster = [*nodes, group("g", 3, {REQUIRED_TOPOLOGY: RACK}), *gang("g", 3, 3)[1:]]
    texts = check(cluster, "g-0", 3)
    assert [text for text in texts if text.startswith("there were one more node like ")]


@pytest.mark.parametrize(
    "cluster",
    [
        [node("n"), *gang("g", 4, 3)],
        [node("n", cpu="1"), *gang("g", 4, 3)],
        [node("n", cpu="1"), *gang("g", 2, 2)[1:]],
        [node("n"), *gang("g", 2, 2, schedulingGates=[{"name": "wait"}])],
    ],
    ids=["too few members", "and no room", "no group", "gates"],
)
def test_nothing_is_suggested_where_only_other_members_help(cluster: list[Document]) -> None:
    assert check(cluster, "g-0", 1) in ([], ["it had no scheduling gate wait (n)"])


def test_a_member_beyond_the_minimum_is_advised_for_itself() -> None:
    cluster = [node("n", cpu="2"), *gang("g", 2, 3)]
    assert "there were one more node like n" in check(cluster, "g-2", 2)


def test_a_member_beyond_the_minimum_does_not_break_its_gang() -> None:
    running = [pod(f"g-{place}", group="g", nodeName="n") for place in range(3)]
    cluster = [node("n", cpu="3"), group("g", 3), *running, pod("g-3", cpu="2", group="g")]
    texts = check(cluster, "g-3", 3)
    assert "there were one more node like n" in texts
    assert not [text for text in texts if "left n" in text]


sizes = st.integers(min_value=1, max_value=4)


@settings(max_examples=25, deadline=None)
@given(
    cpus=st.lists(sizes, min_size=1, max_size=3),
    tainted=st.booleans(),
    others=st.lists(sizes, max_size=2),
    size=st.integers(min_value=2, max_value=4),
    extra=st.integers(min_value=0, max_value=1),
    ask=sizes,
    priority=st.integers(min_value=0, max_value=1),
)
def test_every_suggestion_holds_for_the_whole_gang(
    cpus: list[int], tainted: bool, others: list[int], size: int, extra: int, ask: int, priority: int
) -> None:
    nodes = [
        node(f"n{place}", cpu=str(cpu), **(TAINTED if tainted and place == 0 else {}))
        for place, cpu in enumerate(cpus)
    ]
    placed_ones = [
        pod(f"other-{place}", cpu=str(cpu), nodeName=f"n{place}", priority=priority)
        for place, cpu in enumerate(others)
        if place < len(cpus) and cpu <= cpus[place]
    ]
    check([*nodes, *placed_ones, *gang("g", size, size + extra, cpu=str(ask))], "g-0", size)
