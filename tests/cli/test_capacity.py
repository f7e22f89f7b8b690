"""`moorage capacity` as people type it."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.cli.running import MOORAGE, environment, node, on_terminal, pod, refused, run, write, write_plugin

Document = dict[str, Any]


def owned(name: str, on: str, cpu: str = "1", **spec: Any) -> Document:
    document = pod(name, cpu, nodeName=on, **spec)
    owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web", "uid": "web", "controller": True}
    document["metadata"] |= {"labels": {"app": "web"}, "ownerReferences": [owner]}
    return document


def budget(**spec: Any) -> Document:
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": "web"},
        "spec": {"selector": {"matchLabels": {"app": "web"}}, **spec},
    }


@pytest.fixture
def cluster(tmp_path: Path) -> Path:
    tainted = node("gpu", spec={"taints": [{"key": "gpu", "value": "yes", "effect": "NoSchedule"}]})
    return write(
        tmp_path / "cluster.yaml",
        *(node("a"), node("b"), tainted),
        *(owned("web-1", "a"), owned("web-2", "b"), pod("waits", "3500m")),
        budget(minAvailable=1),
    )


# Room


def test_room(cluster: Path, tmp_path: Path) -> None:
    result = run("capacity", "room", write(tmp_path / "pod.yaml", pod("p", "700m")), cluster)
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout.splitlines() == [
        "8 more fit; then: 2 of 3 nodes lack cpu (closest: a, short by 500m); "
        "1 has the taint gpu=yes:NoSchedule.",
        "No other placement has more.",
        "Left out: 1 pod of the cluster that waits for a node.",
        "",
        "Where they go:",
        "NODE  PODS",
        "a     4",
        "b     4",
    ]


def test_room_for_programs(cluster: Path, tmp_path: Path) -> None:
    wanted = write(tmp_path / "pod.yaml", pod("p", "700m"))
    found = json.loads(run("capacity", "room", wanted, cluster, "-o", "json").stdout)
    assert found["where"] == {"a": 4, "b": 4}
    assert (found["fits"], found["atMost"], found["exact"], found["limited"]) == (8, 8, True, False)
    assert found["message"].startswith("0/3 nodes are available: ")
    limited = json.loads(run("capacity", "room", wanted, cluster, "-o", "json", "--most", "3").stdout)
    assert (limited["fits"], limited["atMost"], limited["limited"], limited["then"]) == (3, 8, True, [])


def test_room_for_a_pod_that_fits_nowhere(cluster: Path, tmp_path: Path) -> None:
    result = run("capacity", "room", write(tmp_path / "pod.yaml", pod("p", "40")), cluster)
    assert (result.exit_code, result.stderr) == (3, "")
    assert result.stdout.startswith("0 more fit; then: 2 of 3 nodes lack cpu (closest: a, short by 37; the")


def test_room_for_members_of_a_gang_that_does_not_fit(cluster: Path, tmp_path: Path) -> None:
    label = "scheduling.x-k8s.io/pod-group"
    group = {
        "apiVersion": "scheduling.x-k8s.io/v1alpha1",
        "kind": "PodGroup",
        "metadata": {"name": "g"},
        "spec": {"minMember": 3},
    }
    member = pod("p", "3500m")
    member["metadata"]["labels"] = {label: "g"}
    result = run(
        "capacity", "room", write(tmp_path / "pod.yaml", group, member), cluster, "--with", "coscheduling"
    )
    assert result.exit_code == 3
    assert result.stdout.startswith("0 more fit; then: pod group default/g: ")
    assert " of 3 members fit; " in result.stdout


def test_room_on_no_nodes(tmp_path: Path) -> None:
    wanted = write(tmp_path / "pod.yaml", pod("p"))
    empty = write(
        tmp_path / "empty.yaml", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "x"}}
    )
    result = run("capacity", "room", wanted, empty)
    assert (result.exit_code, result.stdout) == (3, "0 more fit; then: there are no nodes.\n")


def test_room_for_a_pod_that_is_gated_or_of_another_scheduler(cluster: Path, tmp_path: Path) -> None:
    gated = write(tmp_path / "gated.yaml", pod("p", schedulingGates=[{"name": "later"}]))
    result = run("capacity", "room", gated, cluster)
    assert result.stdout.startswith("0 more fit; then: held back by its scheduling gates later")
    other = write(tmp_path / "other.yaml", pod("p", schedulerName="other"))
    result = run("capacity", "room", other, cluster)
    assert "asks for scheduler other, profiles are default-scheduler" in result.stderr
    assert result.stdout.startswith("6 more fit")


def test_room_asks_plugins_of_ones_own(cluster: Path, tmp_path: Path) -> None:
    noisy = write(tmp_path / "noisy.yaml", node("n", labels={"noisy": "yes"}))
    wanted, plugin = write(tmp_path / "pod.yaml", pod("p")), write_plugin(tmp_path / "quiet.py")
    result = run("capacity", "room", wanted, noisy, "--plugin", plugin)
    assert (result.exit_code, result.stdout) == (
        3,
        '0 more fit; then: the only node is rejected by Quiet ("node is noisy").\n',
    )


def test_room_for_claims_that_are_made_for_each_pod(cluster: Path, tmp_path: Path) -> None:
    late = {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {"name": "late"},
        "provisioner": "example.com/disk",
        "volumeBindingMode": "WaitForFirstConsumer",
    }
    claim = {"storageClassName": "late", "resources": {"requests": {"storage": "1Gi"}}}
    volume = {"name": "v", "ephemeral": {"volumeClaimTemplate": {"spec": claim}}}
    result = run("capacity", "room", write(tmp_path / "pod.yaml", pod("p", volumes=[volume]), late), cluster)
    assert result.stdout.startswith("6 more fit")


# Nodes


def test_nodes_like_those_there_are(cluster: Path) -> None:
    result = run("capacity", "nodes", cluster, "--show-placements")
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout.splitlines() == [
        "With 1 node more, at a cost of 1, the pod that waits fits.",
        "Nothing cheaper will do.",
        "",
        "To be added:",
        "TYPE  NODES  PRICE  COST  PODS THERE",
        "a     1      1      1     1",
        "",
        "Where the pods go:",
        "POD            NODE",
        "default/waits  a-new-1",
    ]


def test_nodes_of_types_with_prices(tmp_path: Path, cluster: Path) -> None:
    small = write(tmp_path / "small.yaml", node("small", status={"allocatable": {"cpu": "2", "pods": "9"}}))
    large = node("large", status={"allocatable": {"cpu": "5", "pods": "9"}})
    large["metadata"]["labels"]["node.kubernetes.io/instance-type"] = "x5"
    pods = write(tmp_path / "pods.yaml", *(pod(f"p{each}") for each in range(14)), pod("huge", "99"))
    types = ("--type", small, "--type", write(tmp_path / "large.yaml", large))
    result = run("capacity", "nodes", cluster, *types, "--price", "x5=2", "--pods", pods, "-o", "json")
    found = json.loads(result.stdout)
    assert result.exit_code == 3
    assert (found["nodes"], found["cost"], found["least"]) == ({"small": 2, "large": 1}, 4, True) or (
        found["nodes"],
        found["cost"],
        found["least"],
    ) == ({"large": 2}, 4, True)
    assert set(found["hopeless"]) == {"default/huge"}
    assert len(found["placed"]) == 14
    table = run("capacity", "nodes", cluster, *types, "--price", "x5=2", "--pods", pods).stdout
    assert "Fit on no number of these nodes:\nPOD           WHY\ndefault/huge  nodes lack cpu" in table


def test_nodes_where_none_are_needed(tmp_path: Path) -> None:
    quiet = write(tmp_path / "quiet.yaml", node("a"))
    assert run("capacity", "nodes", quiet).stdout == "No pod waits for a node: nothing has to be added.\n"
    fits = write(tmp_path / "fits.yaml", node("a"), pod("p"))
    result = run("capacity", "nodes", fits)
    assert result.stdout == "The pod that waits fits as it is: nothing has to be added.\n"


# Drain


def test_drain(cluster: Path) -> None:
    result = run("capacity", "drain", "--cluster", cluster)
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout.splitlines() == [
        "2 of 3 nodes can be removed, which is the most.",
        "Left out: 1 pod of the cluster that waits for a node.",
        "",
        "Steps:",
        "STEP  DO      NODE  POD            TO  BUDGET ALLOWS",
        "1     cordon  gpu",
        "2     cordon  a",
        "3     evict   a     default/web-1  b   1",
        "4     remove  gpu",
        "5     remove  a",
        "",
        "Nodes that stay:",
        "NODE  WHY NOT, TOO",
        "b     default/web-2: no other node is left",
    ]


def test_drain_of_named_nodes(cluster: Path) -> None:
    result = run("capacity", "drain", "a", "--cluster", cluster, "-o", "json")
    found = json.loads(result.stdout)
    assert (result.exit_code, found["removed"], found["worth"], found["atMost"]) == (0, ["a"], 1, 1)
    assert found["steps"] == [
        {"do": "cordon", "node": "a"},
        {
            "do": "evict",
            "node": "a",
            "pod": "default/web-1",
            "to": "b",
            "budget": "default/web",
            "allowed": 1,
        },
        {"do": "remove", "node": "a"},
    ]
    result = run("capacity", "drain", "a", "b", "--cluster", cluster)
    assert (result.exit_code, result.stdout.splitlines()[0]) == (
        3,
        "1 of 2 nodes can be removed, which is the most.",
    )


def test_drain_where_a_budget_never_allows(tmp_path: Path) -> None:
    pods = [owned("web-1", "a"), owned("web-2", "b")]
    cluster = write(tmp_path / "c.yaml", node("a"), node("b"), *pods, budget(maxUnavailable=0))
    result = run("capacity", "drain", "--cluster", cluster)
    assert (result.exit_code, result.stdout.splitlines()) == (
        3,
        [
            "0 of 2 nodes can be removed.",
            "",
            "Nodes that stay:",
            "NODE  WHY NOT, TOO",
            "a     default/web-1: budget default/web needs 2 healthy pods and has 2",
            "b     default/web-2: budget default/web needs 2 healthy pods and has 2",
        ],
    )


def test_drain_by_price_and_without_the_control_plane(tmp_path: Path) -> None:
    control = node("c", labels={"node-role.kubernetes.io/control-plane": ""})
    typed = node("b", labels={"node.kubernetes.io/instance-type": "x5"})
    cluster = write(
        tmp_path / "c.yaml", node("a"), typed, control, owned("p", "a", "3"), owned("q", "b", "3")
    )
    found = json.loads(run("capacity", "drain", "--cluster", cluster, "-o", "json").stdout)
    assert set(found["kept"]) == {"a", "b"} - set(found["removed"])
    shown = run("capacity", "drain", "--cluster", cluster, "--price", "x5=2.5").stdout
    assert shown.startswith("1 of 2 nodes can be removed, worth 2.5, which is the most.\n")


def test_drain_as_a_script(cluster: Path, tmp_path: Path) -> None:
    script = run("capacity", "drain", "a", "--cluster", cluster, "--script").stdout
    assert script.startswith("#!/bin/sh\nset -e\n")
    _, _, steps = script.partition("\n}\n")
    assert [line for line in steps.splitlines() if line and not line.startswith("#")] == [
        "kubectl cordon a",
        "evict default web-1",
        "kubectl wait -n default replicaset/web '--for=jsonpath={.status.readyReplicas}=2' --timeout=600s",
    ]
    done = subprocess.run(["sh", "-n"], input=script, text=True, capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_drain_with_flags_of_kubectl(tmp_path: Path) -> None:
    local = owned("local", "a", volumes=[{"name": "v", "emptyDir": {}}])
    cluster = write(tmp_path / "c.yaml", node("a"), node("b"), local, pod("alone", nodeName="a"))
    refused_by = run("capacity", "drain", "a", "--cluster", cluster).stdout
    assert "--delete-emptydir-data allows that" in refused_by and "--force deletes it" in refused_by
    flags = ("--force", "--delete-emptydir-data", "--ignore-daemonsets")
    result = run("capacity", "drain", "a", "--cluster", cluster, *flags, "-o", "json")
    assert [step["do"] for step in json.loads(result.stdout)["steps"]] == [
        "cordon",
        "delete",
        "evict",
        "remove",
    ]


def test_without_the_solver_it_is_told_how_to_get_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Fourteen nodes of which three are enough by what pods ask for, though no two of these go together."""
    apart = {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"app": "web"}}}
    affinity = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [apart]}}
    pods = [owned(f"web-{each}", f"n{each:02}", affinity=affinity) for each in range(10)]
    cluster = write(tmp_path / "c.yaml", *(node(f"n{each:02}") for each in range(14)), *pods)
    monkeypatch.setattr("moorage.what_if.capacity.solver.is_installed", lambda: False)
    first, second, *_ = run("capacity", "drain", "--cluster", cluster).stdout.splitlines()
    assert first == "4 of 14 nodes can be removed; at most 11 can be."
    assert second == "A solver may find more, or a better bound: pip install 'moorage[solver]'."


