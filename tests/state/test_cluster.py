from __future__ import annotations

import logging
import random
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from moorage.api.nodes import Node
from moorage.api.pods import Pod
from moorage.state.cluster import AssumeError, ClusterState
from moorage.state.node_info import HostPort
from moorage.testing import make_node, make_pod
from tests.state.worlds import (
    NODE_NAMES,
    POD_NAMES,
    QUESTIONS,
    Document,
    affinity,
    ask,
    described,
    is_compact,
    nodes,
    on,
    pods,
    remade,
    selects,
    term,
)

node_names, pod_names = st.sampled_from(NODE_NAMES), st.sampled_from(POD_NAMES)


class Model:
    """The cluster by the book: objects, and the few things that depend on the order of events."""

    def __init__(self) -> None:
        self.nodes: dict[str, Node] = {}
        self.pods: dict[str, tuple[Pod, str, bool]] = {}
        self.ports: dict[str, set[HostPort]] = {}
        self.sizes: dict[str, int] = {}
        self.zones: list[tuple[tuple[str, str], list[str]]] = []
        self.order: list[str] = []
        self.came_or_went = False

    # Nodes

    def put_node(self, node: Node) -> None:
        known = self.nodes.get(node.name)
        if known is None:
            self.came_or_went = True
        if known is None or zone(known) != zone(node):
            self._leave_zone(node.name)
            group = next((names for key, names in self.zones if key == zone(node)), None)
            if group is None:
                self.zones.append((zone(node), [node.name]))
            else:
                group.append(node.name)
        self.nodes.pop(node.name, None)
        self._forget_unheld_images()
        self.nodes[node.name] = node
        for image in node.status.images:
            for name in image.names:
                self.sizes.setdefault(name, image.size_bytes)

    def remove_node(self, name: str) -> None:
        if self.nodes.pop(name, None) is not None:
            self.came_or_went = True
            self._leave_zone(name)
            self._forget_unheld_images()

    def _leave_zone(self, name: str) -> None:
        self.zones = [(key, [other for other in names if other != name]) for key, names in self.zones]
        self.zones = [(key, names) for key, names in self.zones if names]

    def _forget_unheld_images(self) -> None:
        held = {name for node in self.nodes.values() for image in node.status.images for name in image.names}
        self.sizes = {name: size for name, size in self.sizes.items() if name in held}

    def refresh(self) -> list[str]:
        if self.came_or_went:
            self.came_or_went = False
            self.order = []
            for turn in range(max((len(names) for _, names in self.zones), default=0)):
                self.order += [names[turn] for _, names in self.zones if turn < len(names)]
        return self.order

    # Pods

    def put_pod(self, pod: Pod, node: str, assumed: bool) -> None:
        self.drop_pod(pod.uid)
        self.pods[pod.uid] = (pod, node, assumed)
        self.ports.setdefault(node, set()).update(pod.host_ports)

    def drop_pod(self, uid: str) -> None:
        known = self.pods.pop(uid, None)
        if known is not None:
            self.ports[known[1]] -= set(known[0].host_ports)

    def rebuilt(self) -> ClusterState:
        """A state that was told of nothing but what there is now."""
        state = ClusterState()
        for node in self.nodes.values():
            state.put_node(node)
        for pod, node_name, assumed in self.pods.values():
            if assumed:
                state.assume(pod, node_name)
            else:
                state.add_pod(pod)
        return state


def zone(node: Node) -> tuple[str, str]:
    """Region and zone, by hand: the older label wins if it is there, whatever it says."""
    found = []
    for part in ("region", "zone"):
        old, new = f"failure-domain.beta.kubernetes.io/{part}", f"topology.kubernetes.io/{part}"
        found.append(node.labels[old] if old in node.labels else node.labels.get(new, ""))
    return found[0], found[1]


