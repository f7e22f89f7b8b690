from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from moorage.api.kinds import known_kind
from moorage.api.meta import Object
from moorage.api.workloads import Namespace, Service
from moorage.client.connection import ConnectionConfig
from moorage.client.http import HttpClient
from moorage.client.memory import MemoryClient
from moorage.client.pod_writer import PodWriter
from moorage.framework.cycle_state import CycleState
from moorage.framework.handle import Handle, NoRecorder, Services
from moorage.framework.status import Status
from moorage.state.node_info import NodeInfo
from moorage.testing import make_pod
from tests.framework.scripted import POD, Filters, PreScores, Scores, World, plugin


def test_nodes_and_pods_are_those_of_the_state() -> None:
    world = World(nodes=2)
    world.state.add_pod(make_pod("p", node="n1"))
    handle = world.handle
    assert handle.nodes.names == ["n0", "n1"]
    assert handle.node("n1") is world.node("n1")
    assert handle.node("elsewhere") is None
    assert [pod.name for pod in handle.pods] == ["p"]
    assert handle.state is world.state


def test_what_all_profiles_share() -> None:
    activated: list[str] = []
    recorder = NoRecorder()
    services = Services(
        activate=lambda pods: activated.extend(pod.name for pod in pods),
        clock=lambda: 12.0,
        recorder_of=lambda profile_name: recorder,
    )
    handle = Handle(services, "mine")
    handle.activate([make_pod("a"), make_pod("b")])
    assert activated == ["a", "b"]
    assert handle.clock() == 12.0
    assert handle.profile_name == "mine"
    assert handle.log.name == "moorage.profile.mine"
    assert handle.recorder is recorder
    assert handle.waiting_pods is services.waiting_pods
    assert handle.nominator is services.nominations
    assert handle.metrics is services.metrics


def test_without_a_cluster_there_is_no_client_and_nothing_is_recorded() -> None:
    handle = Handle(Services())
    with pytest.raises(RuntimeError, match="there is no cluster to talk to: this run has no client"):
        _ = handle.client
    handle.activate([POD])
    assert isinstance(handle.recorder, NoRecorder)
    handle.recorder.event(POD, None, "Normal", "Reason", "Action", "note")


def test_the_client_is_that_of_the_services() -> None:
    client = MemoryClient(lambda pod: None)
    assert Handle(Services(client=client)).client is client


# What if

CROWDED = Status.unschedulable("crowded")


def test_a_plugin_can_ask_the_filters_of_its_profile() -> None:
    crowded = plugin(Filters, "Crowd", lambda cycle, pod, node: None if not node.pods else CROWDED)
    world, cycle = World(crowded), CycleState()
    handle, node = world.handle, world.node("n0")
    assert handle.run_filters(cycle, POD, node) is None
    assert handle.run_filters_with_nominated_pods(cycle, POD, node) is None
    world.services.nominations.add(make_pod("rival"), "n0")
    assert handle.run_filters(cycle, POD, node) is None
    assert handle.run_filters_with_nominated_pods(cycle, make_pod(), node) == CROWDED.by("Crowd")
    assert not node.pods


def test_a_plugin_can_ask_the_scores_of_its_profile() -> None:
    pre, scores = plugin(PreScores, "P"), plugin(Scores, "S", 7)
    world, cycle = World(pre, scores, weights={"S": 2}), CycleState()
    handle = world.handle
    assert handle.run_pre_score(cycle, POD, world.nodes) is None
    totals = handle.run_scores(cycle, POD, world.nodes)
    assert isinstance(totals, np.ndarray)
    assert totals.tolist() == [14, 14, 14]
    scores.script.answer = 700
    failed = handle.run_scores(cycle, POD, world.nodes)
    assert isinstance(failed, Status)
    assert "invalid score 700" in failed.message


def test_the_profile_cannot_be_asked_while_it_is_being_made() -> None:
    class Hasty(Filters):
        def __init__(self, args: Any, handle: Handle) -> None:
            super().__init__(args, handle)
            handle.run_filters(CycleState(), POD, NodeInfo(handle.state.table, "n"))

    with pytest.raises(RuntimeError, match="not available while they are being made"):
        World(Hasty)


# Listers


class Price(Object, kw_only=True):
    group = "example.com"
    version = "v1"
    resource = "prices"
    kind = "Price"

    cents: int = 0


