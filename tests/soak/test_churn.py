"""Nodes and pods that come, change and go for a long time: nothing is lost, broken or kept."""

from __future__ import annotations

import asyncio
import random
from typing import Any

import pytest

from moorage.api.nodes import Node
from moorage.api.pods import Pod
from moorage.framework.runtime.profile import Profile
from moorage.plugins.catalog import in_tree_registry
from moorage.scheduler.cycle import Decision
from moorage.scheduler.profiles import default_configuration
from moorage.state.cluster import ClusterState
from moorage.testing import make_node, make_pod
from moorage.what_if.simulation import Simulation
from tests.soak.rules import Cluster, Placed, objection
from tests.state.worlds import described, is_compact

Document = dict[str, Any]

ZONE, HOST = "topology.kubernetes.io/zone", "kubernetes.io/hostname"
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
APPS = ("a", "b", "c", "d")
MOST_NODES = 14
MOST_COLUMNS = 900


class Churn:
    def __init__(self, seed: int) -> None:
        self.draw = random.Random(seed)
        registry = in_tree_registry()
        self.simulation = Simulation(default_configuration(registry), registry)
        self.scheduler = self.simulation.scheduler
        self.nodes: dict[str, Node] = {}
        self.number = self.placed = self.rejected = 0
        self.wrong: list[str] = []
        self._watch()

    @property
    def state(self) -> ClusterState:
        return self.scheduler.state

    @property
    def pods(self) -> dict[str, Pod]:
        return self.simulation.client.pods

    # Every decision is checked when it is made; the scheduler would survive an assertion that fails there

    def _watch(self) -> None:
        assume, decide = self.state.assume, self.scheduler.chooser.decide

        def checked_assume(pod: Pod, node_name: str) -> Pod:
            said = objection(self.cluster(), pod, node_name)
            if said:
                self.wrong.append(f"{pod.key} on {node_name}: {said}")
            self.placed += 1
            return assume(pod, node_name)

        def checked_decide(profile: Profile, pod: Pod) -> Decision:
            decision = decide(profile, pod)
            if decision.failure is not None:
                message = decision.failure.message
                if not decision.failure.is_rejection:
                    self.wrong.append(f"{pod.key}: {message}")
                if not self.scheduler.services.nominations.rivals(pod):
                    cluster = self.cluster()
                    fits = [name for name in self.nodes if not objection(cluster, pod, name)]
                    if fits:
                        self.wrong.append(f"{pod.key} fits {fits}: {message}")
                self.rejected += 1
            return decision

        self.state.assume = checked_assume  # type: ignore[method-assign]
        self.scheduler.chooser.decide = checked_decide  # type: ignore[method-assign]

    def cluster(self) -> Cluster:
        """What there is now: the API's objects, and the pods that were just assumed."""
        pods = [
            Placed(pod, self.nodes[pod.spec.node_name])
            for pod in self.state.pods
            if pod.spec.node_name in self.nodes
        ]
        return Cluster(self.nodes, pods)

    # What happens

    async def run(self, rounds: int) -> None:
        for _ in range(rounds):
            for _ in range(self.draw.randrange(6)):
                self.draw.choice((self.add_node, self.change_node, self.change_node, self.remove_node))()
            for _ in range(self.draw.randrange(12)):
                self.draw.choice((self.delete_pod, self.finish_pod, self.relabel_pod, self.terminate_pod))()
            for _ in range(self.draw.randrange(16)):
                self.add_pod()
            self.simulation._now += self.draw.choice((0.0, 1.0, 20.0, 400.0))
            self.scheduler.queue.flush_backoff()
            self.scheduler.queue.flush_unschedulable()
            await self.scheduler.drain()
            self.check()

    def make_node(self, name: str) -> Node:
        draw = self.draw
        labels = {} if draw.random() < 0.1 else {ZONE: draw.choice(("z1", "z2", "z3"))}
        if draw.random() < 0.5:
            labels["disk"] = draw.choice(("ssd", "hdd"))
        taints = draw.choice(((), (), (), ("dedicated=x:NoSchedule",), ("soft=x:PreferNoSchedule",)))
        return make_node(
            name,
            cpu=draw.choice((2, 4, 8)),
            memory=draw.choice(("4Gi", "8Gi")),
            pods=draw.choice((3, 10, 110)),
            labels=labels,
            taints=taints,
            unschedulable=draw.random() < 0.1,
            images={f"app:{draw.randrange(5)}": 300_000_000},
            allocatable={"example.com/gpu": 2} if draw.random() < 0.3 else {},
        )

    def add_node(self) -> None:
        name = f"n{self.draw.randrange(MOST_NODES)}"
        if name not in self.nodes:
            self.nodes[name] = self.make_node(name)
            self.simulation.add(self.nodes[name])

    def change_node(self) -> None:
        if self.nodes:
            name = self.draw.choice(list(self.nodes))
            self.nodes[name] = self.make_node(name)
            self.scheduler.door.put(self.nodes[name])

    def remove_node(self) -> None:
        """Its pods go at once, or stay for a while without a node, as they do in a cluster."""
        if len(self.nodes) < 4:
            return
        name = self.draw.choice(list(self.nodes))
        if self.draw.random() < 0.5:
            for pod in [pod for pod in self.pods.values() if pod.spec.node_name == name]:
                self._delete(pod)
        self.scheduler.door.remove(self.nodes.pop(name))

    def add_pod(self) -> None:
        draw = self.draw
        self.number += 1
        labels = {"app": draw.choice(APPS), "number": str(self.number % 7)}
        own = {"matchLabels": {"app": labels["app"]}}
        other = {"matchLabels": {"app": draw.choice(APPS)}}
        term = {"topologyKey": draw.choice((ZONE, HOST)), "labelSelector": draw.choice((own, other))}
        weighted = [{"weight": draw.randrange(1, 101), "podAffinityTerm": term}]
        spread = {
            "maxSkew": draw.choice((1, 2)),
            "topologyKey": draw.choice((ZONE, HOST)),
            "labelSelector": own,
        }
        wishes: list[Document] = [
            {},
            {},
            {"affinity": {"podAntiAffinity": {REQUIRED: [term]}}},
            {"affinity": {"podAffinity": {REQUIRED: [term]}}},
            {"affinity": {"podAffinity": {PREFERRED: weighted}, "podAntiAffinity": {PREFERRED: weighted}}},
            {"topologySpreadConstraints": [{**spread, "whenUnsatisfiable": "DoNotSchedule"}]},
            {"topologySpreadConstraints": [{**spread, "whenUnsatisfiable": "ScheduleAnyway"}]},
            {
                "topologySpreadConstraints": [
                    {**spread, "topologyKey": key, "whenUnsatisfiable": "DoNotSchedule"}
                    for key in (ZONE, HOST)
                ]
            },
        ]
        spec = dict(draw.choice(wishes))
        if draw.random() < 0.2:
            spec["nodeSelector"] = {"disk": "ssd"}
        if draw.random() < 0.3:
            spec["tolerations"] = [{"key": "dedicated", "operator": "Exists"}]
        requests = {"example.com/gpu": 1} if draw.random() < 0.1 else {}
        container: Document = {
            "name": "main",
            "image": f"app:{draw.randrange(5)}",
            "resources": {
                "requests": {"cpu": f"{draw.randrange(100, 2000)}m", "memory": "200Mi", **requests},
            },
        }
        if draw.random() < 0.15:
            container["ports"] = [{"hostPort": draw.choice((80, 81))}]
        pod = make_pod(
            f"p{self.number}",
            labels=labels,
            priority=draw.choice((None, 0, 10, 100)),
            containers=[container],
            **spec,
        )
        self.simulation.add(pod)

    def delete_pod(self) -> None:
        if self.pods:
            self._delete(self.draw.choice(list(self.pods.values())))

    def _delete(self, pod: Pod) -> None:
        self.pods.pop(pod.key)
        self.scheduler.door.remove(pod)

    def finish_pod(self) -> None:
        old = self._running()
        if old is not None:
            self._update(old, status={"phase": self.draw.choice(("Succeeded", "Failed"))})
            self.pods.pop(old.key)

    def terminate_pod(self) -> None:
        old = self._running()
        if old is not None:
            self._update(old, metadata={"deletionTimestamp": "2026-01-01T00:00:00Z"})

    def relabel_pod(self) -> None:
        if self.pods:
            old = self.draw.choice(list(self.pods.values()))
            self._update(old, labels={**old.labels, "app": self.draw.choice(APPS)})

    def _running(self) -> Pod | None:
        running = [pod for pod in self.pods.values() if pod.spec.node_name]
        return self.draw.choice(running) if running else None

    def _update(self, old: Pod, **changes: Any) -> None:
        """A new version of a pod, as a watch would bring it."""
        document = original(old)
        new = make_pod(
            old.name,
            labels=changes.get("labels", old.labels),
            priority=old.spec.priority,
            node=old.spec.node_name,
            metadata={
                **({"deletionTimestamp": old.metadata.deletion_timestamp} if old.deleting else {}),
                **changes.get("metadata", {}),
            },
            status=changes.get("status", {"nominatedNodeName": old.status.nominated_node_name}),
            **{key: value for key, value in document["spec"].items() if key not in ("nodeName", "priority")},
        )
        self.simulation.client.add(new)
        self.scheduler.door.put(new)

    # What must be so after every round

    def check(self) -> None:
        assert not self.wrong
        self.check_places()
        self.check_state()
        self.check_sizes()

    def check_places(self) -> None:
        """Every pod is in exactly one place."""
        queue = self.scheduler.queue
        assert len(queue._in_flight) == 0
        assert queue._in_flight.event_count == 0
        waiting = [queued.pod.key for place in queue.pending() for queued in place]
        assert len(waiting) == len(set(waiting))
        assert set(waiting) == {key for key, pod in self.pods.items() if not pod.spec.node_name}
        placed = {pod.key: pod.spec.node_name for pod in self.state.pods}
        assert placed == {key: pod.spec.node_name for key, pod in self.pods.items() if pod.spec.node_name}
        assert not any(self.state.is_assumed(pod.uid) for pod in self.pods.values())

    def check_state(self) -> None:
        """What is kept up to date equals what is built from scratch."""
        assert is_compact(self.state)
        fresh = ClusterState()
        for node in self.nodes.values():
            fresh.put_node(node)
        for pod in self.pods.values():
            if pod.spec.node_name:
                fresh.add_pod(pod)
        assert described(self.state) == described(fresh)
        for key, count in list(self.state.counts._counts._items.items()):
            column = fresh.counts.count(key, count.weigh, namespace=count.namespace, anchor=count.anchor)
            kept = {info.name: count.column[info.row] for info in self.state.table}
            assert kept == {info.name: column[info.row] for info in fresh.table}, key
        for info in self.state.table:
            assert info.used_ports == {port for pod in info.pods for port in pod.host_ports}

    def check_sizes(self) -> None:
        """Nothing grows beyond what there is."""
        state, table = self.state, self.state.table
        waiting = sum(not pod.spec.node_name for pod in self.pods.values())
        assert self.scheduler.door._pods.keys() == self.pods.keys()
        assert len(self.scheduler.services.nominations) <= waiting
        assert len(self.scheduler.services.waiting_pods) == 0
        assert not self.scheduler._binding.under_way
        assert state.ghost_count <= MOST_NODES
        assert len(state.counts) <= state.pod_total
        assert len(list(table.columns)) < MOST_COLUMNS
        assert all(len(label.codes) <= MOST_NODES + 2 for label in table._labels)
        assert len(table.taint_sets) <= MOST_NODES + 2


def original(pod: Pod) -> Document:
    """The document a pod was made of; binding and conditions leave it as it was."""
    return pod.raw


@pytest.mark.soak
def test_a_cluster_that_never_rests(soak: bool) -> None:
    placed = rejected = 0
    for seed in range(20 if soak else 3):
        churn = Churn(seed)
        asyncio.run(churn.run(100 if soak else 25))
        placed, rejected = placed + churn.placed, rejected + churn.rejected
    assert placed > 200
    assert rejected > 100
