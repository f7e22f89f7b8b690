from __future__ import annotations

import json
import os
import re
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest

from moorage.cli.simulate import WORKLOADS
from moorage.what_if import workloads
from tests.cli.running import (
    MOORAGE,
    listed,
    node,
    on_terminal,
    pod,
    refused,
    run,
    run_alone,
    write,
    write_plugin,
)


def test_the_workloads_offered_are_those_there_are() -> None:
    assert tuple(workloads.WORKLOADS) == WORKLOADS


@pytest.mark.parametrize("workload", WORKLOADS)
def test_made_up_nodes_and_pods(workload: str) -> None:
    result = run("simulate", "--nodes", "9", "--pods", "30", "--workload", workload)
    assert (result.exit_code, result.stderr) == (0, "")
    first, *rest = result.stdout.splitlines()
    assert re.fullmatch(r"30 of 30 pods placed on 9 nodes in \d+\.\d\d s: \d+ pods per second", first)
    assert "  pods: 3.0% requested" in rest


def test_manifests_placements_and_utilisation(tmp_path: Path) -> None:
    cluster = write(tmp_path / "cluster.yaml", node("a"), node("b"), pod("running", "1", nodeName="a"))
    done = {**pod("done", "4", nodeName="a"), "status": {"phase": "Succeeded"}}
    pods = write(tmp_path / "pods" / "all.yaml", listed(pod("p", "3"), pod("q", "3", namespace="x"), done))
    result = run("simulate", cluster, pods.parent, "--show-placements")
    assert (result.exit_code, result.stderr) == (0, "")
    header, *placements, blank, summary = result.stdout.splitlines()[:5]
    assert (header.split(), blank) == (["POD", "NODE"], "")
    assert sorted(placements) == ["default/p  b", "x/q        a"]
    assert summary.startswith("2 of 2 pods placed on 2 nodes in ")
    assert result.stdout.splitlines()[5:] == [
        "  cpu: 87.5% requested",
        "  memory: 0.0% requested",
        "  pods: 15.0% requested",
    ]


def test_volumes_as_people_write_them(tmp_path: Path) -> None:
    """Without what only a cluster fills in: the phase of a volume, the mode of a class."""
    wanted = {"accessModes": ["ReadWriteOnce"], "storageClassName": "local"}
    kinds = {"apiVersion": "v1", "kind": "PersistentVolume"}
    volume = {**kinds, "metadata": {"name": "disk"}, "spec": {**wanted, "capacity": {"storage": "1Gi"}}}
    modes = {"local": {"volumeBindingMode": "WaitForFirstConsumer"}, "at-once": {}}
    classes = [
        {
            "apiVersion": "storage.k8s.io/v1",
            "kind": "StorageClass",
            "metadata": {"name": name},
            "provisioner": "kubernetes.io/no-provisioner",
            **mode,
        }
        for name, mode in modes.items()
    ]
    claims = [
        {
            "apiVersion": "v1",
            "kind": "PersistentVolumeClaim",
            "metadata": {"name": name},
            "spec": {**wanted, "storageClassName": of, "resources": {"requests": {"storage": "1Gi"}}},
        }
        for name, of in (("one", "local"), ("two", "at-once"))
    ]
    pods = [
        pod(name, volumes=[{"name": "v", "persistentVolumeClaim": {"claimName": name}}])
        for name in ("one", "two")
    ]
    file = write(tmp_path / "all.yaml", node("a"), volume, *classes, *claims, *pods)
    result = run("simulate", file, "--show-placements")
    assert (result.exit_code, result.stderr) == (3, "")
    assert "default/one  a" in result.stdout
    assert "default/two: 0/1 nodes are available: pod has unbound immediate" in result.stdout


def test_why_pods_stay_pending(tmp_path: Path) -> None:
    stale = {"conditions": [{"type": "PodScheduled", "status": "False", "message": "said by another"}]}
    deleting = pod("deleting")
    deleting["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    file = write(
        tmp_path / "all.yaml",
        node("a"),
        pod("fits"),
        pod("big-1", "64"),
        pod("big-2", "64"),
        pod("gated", schedulingGates=[{"name": "example.com/wait"}]),
        {**pod("other", schedulerName="other"), "status": stale},
        deleting,
        pod("bad", "lots"),
    )
    result = run("simulate", file)
    assert result.exit_code == 1, "a quantity could not be read"
    assert "1 of 7 pods placed on 1 nodes" in result.stdout
    lines = result.stdout.partition("6 pods stay pending:\n")[2].splitlines()
    assert lines[0].startswith("  default/big-1 and 1 more: 0/1 nodes are available: 1 Insufficient cpu.")
    assert lines[1:4] == [
        "  default/gated: waiting for scheduling gates: example.com/wait",
        "  default/other: no profile is called other",
        "  default/deleting: it is being deleted",
    ]
    assert "'lots' is not a quantity" in lines[4]