@pytest.mark.parametrize(
    ("group", "version", "resource", "kind"),
    [("", "v1", "services", Service), ("", "v1", "nothings", None), ("apps", "v1", "services", None)],
)
def test_built_in_kinds_are_known(group: str, version: str, resource: str, kind: Any) -> None:
    assert known_kind(group, version, resource) is kind


def test_the_lister_of_a_built_in_kind_shows_what_the_state_has() -> None:
    handle = Handle(Services())
    lister = handle.lister("", "v1", "namespaces")
    handle.state.objects.of(Namespace).put(namespace := Namespace(metadata=_meta("blue")))
    assert lister.type is Namespace
    assert lister.get("blue") is namespace
    assert list(lister.list()) == [namespace]


def test_the_lister_of_a_custom_resource_with_a_type_of_its_own() -> None:
    handle = Handle(Services())
    lister = handle.lister("example.com", "v1", "prices", Price)
    price = Price(metadata=_meta("p", "ns"), cents=5)
    lister.put(price)
    assert lister.get("p", namespace="ns") is price
    assert list(lister.list(namespace="ns")) == list(lister.list()) == [price]
    assert list(lister.list(namespace="other")) == []
    assert lister.get("p", namespace="other") is None
    assert lister.name.event_resource == "prices.v1.example.com"
    assert handle.services.listers.of(price) is lister


def test_custom_resources_without_a_type_do_not_mix() -> None:
    handle = Handle(Services())
    prices = handle.lister("example.com", "v1", "prices")
    quotas = handle.lister("example.com", "v1", "quotas")
    prices.put(Object(metadata=_meta("p")))
    assert (len(prices.list()), len(quotas.list())) == (1, 0)
    assert handle.lister("example.com", "v1", "prices") is prices
    assert list(handle.services.listers) == [prices, quotas]
    assert handle.services.listers.of(Object()) is None


def test_the_lister_of_a_class_that_says_where_its_objects_live() -> None:
    handle = Handle(Services(), plugin_name="Prices")
    lister = handle.lister_of(Price)
    assert lister is handle.lister("example.com", "v1", "prices", Price)
    assert lister.requirements == []
    assert handle.lister_of(Price, sync_timeout=5).requirements == [("Prices", 5)]
    with pytest.raises(TypeError, match="does not say where its objects live"):
        handle.lister_of(Object)


def test_only_an_api_server_has_resources_to_write() -> None:
    client = MemoryClient(lambda pod: None)
    with pytest.raises(RuntimeError, match="this run keeps everything in memory"):
        Handle(Services(client=client)).resource_client(Price)
    http = PodWriter(HttpClient(ConnectionConfig("https://example.com")))
    assert Handle(Services(client=http)).resource_client(Price).resource.plural == "prices"


def test_a_lister_tells_of_every_change() -> None:
    seen: list[Any] = []
    lister = Handle(Services()).lister("example.com", "v1", "prices", Price)
    lister.on_change(
        added=lambda item: seen.append(("added", item.cents)),
        updated=lambda old, new: seen.append(("updated", old.cents, new.cents)),
        deleted=lambda item: seen.append(("deleted", item.cents)),
    )
    lister.on_change(added=lambda item: seen.append("once more"))
    lister.put(Price(metadata=_meta("p"), cents=1))
    lister.put(newer := Price(metadata=_meta("p"), cents=2))
    lister.remove(newer)
    assert seen == [("added", 1), "once more", ("updated", 1, 2), ("deleted", 2)]
    assert list(lister.list()) == []


@pytest.mark.parametrize("error", [ValueError("broken"), SystemExit("gone")])
def test_a_callback_that_fails_stops_nobody(error: BaseException, caplog: pytest.LogCaptureFixture) -> None:
    def broken(item: Price) -> None:
        raise error

    seen: list[Price] = []
    lister = Handle(Services()).lister("example.com", "v1", "prices", Price)
    lister.on_change(added=broken)
    lister.on_change(added=seen.append)
    lister.put(price := Price(metadata=_meta("p", "ns")))
    assert seen == [price]
    line = broken.__code__.co_firstlineno + 1
    said = f"{type(error).__name__}: {error} (test_handle.py:{line})"
    assert caplog.messages == [
        f"Plugin {broken.__qualname__} raised an exception at on_change",
        f"a plugin failed to take note of prices ns/p in {broken.__qualname__}: {said}",
    ]


def _meta(name: str, namespace: str = "") -> Any:
    return make_pod(name, namespace=namespace).metadata
