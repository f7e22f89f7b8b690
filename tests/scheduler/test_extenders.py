"""Scheduling with extenders that really are asked over HTTP."""

from __future__ import annotations

import asyncio
import random
import threading
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import pytest

from moorage.api.durations import Duration
from moorage.config.types import Extender, ExtenderManagedResource
from moorage.framework.status import Status
from moorage.process.metrics import SchedulerMetrics
from moorage.testing import make_node, make_pod
from tests.framework.extenders.server import Document, ExtenderServer, Raw
from tests.framework.scripted import Binds, Filters, Scores, plugin
from tests.scheduler.worlds import World

PREEMPTING = ("PrioritySort", "DefaultBinder", "NodeResourcesFit", "DefaultPreemption")
EMPTY_MAP = "preemption: no candidate node for preemption"


@pytest.fixture
def server() -> Iterator[ExtenderServer]:
    with ExtenderServer() as running:
        yield running


def extender(server: ExtenderServer, *verbs: str, **fields: Any) -> Extender:
    """One that is asked these verbs, by name."""
    given = {f"{verb}_verb": verb for verb in verbs}
    common = {"http_timeout": Duration.of_seconds(30), "weight": 1, "node_cache_capable": True}
    return Extender(**{"url_prefix": server.url, **common, **given, **fields})


def schedule(world: World, *meanwhile: Awaitable[None]) -> None:
    async def main() -> None:
        await asyncio.gather(world.scheduler.drain(), *meanwhile)

    asyncio.run(main())


async def until(condition: Callable[[], Any]) -> None:
    async with asyncio.timeout(30):
        while not condition():
            await asyncio.sleep(0.005)


# Filter


def test_a_pod_that_extenders_keep_off_all_nodes_waits_for_any_change(server: ExtenderServer) -> None:
    server.answers["filter"] = {
        "FailedNodes": {"n0": "taken", "n1": "taken", "n2": "overruled", "unknown": "x"},
        "FailedAndUnresolvableNodes": {"n2": "never"},
    }
    world = World(nodes=4, extenders=[extender(server, "filter")])
    world.add()
    schedule(world)
    message = "0/4 nodes are available: 1 never, 2 taken."
    assert world.condition() == ("False", "Unschedulable", message)
    assert world.plugins_of() == ({"Extender"}, set())
    # The condition that was written is a change of the pod, too.
    assert world.place() == "backoff"
    world.now += 60
    world.queue.flush_backoff()
    schedule(world)
    assert world.place() == "unschedulable"
    world.now += 60
    world.door.put(make_node("n0", labels={"any": "change"}))
    assert world.place() == "active"


def test_one_extender_after_the_other_sees_what_is_left_and_the_ignorable_come_last(
    server: ExtenderServer,
) -> None:
    server.answers |= {
        "last/filter": {"NodeNames": []},
        "first/filter": {"NodeNames": ["n2", "n0"]},
        "second/filter": {"NodeNames": ["n0"]},
        "never/filter": {"NodeNames": []},
    }

    def at(path: str, **fields: Any) -> Extender:
        return extender(server, "filter", url_prefix=f"{server.url}/{path}", **fields)

    other = [ExtenderManagedResource(name="example.com/other")]
    made = [at("last", ignorable=True), at("never", managed_resources=other), at("first"), at("second")]
    world = World(nodes=3, extenders=made)
    world.add()
    schedule(world)
    asked = [(request.verb.partition("/")[0], request.body["NodeNames"]) for request in server.requests]
    assert asked == [("first", ["n0", "n1", "n2"]), ("second", ["n2", "n0"]), ("last", ["n0"])]
    assert world.plugins_of() == ({"Extender"}, set())


def test_an_extender_is_not_asked_where_nothing_is_left(server: ExtenderServer) -> None:
    world = World(
        plugin(Filters, "No", Status.unschedulable("no")), nodes=2, extenders=[extender(server, "filter")]
    )
    world.add()
    schedule(world)
    assert server.requests == []
    assert world.plugins_of() == ({"No"}, set())


