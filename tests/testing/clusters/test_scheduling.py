"""Pods on a cluster in the process of the test."""

from __future__ import annotations

import asyncio
import logging
import threading
import traceback
from pathlib import Path

import msgspec
import pytest

from moorage import (
    CycleState,
    FilterPlugin,
    Handle,
    Node,
    NodeInfo,
    PermitPlugin,
    Pod,
    ScorePlugin,
    Status,
    Wait,
)
from moorage.config import ConfigError
from moorage.testing import Cluster, NotInTime, SchedulerError, Stuck, make_node, make_pod
from moorage.testing.clusters import parts

NOISY = {"noisy": "true"}


class QuietNodes(FilterPlugin, ScorePlugin):
    """Keeps pods off noisy nodes."""

    def filter(self, cycle: CycleState, pod: Pod, node: NodeInfo) -> Status | None:
        return Status.unschedulable("node is noisy") if node.labels.get("noisy") else None

    def score(self, cycle: CycleState, pod: Pod, node: NodeInfo) -> int:
        return 50


class Limit(msgspec.Struct):
    most: int = 1


class FewPods(FilterPlugin):
    args_type = Limit

    def filter(self, cycle: CycleState, pod: Pod, node: NodeInfo) -> Status | None:
        return None if len(node.pods) < self.args.most else Status.unschedulable("enough pods")


class Boom(FilterPlugin):
    def filter(self, cycle: CycleState, pod: Pod, node: NodeInfo) -> Status | None:
        zones: dict[str, str] = {}
        return Status.unschedulable(zones["zone"])


class Held(PermitPlugin):
    def permit(self, cycle: CycleState, pod: Pod, node_name: str) -> Wait:
        self.handle.recorder.event(pod, None, "Normal", "Held", "Scheduling", f"held for {node_name}")
        return Wait(600)


def test_a_pod_is_bound_and_its_events_are_told() -> None:
    with Cluster(QuietNodes, nodes=[make_node("a", labels=NOISY), make_node("b")]) as cluster:
        outcome = cluster.schedule(make_pod("web"))
        assert (outcome.node, outcome.message, outcome.reason) == ("b", "", "")
        assert [(each.reason, each.note) for each in outcome.events] == [
            ("Scheduled", "Successfully assigned default/web to b")
        ]
        assert repr(outcome) == "<Outcome default/web: bound to b>"
        assert cluster.get(outcome.pod).spec.node_name == "b"


def test_a_pod_that_fits_nowhere_says_why_and_is_bound_when_that_changes() -> None:
    with Cluster([QuietNodes], nodes=[make_node("a", labels=NOISY)]) as cluster:
        outcome = cluster.schedule(make_pod())
        assert (outcome.node, outcome.reason) == ("", "Unschedulable")
        assert outcome.message.startswith("0/1 nodes are available: 1 node is noisy.")
        assert {each.reason for each in outcome.events} == {"FailedScheduling"}
        assert cluster.wait_unschedulable("pod") == outcome.message
        cluster.patch(Node, {"metadata": {"labels": {"noisy": None}}}, "a")
        assert cluster.wait_bound(outcome.pod).spec.node_name == "a"


def test_a_gated_pod_is_not_waited_for() -> None:
    with Cluster(nodes=1) as cluster:
        outcome = cluster.schedule(make_pod(schedulingGates=[{"name": "example.com/later"}]))
        assert (outcome.node, outcome.reason, outcome.events) == ("", "SchedulingGated", [])


def test_a_pod_that_has_its_node_already() -> None:
    with Cluster(nodes=2) as cluster:
        outcome = cluster.schedule(make_pod(node="node-2", scheduler="nobody"))
        assert (outcome.node, outcome.events) == ("node-2", [])


def test_a_plugin_cannot_wait_for_its_own_cluster() -> None:
    class Curious(FilterPlugin):
        def filter(self, cycle: CycleState, pod: Pod, node: NodeInfo) -> Status | None:
            return Status.unschedulable(str(cluster.list(Node)))

    with Cluster(Curious, nodes=1) as cluster, pytest.raises(SchedulerError, match="is in its handle"):
        cluster.schedule(make_pod())