def test_the_configuration_of_a_running_scheduler_is_read() -> None:
    """What /configz tells is a configuration that can be loaded, plugins and their arguments included."""
    from moorage.cli.insight.options import Whom
    from moorage.cli.setup import set_up
    from moorage.cli.trying.sources import Asked, _of_document
    from moorage.config.show import show

    setup = set_up(None, ())
    read = _of_document(Asked(Whom(), None, False, (), ()), show(setup.config))
    assert show(read.config) == show(setup.config)


# What is wrong, and what takes long


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("room", "none.yaml", "CLUSTER"), "none.yaml: cannot read the file"),
        (("room", "CLUSTER", "CLUSTER"), "holds 3 pods; give a file with exactly one"),
        (("nodes", "CLUSTER", "--like", "zzz"), "has no node zzz; there are a, b, gpu"),
        (("nodes", "CLUSTER", "--price", "zzz=3"), "--price: nothing is called zzz; there are a, gpu"),
        (("nodes", "PODS"), "has no nodes that others could be like; give the manifest of one with --type"),
        (("nodes", "CLUSTER", "--type", "PODS"), "holds no Node; give a manifest of one"),
        (("nodes", "CLUSTER", "--like", "a", "--type", "CLUSTER"), "there are two types called a"),
        (("nodes", "CLUSTER", "--pods", "TAKEN"), "--pods: default/web-1 has a node in the cluster already"),
        (("nodes", "CLUSTER", "--pods", "EMPTY"), "holds no pod without a node; give some that wait"),
        (("drain", "gp", "--cluster", "CLUSTER"), 'has no node gp; did you mean "gpu"?'),
        (("drain", "--cluster", "PODS"), "has no nodes, so none can be removed; give manifests of some"),
        (("drain", "--kubeconfig", "none"), "none: there is no such file"),
    ],
)
def test_bad_input_is_one_line(words: tuple[str, ...], said: str, cluster: Path, tmp_path: Path) -> None:
    paths = {
        "CLUSTER": cluster,
        "PODS": write(tmp_path / "pods.yaml", pod("p")),
        "TAKEN": write(tmp_path / "taken.yaml", pod("web-1")),
        "EMPTY": write(tmp_path / "empty.yaml", node("x")),
    }
    assert said in refused(run("capacity", *(str(paths.get(word, word)) for word in words)))