def test_an_extender_that_fails_ends_the_attempt_unless_it_may_fail(server: ExtenderServer) -> None:
    server.answers["filter"] = {"Error": "out of order"}
    world = World(nodes=2, extenders=[extender(server, "filter")])
    world.add()
    schedule(world)
    assert world.condition() == ("False", "SchedulerError", "out of order")
    assert world.place() == "backoff"
    tolerant = World(nodes=2, extenders=[extender(server, "filter", ignorable=True)])
    tolerant.add()
    schedule(tolerant)
    assert tolerant.node_of() != ""


def test_an_extender_sees_all_nodes_even_if_no_plugin_scores_them(server: ExtenderServer) -> None:
    server.answers["filter"] = lambda request: {"NodeNames": request["NodeNames"][-1:]}
    world = World(nodes=5, extenders=[extender(server, "filter")])
    world.add()
    schedule(world)
    assert [len(body["NodeNames"]) for body in server.asked("filter")] == [5]
    assert world.node_of() == "n4"


@pytest.mark.parametrize("first", [{"NodeNames": []}, {"Error": "no"}, {"NodeNames": ["n1"]}])
def test_the_nominated_node_is_shown_first(first: Document, server: ExtenderServer) -> None:
    def answer(request: Document) -> Document:
        return first if len(server.requests) == 1 else {"NodeNames": ["n0"]}

    server.answers["filter"] = answer
    world = World(nodes=2, extenders=[extender(server, "filter")])
    world.add(status={"nominatedNodeName": "n1"})
    schedule(world)
    shown = [body["NodeNames"] for body in server.asked("filter")]
    fits = first.get("NodeNames") == ["n1"]
    assert shown == ([["n1"]] if fits else [["n1"], ["n0", "n1"]])
    assert world.node_of() == ("n1" if fits else "n0")


# Prioritize


def test_scores_of_extenders_are_added(server: ExtenderServer) -> None:
    server.answers |= {
        "a/prioritize": [{"Host": "n0", "Score": 10}, {"Host": "n1", "Score": 9}],
        "b/prioritize": [{"Host": "n2", "Score": 2}, {"Host": "unknown", "Score": 10}],
        "c/prioritize": Raw(b"", 500),
    }
    made = [
        extender(server, "prioritize", url_prefix=f"{server.url}/{name}", weight=weight)
        for name, weight in (("a", 1), ("b", 3), ("c", 1))
    ]
    by_name = {"n0": 5, "n1": 50, "n2": 99}
    scores = plugin(Scores, "S", lambda cycle, pod, node: by_name[node.name])
    world = World(scores, nodes=3, extenders=made)
    world.add()
    schedule(world)
    # 5 + 10 * 10, 50 + 9 * 10, 99 + 2 * 3 * 10
    assert world.node_of() == "n2"
    made[1].weight = 1
    second = World(scores, nodes=3, extenders=made)
    second.add()
    schedule(second)
    assert second.node_of() == "n1"


def test_a_single_node_is_not_scored(server: ExtenderServer) -> None:
    world = World(nodes=1, extenders=[extender(server, "prioritize")])
    world.add()
    schedule(world)
    assert (world.node_of(), server.requests) == ("n0", [])


def test_scores_that_are_too_large_come_out_at_the_other_end(server: ExtenderServer) -> None:
    server.answers["prioritize"] = [{"Host": "n0", "Score": 2**63 - 1}, {"Host": "n1", "Score": 1}]
    world = World(nodes=2, extenders=[extender(server, "prioritize")])
    world.add()
    schedule(world)
    assert world.node_of() == "n1"