def test_plugins_get_their_args() -> None:
    with Cluster(FewPods, nodes=1, args={"most": 1}) as cluster:
        assert cluster.schedule(make_pod("first")).node == "node-1"
        assert "enough pods" in cluster.schedule(make_pod("second")).message
        assert isinstance(cluster.plugins["FewPods"], FewPods)
    both = {"FewPods": Limit(most=2)}
    with Cluster([FewPods, QuietNodes], nodes=1, args=both) as cluster:
        assert [cluster.schedule(make_pod(name)).node for name in ("a", "b", "c")] == ["node-1", "node-1", ""]
    with pytest.raises(TypeError, match="the plugins are FewPods, QuietNodes"):
        Cluster([FewPods, QuietNodes], args={"most": 1})


def test_a_configuration_decides_what_runs(tmp_path: Path) -> None:
    config = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [
            {
                "schedulerName": "quiet",
                "plugins": {"multiPoint": {"enabled": [{"name": "QuietNodes"}]}},
            }
        ],
    }
    file = tmp_path / "config.json"
    file.write_bytes(msgspec.json.encode(config))
    for given in (config, file, str(file)):
        with Cluster([QuietNodes], nodes=[make_node("a", labels=NOISY)], config=given) as cluster:
            assert "noisy" in cluster.schedule(make_pod(scheduler="quiet")).message
            with pytest.raises(ValueError, match=r"no profile is called 'default-scheduler'.* one of quiet"):
                cluster.schedule(make_pod("other"))
    with pytest.raises(TypeError, match="pluginConfig"):
        Cluster([QuietNodes], config=config, args={})


def test_plugins_of_a_file(tmp_path: Path) -> None:
    file = tmp_path / "shy.py"
    file.write_text(
        "from moorage import FilterPlugin, Status\n\n\n"
        "class Shy(FilterPlugin):\n"
        "    def filter(self, cycle, pod, node):\n"
        "        return Status.unschedulable('too shy')\n"
    )
    with Cluster([str(file)], nodes=1) as cluster:
        assert "too shy" in cluster.schedule(make_pod()).message


def test_what_a_plugin_raises_is_seen(caplog: pytest.LogCaptureFixture) -> None:
    with Cluster(Boom, nodes=1) as cluster:
        for name in ("first", "second"):
            with pytest.raises(SchedulerError, match=f"default/{name}: ") as caught:
                cluster.schedule(make_pod(name))
            assert str(caught.value).count("KeyError") == str(caught.value).count('"Boom"') == 1
            assert isinstance(caught.value.__cause__, KeyError)
            assert 'zones["zone"]' in "".join(traceback.format_exception(caught.value))
    assert any("Error scheduling pod" in record.message for record in caplog.records)


def test_an_error_that_a_plugin_answers_is_seen() -> None:
    class Broken(FilterPlugin):
        def filter(self, cycle: CycleState, pod: Pod, node: NodeInfo) -> Status | None:
            return Status.error("the price service is down")

    with (
        Cluster(Broken, nodes=1) as cluster,
        pytest.raises(SchedulerError, match="the price service is down"),
    ):
        cluster.schedule(make_pod())


def test_a_plugin_that_cannot_be_made_is_told_at_the_start() -> None:
    class Bad(FilterPlugin):
        def __init__(self, args: object, handle: Handle) -> None:
            raise ValueError("no such file")

        def filter(self, cycle: CycleState, pod: Pod, node: NodeInfo) -> Status | None:
            return None

    before = threading.active_count()
    with pytest.raises(ConfigError, match="no such file"), Cluster(Bad):
        pass
    assert threading.active_count() == before


def test_who_waits_in_vain_is_told_what_is_known() -> None:
    with Cluster([QuietNodes], nodes=[make_node("a", labels=NOISY)]) as cluster:
        pod = cluster.schedule(make_pod()).pod
        with pytest.raises(NotInTime) as caught:
            cluster.wait_bound(pod, timeout=0.05)
    first, *others = str(caught.value).splitlines()
    assert first == "Pod default/pod has no node after 0.05 s"
    assert any(
        line.startswith("condition PodScheduled=False (Unschedulable): 0/1 nodes are") for line in others
    )
    assert any(line.startswith("event FailedScheduling: 0/1 nodes are available") for line in others)


