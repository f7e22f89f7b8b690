"""Any sequence of events leaves what there would be if it were built from scratch."""

from __future__ import annotations

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from moorage.api.nodes import Node
from moorage.api.pods import Pod
from moorage.state.cluster import AssumeError, ClusterState
from moorage.state.node_info import HostPort
from moorage.testing import make_pod
from tests.state.worlds import (
    NODE_NAMES,
    POD_NAMES,
    QUESTIONS,
    ask,
    described,
    is_compact,
    nodes,
    on,
    pods,
    remade,
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

    # Nodes

    def put_node(self, node: Node) -> None:
        known = self.nodes.get(node.name)
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
            self._leave_zone(name)
            self._forget_unheld_images()

    def _leave_zone(self, name: str) -> None:
        self.zones = [(key, [other for other in names if other != name]) for key, names in self.zones]
        self.zones = [(key, names) for key, names in self.zones if names]

    def _forget_unheld_images(self) -> None:
        held = {name for node in self.nodes.values() for image in node.status.images for name in image.names}
        self.sizes = {name: size for name, size in self.sizes.items() if name in held}

    def refresh(self) -> list[str]:
        if set(self.nodes) != set(self.order):
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
    def assumed_pods_are_counted(self) -> None:
        if hasattr(self, "state"):
            assumed = [uid for uid in self.model.pods if self.state.is_assumed(uid)]
            assert self.state.assumed_total == len(assumed)
            assert assumed == [uid for uid, known in self.model.pods.items() if known[2]]

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