def test_ties_are_broken_by_chance_among_the_nodes_with_a_score(server: ExtenderServer) -> None:
    random.seed(1)
    server.answers["prioritize"] = [{"Host": "n1", "Score": 0}, {"Host": "n2", "Score": 0}]
    world = World(nodes=3, extenders=[extender(server, "prioritize")])
    for number in range(20):
        world.add(f"p{number}")
    schedule(world)
    assert {world.node_of(f"p{number}") for number in range(20)} == {"n1", "n2"}
    assert len({request.connection for request in server.requests}) == 1


def test_an_extender_that_gives_no_scores_makes_all_nodes_equal(server: ExtenderServer) -> None:
    random.seed(1)
    world = World(nodes=3, extenders=[extender(server, "bind")])
    for number in range(30):
        world.add(f"p{number}")
    server.answers["bind"] = {}
    schedule(world)
    chosen = {body["Node"] for body in server.asked("bind")}
    assert chosen == {"n0", "n1", "n2"}


def test_those_who_are_asked_for_scores_are_counted(server: ExtenderServer) -> None:
    metrics = SchedulerMetrics()
    seen: list[Any] = []

    def answer(request: Document) -> list[Document]:
        seen.append(metrics.registry.get_sample_value("scheduler_goroutines", labels))
        return []

    labels = {"operation": "prioritizing_extender"}
    server.answers["prioritize"] = answer
    world = World(nodes=2, observer=metrics, extenders=[extender(server, "prioritize")])
    world.add()
    schedule(world)
    assert seen == [1]
    assert metrics.registry.get_sample_value("scheduler_goroutines", labels) == 0


# Bind


def test_an_extender_binds_in_place_of_plugins(server: ExtenderServer) -> None:
    binder = plugin(Binds, "B")
    server.answers["bind"] = {"error": ""}
    world = World(binder, extenders=[extender(server, "bind")], in_tree=("PrioritySort",))
    pod = world.add()
    schedule(world)
    assert server.asked("bind") == [
        {"PodName": "pod", "PodNamespace": "default", "PodUID": pod.uid, "Node": "n0"}
    ]
    assert binder.calls == []
    assert world.state.is_assumed(pod.uid)
    assert world.notes == [("Scheduled", "Successfully assigned default/pod to n0")]


def test_a_bind_that_fails_is_tried_again_unless_it_may_fail(server: ExtenderServer) -> None:
    server.answers["bind"] = {"Error": "no"}
    world = World(extenders=[extender(server, "bind")])
    pod = world.add()
    schedule(world)
    assert world.condition() == ("False", "SchedulerError", "no")
    assert world.place() == "backoff"
    assert world.state.placement(pod.uid) is None
    tolerant = World(extenders=[extender(server, "bind", ignorable=True)])
    tolerant.add()
    schedule(tolerant)
    assert tolerant.node_of() == "n0"


def test_a_pod_that_the_binder_does_not_care_for_is_bound_by_plugins(server: ExtenderServer) -> None:
    other = [ExtenderManagedResource(name="example.com/other")]
    world = World(extenders=[extender(server, "bind", managed_resources=other)])
    world.add()
    schedule(world)
    assert (world.node_of(), server.requests) == ("n0", [])


# Preempt


def preempting(server: ExtenderServer, answer: Any, **fields: Any) -> World:
    """A pod that fits where one of two others goes, and an extender that says which."""
    server.answers["preempt"] = answer
    world = World(
        nodes=[make_node(name, cpu=1) for name in ("a", "b")],
        in_tree=PREEMPTING,
        extenders=[extender(server, "preempt", **fields)],
    )
    for name in ("a", "b"):
        world.add(f"small-{name}", cpu=1, node=name, priority=0, uid=f"small-{name}")
    world.add("large", cpu=1, priority=10)
    schedule(world)
    return world


def chosen(**victims: str) -> Document:
    return {
        "NodeNameToMetaVictims": {
            node: {"Pods": [{"UID": uid}] if uid else [], "NumPDBViolations": 0}
            for node, uid in victims.items()
        }
    }


def nominated(world: World) -> str:
    return world.client.pods["default/large"].status.nominated_node_name