def test_a_pod_that_waits_at_permit_is_not_decided() -> None:
    with Cluster(Held, nodes=1) as cluster:
        pod = cluster.create(make_pod())
        assert cluster.wait_event("Held", pod).note == "held for node-1"
        with pytest.raises(NotInTime, match="Pod default/pod has no node after") as caught:
            cluster.wait_bound(pod, timeout=0.05)
        assert "it waits at Permit for Held" in str(caught.value)
        assert "event Held: held for node-1" in str(caught.value)
        [waiting] = cluster.plugins["Held"].handle.waiting_pods
        assert waiting.pod.name == "pod"


def test_a_call_that_does_not_return_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    released = threading.Event()

    class Stubborn(FilterPlugin):
        def filter(self, cycle: CycleState, pod: Pod, node: NodeInfo) -> Status | None:
            released.wait()
            return None

    cluster = Cluster(Stubborn, nodes=1).__enter__()
    with pytest.raises(NotInTime) as caught:
        cluster.schedule(make_pod(), timeout=0.05)
    assert "the scheduler is stuck in:" in str(caught.value)
    assert "in filter\n    released.wait()" in str(caught.value)
    with monkeypatch.context() as impatient, pytest.raises(Stuck, match=r"cannot be stopped(.|\n)*in filter"):
        impatient.setattr(parts, "STOP_SECONDS", 0.05)
        cluster.__exit__(None, None, None)
    released.set()
    cluster.__exit__(None, None, None)


def test_a_scheduler_that_gives_up_waiting_is_told() -> None:
    class NeedsGadgets(FilterPlugin):
        args_type = Limit

        def __init__(self, args: Limit, handle: Handle) -> None:
            super().__init__(args, handle)
            handle.lister("shop.example.com", "v1", "gadgets", sync_timeout=args.most)

        def filter(self, cycle: CycleState, pod: Pod, node: NodeInfo) -> Status | None:
            return None

    with (
        Cluster(NeedsGadgets, args={"most": 0}) as cluster,
        pytest.raises(NotInTime, match=r"the scheduler has ended: .*Gadgets"),
    ):
        cluster.schedule(make_pod(), timeout=0.3)
    with (
        Cluster(NeedsGadgets, args={"most": 60}) as cluster,
        pytest.raises(NotInTime, match="the scheduler waits for gadgets"),
    ):
        cluster.schedule(make_pod(), timeout=0.1)


def test_two_clusters_know_nothing_of_each_other() -> None:
    with Cluster(Boom, nodes=1) as broken, Cluster(nodes=2) as other:
        assert other.schedule(make_pod()).node
        with pytest.raises(SchedulerError):
            broken.schedule(make_pod())
        assert other.schedule(make_pod("another")).node
        assert len(other.list(Pod)) == 2


def test_it_works_beside_an_event_loop() -> None:
    async def main() -> list[str]:
        with Cluster(nodes=1) as cluster:
            ticks = 0

            async def tick() -> None:
                nonlocal ticks
                while True:
                    ticks += 1
                    await asyncio.sleep(0)

            ticking = asyncio.create_task(tick())
            first = cluster.schedule(make_pod("first"))
            second = await asyncio.to_thread(cluster.schedule, make_pod("second"))
            assert ticks
            ticking.cancel()
            return [first.node, second.node]

    assert asyncio.run(main()) == ["node-1", "node-1"]


def test_levels_of_logging_are_as_before() -> None:
    loggers = [logging.getLogger(name) for name in ("", "moorage", "moorage.framework.diagnosis")]
    before = [(each.level, list(each.handlers)) for each in loggers]
    with Cluster(nodes=0), Cluster(nodes=0):
        pass
    assert [(each.level, each.handlers) for each in loggers] == before