@pytest.mark.parametrize(
    "words",
    [
        ("room",),
        ("room", "p.yaml", "c.yaml", "--kubeconfig", "k"),
        ("room", "p.yaml", "c.yaml", "--most", "0"),
        ("nodes", "c.yaml", "--price", "a=0"),
        ("nodes", "c.yaml", "--price", "a=nan"),
        ("drain", "--cluster", "c.yaml", "--timeout", "soon"),
        ("drain", "--cluster", "c.yaml", "--script", "-o", "json"),
    ],
)
def test_wrong_usage(words: tuple[str, ...]) -> None:
    result = run("capacity", *words)
    assert (result.exit_code, result.stdout) == (2, "")


@pytest.mark.parametrize(
    "words", [("nodes", "CLUSTER", "--show-placements"), ("drain", "--cluster", "CLUSTER")]
)
def test_everything_fits_a_terminal(words: tuple[str, ...], cluster: Path) -> None:
    shown = on_terminal("capacity", *(str(cluster) if word == "CLUSTER" else word for word in words))
    assert "default/w" in shown
    assert [line for line in shown.splitlines() if len(line) > 80] == []


def test_ctrl_c_gives_what_was_found(tmp_path: Path) -> None:
    """Forty nodes, so that the search takes a while; it is stopped as soon as it has begun."""
    machines = [node(f"n{each:02}") for each in range(40)]
    pods = [
        owned(f"p{each:03}", f"n{each % 40:02}", ("300m", "700m", "900m")[each % 3]) for each in range(120)
    ]
    cluster = write(tmp_path / "cluster.yaml", *machines, *pods)
    plugin = write_plugin(tmp_path / "begins.py", BEGINS)
    read, told = os.pipe()
    process = subprocess.Popen(
        [MOORAGE, "capacity", "drain", f"--cluster={cluster}", "--timeout=0", f"--plugin={plugin}"],
        env=environment(BEGUN=str(told)),
        pass_fds=[told],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    os.close(told)
    assert os.read(read, 1) == b"x"  # the first pod is being moved
    process.send_signal(signal.SIGINT)
    output, errors = process.communicate(timeout=60)
    os.close(read)
    assert process.returncode in (0, 3), errors
    assert re.match(r"\d+ of 40 nodes can be removed; at most \d+ can be\.\n", output)
    assert errors == "Stopping; Ctrl-C again ends at once.\n"


BEGINS = """
import os

from moorage import FilterPlugin


class Begins(FilterPlugin):
    \"\"\"Tells the test that pods are being placed.\"\"\"

    told = False

    def filter(self, cycle, pod, node):
        if not Begins.told:
            Begins.told = True
            os.write(int(os.environ["BEGUN"]), b"x")
        return None
"""