@pytest.mark.parametrize("node", ["a", "b"])
def test_an_extender_chooses_where_pods_have_to_go(node: str, server: ExtenderServer) -> None:
    world = preempting(server, chosen(**{node: f"small-{node}"}))
    assert nominated(world) == node
    assert set(server.asked("preempt")[0]["NodeNameToMetaVictims"]) == {"a", "b"}


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        ({}, EMPTY_MAP),
        (chosen(a=""), 'preemption: expected at least one victim pod on node "a"'),
        (chosen(x="small-a"), 'preemption: nodeinfo not found for node name "x"'),
        (chosen(a="small-b"), "but the pod is not found on that node"),
        (Raw(b"", 500), "/preempt, code 500"),
    ],
)
def test_where_an_extender_does_not_agree_no_pod_goes(
    answer: Any, message: str, server: ExtenderServer
) -> None:
    world = preempting(server, answer)
    condition = world.condition("large")
    assert condition is not None
    assert condition[2].endswith(message)
    assert condition[:2] == ("False", "Unschedulable")
    assert nominated(world) == ""
    assert {"default/small-a", "default/small-b"} <= world.client.pods.keys()


@pytest.mark.parametrize(
    ("answer", "nodes"),
    [
        (Raw(b"", 500), {"a", "b"}),
        (chosen(x="1"), {"a", "b"}),
        (chosen(a="", b="small-b"), {"b"}),
        (chosen(a=""), {""}),
    ],
)
def test_an_extender_that_may_fail_spoils_nothing(
    answer: Any, nodes: set[str], server: ExtenderServer
) -> None:
    assert nominated(preempting(server, answer, ignorable=True)) in nodes


# While an extender thinks


def test_a_change_that_comes_while_an_extender_is_asked_is_taken_in_afterwards(
    server: ExtenderServer,
) -> None:
    go_on = threading.Event()
    server.answers["filter"] = lambda request: go_on.wait(30) and {"NodeNames": request["NodeNames"]}
    world = World(nodes=1, extenders=[extender(server, "filter")])
    pod = world.add()
    known: list[Any] = []

    async def changes() -> None:
        await until(lambda: server.requests)
        world.door.put(make_node("later"))
        world.add("another")
        world.door.put(make_pod("elsewhere", node="n0"))
        known.extend((world.state.node("later"), world.queue.get(make_pod("another")), world.state.pod_total))
        go_on.set()

    schedule(world, changes())
    assert known == [None, None, 0]
    assert world.node_of() == "n0"
    assert world.state.node("later") is not None
    assert world.place("another") == "active"
    assert world.state.pod(pod.uid) is not None
    assert world.state.pod_total == 2


def test_a_scheduler_that_is_stopped_does_not_wait_for_an_extender(server: ExtenderServer) -> None:
    over = threading.Event()
    server.answers["filter"] = lambda request: {"late": over.wait(30)}
    world = World(extenders=[extender(server, "filter", http_timeout=Duration.of_seconds(3600))])
    world.add()

    async def main() -> None:
        running = asyncio.create_task(world.scheduler.run())
        await until(lambda: server.requests)
        world.scheduler.stop()
        async with asyncio.timeout(20):
            await running

    asyncio.run(main())
    over.set()
    assert world.notes == []


def test_other_pods_are_bound_while_an_extender_thinks(server: ExtenderServer) -> None:
    go_on = threading.Event()

    def answer(request: Document) -> Document:
        if request["Pod"]["metadata"]["name"] == "second":
            go_on.wait(30)
        return {"NodeNames": request["NodeNames"]}

    server.answers["filter"] = answer
    world = World(extenders=[extender(server, "filter")])
    world.add("first")
    world.add("second")

    async def look() -> None:
        await until(lambda: world.node_of("first") and len(server.requests) == 2)
        assert world.node_of("second") == ""
        go_on.set()

    schedule(world, look())
    assert world.node_of("second") == "n0"