class AnySequence(RuleBasedStateMachine):
    """Whatever happens, and in whatever order: what is kept equals what is built from scratch."""

    @initialize(live=st.booleans())
    def start(self, live: bool) -> None:
        self.state, self.model = ClusterState(), Model()
        if live:
            described(self.state)  # all columns, counts and usages live from the start

    # Nodes

    @rule(data=st.data(), name=node_names)
    def put_node(self, data: st.DataObject, name: str) -> None:
        node = data.draw(nodes(name))
        self.state.put_node(node)
        self.model.put_node(node)

    @rule(name=node_names)
    def remove_node(self, name: str) -> None:
        self.state.remove_node(name)
        self.model.remove_node(name)

    @rule()
    def refresh(self) -> None:
        self.state.table.refresh()
        assert self.state.nodes.names == self.model.refresh()

    # Pods

    @rule(data=st.data(), name=pod_names, node=node_names)
    def add_pod(self, data: st.DataObject, name: str, node: str) -> None:
        pod = on(data.draw(pods(name)), node)
        self.state.add_pod(pod)
        self.model.put_pod(pod, node, assumed=False)

    @rule(data=st.data(), name=pod_names, node=node_names)
    def assume(self, data: st.DataObject, name: str, node: str) -> None:
        pod = data.draw(pods(name))
        if name in self.model.pods:
            with pytest.raises(AssumeError, match="is in the cache, so can't be assumed"):
                self.state.assume(pod, node)
        else:
            assumed = self.state.assume(pod, node)
            assert (assumed.spec.node_name, pod.spec.node_name) == (node, "")
            self.model.put_pod(pod, node, assumed=True)

    @precondition(lambda self: self.model.pods)
    @rule(data=st.data())
    def confirm(self, data: st.DataObject) -> None:
        """The API server shows the pod where it is known to be; nothing else changed."""
        name = data.draw(st.sampled_from(sorted(self.model.pods)))
        known, node, _ = self.model.pods[name]
        pod = on(known, node)
        self.state.add_pod(pod)
        self.model.put_pod(pod, node, assumed=False)
        assert self.state.pod(name) is pod

    @precondition(lambda self: self.model.pods)
    @rule(data=st.data(), change=st.sampled_from(["terminate", "resize", "label", "priority"]))
    def update(self, data: st.DataObject, change: str) -> None:
        known = self.model.pods[data.draw(st.sampled_from(sorted(self.model.pods)))]
        document = {part: dict(value) for part, value in known[0].raw.items() if isinstance(value, dict)}
        if change == "terminate":
            document["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
        elif change == "resize":
            resized = {"name": "main", "resources": {"requests": {"cpu": "1500m"}}}
            document["status"]["containerStatuses"] = [resized]
        elif change == "label":
            document["metadata"]["labels"] = {"app": "c"}
        else:
            document["spec"]["priority"] = 7
        pod = remade(document, known[1])
        self.state.add_pod(pod)
        self.model.put_pod(pod, known[1], assumed=False)

    @rule(name=pod_names)
    def remove_pod(self, name: str) -> None:
        removed = self.state.remove_pod(name)
        assert (removed is not None) == (name in self.model.pods)
        self.model.drop_pod(name)

    @rule(name=pod_names)
    def forget(self, name: str) -> None:
        known = self.model.pods.get(name)
        if known is None:
            self.state.forget(make_pod(name, uid=name))
        elif known[2]:
            self.state.forget(on(known[0], known[1]))
            self.model.drop_pod(name)
        else:
            with pytest.raises(AssumeError, match="wasn't assumed so cannot be forgotten"):
                self.state.forget(on(known[0], known[1]))

    # Questions

    @rule(question=st.sampled_from(sorted(QUESTIONS)))
    def ask(self, question: str) -> None:
        ask(self.state, question)

    @precondition(lambda self: self.model.nodes)
    @rule(data=st.data())
    def what_if(self, data: st.DataObject) -> None:
        info = self.state.table.by_name[data.draw(st.sampled_from(sorted(self.model.nodes)))]
        before, order = described(self.state), [pod.uid for pod in info.pods]
        ports = set(info.used_ports)
        with self.state.what_if(info) as trial:
            for step in range(data.draw(st.integers(0, 5))):
                present = list(info.pod_infos)
                if data.draw(st.booleans()) and present:
                    trial.remove(data.draw(st.sampled_from(present)))
                else:
                    other = data.draw(pods(f"trial-{step}"))
                    trial.add(self.state.pod_info(other))
            assert self.state.table.pod_count[info.row] == len(info.pods)
        assert described(self.state) == before
        assert [pod.uid for pod in info.pods] == order
        assert info.used_ports == ports

    # What must hold at all times

    @invariant()
    def everything_is_as_if_built_from_scratch(self) -> None:
        if not hasattr(self, "state"):
            return
        kept, fresh = described(self.state), described(self.model.rebuilt())
        for part in fresh:
            assert kept[part] == fresh[part], part

    @invariant()
    def rows_are_compact(self) -> None:
        assert not hasattr(self, "state") or is_compact(self.state)

    @invariant()
    def ports_are_those_taken_and_not_freed(self) -> None:
        if not hasattr(self, "state"):
            return
        for name in self.model.nodes:
            info = self.state.table.by_name[name]
            assert info.used_ports == self.model.ports.get(name, set())
            for triple in info.used_ports:
                columns = self.state.ports.conflicting([triple])
                assert any(column[info.row] for column in columns)
        taken = [triple for name in self.model.nodes for triple in self.model.ports.get(name, ())]
        assert self.state.ports._nodes == {triple: taken.count(triple) for triple in taken}

    @invariant()
    def images_are_those_of_the_nodes(self) -> None:
        if not hasattr(self, "state"):
            return
        known = self.state.table.images
        assert {name: known._states[name].size for name in known._states} == self.model.sizes
        for name in self.model.sizes:
            held = known.find(name)
            assert held is not None
            assert {info.name for info in held.nodes} == {
                node.name
                for node in self.model.nodes.values()
                if any(name in image.names for image in node.status.images)
            }


TestAnySequence = AnySequence.TestCase
TestAnySequence.settings = settings(max_examples=80, stateful_step_count=30, deadline=None)


# What stays when everything is gone


def sizes(state: ClusterState) -> dict[str, int]:
    """How many entries there are in everything that could grow."""
    table, counts = state.table, state.counts
    return {
        "rows": len(table),
        "names": len(table.by_name),
        "problems": len(table.problems),
        "remembered allocatable": len(table._allocatable),
        "zones": len(table._order._zones) + len(table._order._zone_of),
        "images": len(table.images),
        "allocatable": len(table.allocatable.names()),
        "requested": len(table.requested.names()),
        "nonzero": len(table.nonzero_requested.names()),
        "ports": len(state.ports._by_port) + len(state.ports._nodes),
        "classes": len(counts) + len(counts._classes),
        "terms": sum(len(known.holders) + len(known._buckets) for known in counts.terms._lists),
        "usages": len(state.priorities._usages or {}),
        "ghosts": state.ghost_count,
        "placements": state.pod_total,
        "taint codes held": len(table.taint_sets._codes),
        "label values held": sum(len(label.codes._codes) for label in table._labels),
    }


def test_nothing_grows_while_nodes_and_pods_come_and_go() -> None:
    """Names, labels, resources, priorities, ports and terms that are never used twice leave no trace."""
    state, chance = ClusterState(), random.Random(7)
    described(state)
    empty = sizes(state)
    columns = len(list(state.table.columns))
    known_nodes: list[str] = []
    known_pods: list[str] = []
    for turn in range(2000):
        if len(known_nodes) < 10 or chance.random() < 0.2:
            name = f"node-{turn}"
            state.put_node(
                make_node(
                    name,
                    labels={"topology.kubernetes.io/zone": f"zone-{turn}", "tier": f"tier-{turn}"},
                    taints=[f"taint-{turn}:NoSchedule"],
                    images={f"image-{turn}": turn},
                    allocatable={f"example.com/r{turn}": 1},
                )
            )
            known_nodes.append(name)
        place = chance.choice([*known_nodes, f"ghost-{turn % 5}"])
        anti = affinity(far=[term("kubernetes.io/hostname", selects({"app": f"app-{turn}"}))])
        containers = [
            {
                "name": "main",
                "ports": [{"hostPort": 1 + turn}],
                "resources": {"requests": {f"example.com/r{turn}": 1}},
            }
        ]
        state.add_pod(
            make_pod(
                f"pod-{turn}",
                node=place,
                labels={"app": f"app-{turn}"},
                priority=turn,
                affinity=anti,
                containers=containers,
            )
        )
        known_pods.append(f"pod-default-pod-{turn}")
        while len(known_pods) > 20:
            state.remove_pod(known_pods.pop(chance.randrange(len(known_pods))))
        while len(known_nodes) > 12:
            state.remove_node(known_nodes.pop(chance.randrange(len(known_nodes))))
        state.table.refresh()
    assert all(size < 200 for size in sizes(state).values()), sizes(state)
    for uid in known_pods:
        state.remove_pod(uid)
    for name in known_nodes:
        state.remove_node(name)
    assert sizes(state) == empty
    assert len(list(state.table.columns)) <= columns
    assert all(len(label.codes) < 64 for label in state.table._labels), "codes are used again"
    assert len(state.table.taint_sets) < 64


# Assuming


def test_an_assumed_pod_counts_at_once_and_is_confirmed_by_the_watch() -> None:
    state = ClusterState()
    state.put_node(make_node("n", cpu="4"))
    assumed = state.assume(make_pod("p", cpu="1"), "n")
    info = state.table.by_name["n"]
    assert (info.requested["cpu"], state.is_assumed(assumed.uid)) == (1000, True)
    watched = make_pod("p", cpu="1", node="n")
    state.add_pod(watched)
    assert (info.requested["cpu"], state.is_assumed(assumed.uid)) == (1000, False)
    assert state.pod(watched.uid) is watched
    assert list(info.pods) == [watched]


def test_the_watched_node_wins_over_the_assumed_one(caplog: pytest.LogCaptureFixture) -> None:
    state = ClusterState()
    for name in ("a", "b"):
        state.put_node(make_node(name))
    pod = state.assume(make_pod("p", cpu="1"), "a")
    with caplog.at_level(logging.WARNING):
        state.add_pod(make_pod("p", cpu="1", node="b"))
    assert "was assumed on node a and is on b" in caplog.text
    assert [len(info.pods) for info in state.table] == [0, 1]
    assert not state.is_assumed(pod.uid)


def test_what_cannot_be_assumed_or_forgotten() -> None:
    state = ClusterState()
    for name in ("a", "b"):
        state.put_node(make_node(name))
    pod = make_pod("p", uid="u")
    state.forget(pod)  # unknown: nothing happens
    state.assume(pod, "a")
    with pytest.raises(AssumeError, match=r"^pod u\(default/p\) is in the cache, so can't be assumed$"):
        state.assume(pod, "b")
    with pytest.raises(AssumeError, match=r"^pod u\(default/p\) was assumed on b but assigned to a$"):
        state.forget(make_pod("p", uid="u", node="b"))
    state.add_pod(make_pod("p", uid="u", node="a"))
    with pytest.raises(AssumeError, match=r"^pod u\(default/p\) wasn't assumed so cannot be forgotten$"):
        state.forget(make_pod("p", uid="u", node="a"))
    nameless = make_pod("q")
    nameless.metadata.uid = ""
    with pytest.raises(AssumeError, match="has no uid"):
        state.assume(nameless, "a")


def test_pods_without_a_uid_are_left_out(caplog: pytest.LogCaptureFixture) -> None:
    """The key of a pod is its uid: two pods without one would stand for each other."""
    state = ClusterState()
    state.put_node(make_node("n"))
    for name in ("p", "q"):
        pod = make_pod(name, node="n")
        pod.metadata.uid = ""
        state.add_pod(pod)
    assert state.pod_total == 0
    assert "pod default/p has no uid and is left out" in caplog.text


@pytest.mark.parametrize(
    "change",
    [
        {"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}},
        {"labels": {"app": "b"}},
        {"priority": 7},
        {"cpu": "2"},
        {"status": {"containerStatuses": [{"name": "main", "resources": {"requests": {"cpu": "3"}}}]}},
        {"resources": {"requests": {"cpu": "5"}}},
        {"overhead": {"cpu": "1"}},
        {"affinity": affinity(far=[term("kubernetes.io/hostname", selects({"app": "a"}))])},
        {"status": {"phase": "Running", "startTime": "2026-01-01T00:00:00Z"}},
    ],
)
def test_an_update_leaves_what_the_new_version_alone_would(change: Document) -> None:
    before: Document = {"node": "n", "cpu": "1", "labels": {"app": "a"}}
    updated, fresh = ClusterState(), ClusterState()
    for state in (updated, fresh):
        state.put_node(make_node("n"))
    described(updated)
    updated.add_pod(make_pod("p", **before))
    newer = make_pod("p", **{**before, **change})
    updated.add_pod(newer)
    fresh.add_pod(newer)
    assert described(updated) == described(fresh)
    assert updated.pod(newer.uid) is newer


# Ghosts


def test_a_ghost_is_seen_by_nobody_and_vanishes_with_its_last_pod() -> None:
    state = ClusterState()
    state.add_pod(make_pod("p", node="gone", cpu="1"))
    assert (state.ghost_count, len(state.nodes), state.node("gone")) == (1, 0, None)
    assert ask(state, "affinity") == {}
    state.remove_pod("pod-default-p")
    assert state.ghost_count == 0


def test_a_node_that_comes_back_has_its_pods_again() -> None:
    state = ClusterState()
    state.put_node(make_node("n"))
    state.add_pod(make_pod("p", node="n", cpu="1", labels={"app": "a"}))
    state.remove_node("n")
    assert (state.ghost_count, len(state.nodes)) == (1, 0)
    state.add_pod(make_pod("q", node="n", cpu="2", labels={"app": "a"}))
    state.put_node(make_node("n"))
    info = state.table.by_name["n"]
    assert (info.requested["cpu"], len(info.pods), state.ghost_count) == (3000, 2, 0)
    assert ask(state, "affinity") == {"n": 2}


# Host ports are a set, not a number of holders


def with_port(name: str, port: int = 80, **rest: Any) -> Pod:
    return make_pod(name, node="n", containers=[{"name": "c", "ports": [{"hostPort": port}]}], **rest)


def two_on_one_port() -> ClusterState:
    state = ClusterState()
    state.put_node(make_node("n"))
    for name in ("p", "q"):
        state.add_pod(with_port(name))
    return state


def port_is_taken(state: ClusterState) -> bool:
    taken = state.ports.conflicting([("0.0.0.0", "TCP", 80)])
    row = state.table.by_name["n"].row
    assert any(column[row] for column in taken) == bool(state.table.by_name["n"].used_ports)
    return bool(taken)


def test_removing_one_of_two_holders_frees_the_port() -> None:
    state = two_on_one_port()
    state.remove_pod("pod-default-p")
    assert not port_is_taken(state)


def test_any_update_of_the_holder_that_is_left_takes_the_port_again() -> None:
    state = two_on_one_port()
    state.remove_pod("pod-default-p")
    state.add_pod(with_port("q", status={"phase": "Running"}))
    assert port_is_taken(state)


def test_ports_stay_as_they_are_while_a_node_is_gone() -> None:
    state = two_on_one_port()
    state.remove_pod("pod-default-p")
    state.remove_node("n")
    state.put_node(make_node("n"))
    assert not port_is_taken(state)
    state.add_pod(with_port("r"))
    state.remove_node("n")
    state.put_node(make_node("n"))
    assert port_is_taken(state)


def test_what_if_undoes_the_ports_of_two_holders() -> None:
    state = two_on_one_port()
    info = state.table.by_name["n"]
    first, second = info.pod_infos
    with state.what_if(info) as trial:
        trial.remove(first)
        assert not port_is_taken(state)
        trial.add(first)
        trial.remove(second)
        assert not port_is_taken(state)
        trial.add(state.pod_info(with_port("r", 81)))
        assert info.used_ports == {("0.0.0.0", "TCP", 81)}
    assert port_is_taken(state)
    assert state.ports._nodes == {("0.0.0.0", "TCP", 80): 1}
    state.remove_pod("pod-default-p")
    with state.what_if(info) as trial:
        trial.remove(second)
        trial.add(second)
        assert port_is_taken(state)
    assert not port_is_taken(state), "as it was, although a holder came back meanwhile"


def test_what_if_keeps_the_order_of_the_pods_even_if_something_raises() -> None:
    """The order of pods decides among victims that nothing else tells apart."""
    state = ClusterState()
    state.put_node(make_node("n"))
    for name in "abc":
        state.add_pod(make_pod(name, node="n", cpu="1"))
    info = state.table.by_name["n"]
    with pytest.raises(ZeroDivisionError), state.what_if(info) as trial:
        for pod_info in list(info.pod_infos):
            trial.remove(pod_info)
        assert not info.pods and not info.requested
        raise ZeroDivisionError
    assert [pod.name for pod in info.pods] == ["a", "b", "c"]
    assert [pod_info.pod.name for pod_info in info.pod_infos] == ["a", "b", "c"]
    assert info.requested["cpu"] == 3000


def test_what_if_inside_what_if() -> None:
    state = ClusterState()
    state.put_node(make_node("n"))
    state.add_pod(make_pod("a", node="n", cpu="1"))
    info = state.table.by_name["n"]
    (only,) = info.pod_infos
    with state.what_if(info) as outer:
        outer.remove(only)
        with state.what_if(info) as inner:
            inner.add(state.pod_info(make_pod("b", cpu="2")))
            assert info.requested["cpu"] == 2000
        assert (info.requested, list(info.pods)) == ({}, [])
    assert info.requested["cpu"] == 1000


# Bad objects


@pytest.mark.parametrize(
    ("allocatable", "usable"),
    [
        ({"cpu": "lots"}, False),
        ({"cpu": ""}, False),
        ({"memory": "1e"}, False),
        ({"example.com/x": "1K"}, False),
        ({"cpu": "-1"}, True),
        ({"memory": "100E"}, True),
        ({"memory": 10**30}, True),
        ({}, True),
    ],
)
def test_a_nodes_allocatable(allocatable: Document, usable: bool) -> None:
    state = ClusterState()
    node = make_node("n")
    node.status.allocatable = allocatable
    state.put_node(node)
    state.add_pod(make_pod("p", node="n", cpu="1"))
    problem = state.table.problems.get("n")
    assert (problem is None) == usable
    if problem is not None:
        assert problem.startswith("node(s) had an invalid allocatable: '")
        assert "is not a quantity" in problem
        assert state.table.by_name["n"].allocatable == {}
    state.put_node(make_node("n"))
    assert not state.table.problems


@pytest.mark.parametrize(
    "requests",
    [{"cpu": "x"}, {"memory": "1 Gi"}, {"example.com/x": "NaN"}, {"cpu": ""}, {"cpu": float("inf")}],
)
def test_a_pod_with_a_bad_request_counts_as_asking_for_nothing(
    requests: Document, caplog: pytest.LogCaptureFixture
) -> None:
    state = ClusterState()
    state.put_node(make_node("n"))
    state.add_pod(make_pod("p", node="n", requests=requests))
    info = state.table.by_name["n"]
    assert (info.requested, info.nonzero_requested, len(info.pods)) == ({}, {}, 1)
    assert "pod default/p has an invalid request and counts as asking for nothing" in caplog.text
    state.remove_pod("pod-default-p")
    assert is_compact(state)


def test_amounts_beyond_64_bits_wrap_around_and_come_back() -> None:
    """As the 64-bit sums of the original do; nothing is raised and removal undoes it."""
    state = ClusterState()
    state.put_node(make_node("n"))
    largest = 2**63 - 1
    for name in "abc":
        state.add_pod(make_pod(name, node="n", memory="100E", cpu=10**40))
    info = state.table.by_name["n"]
    assert info.requested == {"memory": largest - 2, "cpu": largest - 2}
    assert state.priorities.pods_below(1).tolist() == [3]
    state.add_pod(make_pod("d", node="n", memory="100E"))
    state.remove_pod("pod-default-a")
    with state.priorities.gone_below(1):
        assert info.requested == {}
    for name in "bcd":
        state.remove_pod(f"pod-default-{name}")
    assert (info.requested, info.nonzero_requested) == ({}, {})


def test_objects_with_almost_nothing_in_them() -> None:
    state = ClusterState()
    state.put_node(Node())
    bare = Pod()
    bare.metadata.uid = "u"
    state.add_pod(bare)
    state.remove_node("nobody")
    assert state.remove_pod("nobody") is None
    state.table.refresh()
    assert is_compact(state)
    assert len(state.nodes) == 1
    assert state.pod("u") is bare
    state.remove_node("")
    state.put_node(Node())
    state.remove_pod("u")
    assert state.pod_total == 0