def test_failures_are_told_once_and_logged_only_on_demand(tmp_path: Path) -> None:
    file = write(tmp_path / "all.yaml", node("a"), pod("bad", "lots"), pod("worse", "more"))
    done = run_alone("simulate", file)
    assert (done.returncode, done.stderr) == (1, "")
    assert "2 pods stay pending" in done.stdout
    assert run_alone("simulate", file, "-v").stderr


def test_many_reasons_are_cut_short(tmp_path: Path) -> None:
    pods = [pod(f"p{i:02}", schedulerName=f"s{i}") for i in range(25)]
    result = run("simulate", write(tmp_path / "all.yaml", node("a"), *pods))
    *listed_reasons, last = result.stdout.partition("pending:\n")[2].splitlines()
    assert len(listed_reasons) == 20
    assert last == "  ... and 5 further reasons"


def test_a_gate_of_a_plugin(tmp_path: Path) -> None:
    text = "from moorage import *\n\nclass Shut(PreEnqueuePlugin):\n    def pre_enqueue(self, pod):\n"
    plugin = write_plugin(tmp_path / "shut.py", text + "        return Status.unschedulable('shut')\n")
    result = run("simulate", "--nodes", "1", "--pods", "2", "--plugin", plugin)
    expected = "  default/pod-000000 and 1 more: plugin Shut does not let it into the queue"
    assert expected in result.stdout.splitlines()


def test_a_configuration_and_its_plugin(tmp_path: Path) -> None:
    plugin = write_plugin(tmp_path / "quiet.py")
    config = tmp_path / "scheduler.yaml"
    config.write_text(
        "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
        "profiles: [{plugins: {filter: {enabled: [{name: Quiet}]}}}]\n"
    )
    file = write(tmp_path / "all.yaml", node("a", labels={"noisy": "true"}), pod("p"))
    result = run("simulate", file, "--config", config, "--plugin", plugin)
    assert (result.exit_code, result.stderr) == (3, "")
    assert "default/p: 0/1 nodes are available: 1 node is noisy." in result.stdout


def test_a_cluster_without_nodes(tmp_path: Path) -> None:
    result = run("simulate", "--pods", "1")
    assert result.exit_code == 3
    assert "default/pod-000000: no nodes available to schedule pods" in result.stdout


@pytest.mark.parametrize("args", [("--nodes", "3"), ("--nodes", "3", "--pods", "0")])
def test_nothing_to_do(args: tuple[str, ...]) -> None:
    line = refused(run("simulate", *args))
    assert line == "there is no pod to schedule; give some in the manifests or with --pods"


def test_only_nodes_and_running_pods(tmp_path: Path) -> None:
    file = write(tmp_path / "all.yaml", node("a"), pod("p", nodeName="a"))
    assert refused(run("simulate", file)).startswith("there is no pod to schedule; ")


def test_the_same_object_twice(tmp_path: Path) -> None:
    first = write(tmp_path / "first.yaml", node("a"), pod("p"))
    second = write(tmp_path / "second.yaml", pod("q"), pod("p"))
    line = refused(run("simulate", first, second))
    assert line == f"{second}: Pod default/p is given twice in {first}; leave one out or change it"
    both = write(tmp_path / "both.yaml", node("a"), node("a"))
    line = refused(run("simulate", both, "--pods", "1"))
    assert line == f"{both}: Node a is given twice; leave one out or change it"


def test_names_are_their_own_in_each_namespace_and_kind(tmp_path: Path) -> None:
    file = write(tmp_path / "all.yaml", node("p"), pod("p"), pod("p", namespace="other"))
    assert "2 of 2 pods placed" in run("simulate", file).stdout


def test_a_copied_uid_and_a_made_up_name(tmp_path: Path) -> None:
    pods = [pod("p"), pod("q")]
    for each in pods:
        each["metadata"]["uid"] = "1234"
    file = write(tmp_path / "copied.yaml", *pods)
    line = refused(run("simulate", file, "--nodes", "1"))
    assert line == f"{file}: Pod default/q has the uid of default/p; leave one out or change it"
    file = write(tmp_path / "same.yaml", pod("pod-000000"))
    line = refused(run("simulate", file, "--nodes", "1", "--pods", "1"))
    assert line.startswith(f"--pods: Pod default/pod-000000 is given twice in {file}; ")


def test_the_progress_bar_is_for_terminals_only() -> None:
    assert "Scheduling" in on_terminal("simulate", "--nodes", "2", "--pods", "120")
    assert run("simulate", "--nodes", "2", "--pods", "120").stderr == ""


WAITS = """
import os

from moorage import FilterPlugin, Status


class Waits(FilterPlugin):
    def filter(self, cycle, pod, node):
        if pod.name == "pod-000001":
            os.write(1, b"now\\n")
        return Status.unschedulable("never")
"""


def test_ctrl_c_ends_without_a_word(tmp_path: Path) -> None:
    """Even while no pod fits, when the loop of the scheduler never waits for anything."""
    plugin = write_plugin(tmp_path / "waits.py", WAITS)
    command = [MOORAGE, "simulate", "--nodes", "500", "--pods", "9000", "--plugin", str(plugin)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "now\n"
        os.kill(process.pid, signal.SIGINT)
        _, errors = process.communicate(timeout=60)
    assert (process.returncode, errors) == (130, "")


def as_json(*args: str | Path) -> tuple[int, dict[str, Any]]:
    result = run("simulate", *args, "-o", "json")
    found: dict[str, Any] = json.loads(result.stdout)
    return result.exit_code, found


def test_output_as_json(tmp_path: Path) -> None:
    file = write(tmp_path / "all.yaml", node("a"), pod("p", "2"), pod("big", "64"), pod("bad", "lots"))
    code, shown = as_json(file)
    assert code == 1
    assert list(shown) == [
        "nodes",
        "placed",
        "pending",
        "failedPlugins",
        "requested",
        "seconds",
        "podsPerSecond",
    ]
    assert (shown["nodes"], shown["placed"]) == (1, {"default/p": "a"})
    big, bad = shown["pending"]
    assert (big["pod"], big["error"], big["nominatedNode"]) == ("default/big", False, "")
    assert big["reason"].startswith("0/1 nodes are available: 1 Insufficient cpu.")
    assert (bad["pod"], bad["error"]) == ("default/bad", True)
    assert shown["failedPlugins"] == {"NodeResourcesFit": 1}
    assert shown["requested"] == {"cpu": 0.5, "memory": 0.0, "pods": 0.1}


def test_the_exit_code_says_whether_pods_stay_pending(tmp_path: Path) -> None:
    assert run("simulate", "--nodes", "1", "--pods", "1").exit_code == 0
    assert run("simulate", "--nodes", "0", "--pods", "1").exit_code == 3
    assert run_alone("simulate", "--nodes", "0", "--pods", "1").returncode == 3


FAILS_LATE = """
from moorage import PostBindPlugin


class Late(PostBindPlugin):
    def post_bind(self, cycle, pod, node_name):
        raise ValueError("too late")
"""


def test_a_plugin_that_fails_is_told_even_if_all_pods_are_placed(tmp_path: Path) -> None:
    plugin = write_plugin(tmp_path / "late.py", FAILS_LATE)
    result = run("simulate", "--nodes", "1", "--pods", "2", "--plugin", plugin)
    assert result.exit_code == 1
    assert "2 of 2 pods placed" in result.stdout
    assert result.stdout.splitlines()[-1] == "Plugin Late failed 2 times; -v shows how"


def test_chance_is_the_same_in_every_run_and_another_with_another_seed(tmp_path: Path) -> None:
    nodes = [node(f"n{i}") for i in range(30)]
    low = [pod(f"low{i}", "4", nodeName=f"n{i}", priority=0) for i in range(30)]
    file = write(tmp_path / "all.yaml", *nodes, *low, pod("high", "4", priority=10))

    def chosen(*args: str) -> str:
        (pending,) = as_json(file, *args)[1]["pending"]
        return str(pending["nominatedNode"])

    assert chosen() == chosen() == chosen("--seed", "0") != ""
    assert len({chosen("--seed", str(seed)) for seed in range(4)}) > 1


def test_equally_good_nodes_are_taken_as_the_scheduler_takes_them(tmp_path: Path) -> None:
    """It takes the first; a cluster of equals is no lottery, in a simulation as little as in the real one."""
    config = tmp_path / "scheduler.yaml"
    config.write_text(
        "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
        "profiles: [{plugins: {score: {disabled: [{name: '*'}], enabled: [{name: ImageLocality}]}}}]\n"
    )
    nodes = [node(name) for name in ("a", "b", "c")]
    file = write(tmp_path / "all.yaml", *nodes, *(pod(f"p{i}", "2") for i in range(6)))
    _, shown = as_json(file, "--config", config)
    assert list(shown["placed"].values()) == ["a", "a", "b", "b", "c", "c"]


BY_NAME = """
from moorage import QueueSortPlugin


class ByName(QueueSortPlugin):
    def sort_key(self, queued):
        return queued.pod.name
"""


def test_a_pod_that_is_placed_and_then_has_to_go(tmp_path: Path) -> None:
    plugin = write_plugin(tmp_path / "by_name.py", BY_NAME)
    low, high = pod("a-low", "4", priority=0), pod("b-high", "4", priority=10)
    file = write(tmp_path / "all.yaml", node("n"), low, high)
    code, shown = as_json(file, "--plugin", plugin)
    assert (code, shown["placed"]) == (3, {})
    gone, pending = shown["pending"]
    assert (gone["pod"], gone["reason"]) == ("default/a-low", "it had a node, and was preempted")
    assert (pending["pod"], pending["nominatedNode"]) == ("default/b-high", "n")
