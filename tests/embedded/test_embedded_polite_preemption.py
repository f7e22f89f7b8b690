"""A preemption of one's own, examples/polite_preemption, in a scheduler that runs beside the API server."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.controlplane.servers import wait_for
from tests.embedded.clusters import Embedded
from tests.seeds.common import EXAMPLES, Cluster, Document, pod
from tests.seeds.metrics import metrics

EXAMPLE = EXAMPLES / "polite_preemption"
CONFIG, PLUGIN = EXAMPLE / "scheduler-config.yaml", f"--plugin={EXAMPLE / 'plugin.py'}"
ONE, TWO = {"cpu": "1"}, {"cpu": "2"}
LONG = 300
SLOW = {"lifecycle": {"preStop": {"sleep": {"seconds": LONG}}}}


@pytest.fixture
def cluster(programs: Path, tmp_path: Path) -> Iterator[Cluster]:
    nodes = tmp_path / "nodes.yaml"
    nodes.write_text((EXAMPLE / "manifests" / "nodes.yaml").read_text().replace('cpu: "2"', 'cpu: "4"'))
    with Embedded("--no-scheduler", f"--nodes={nodes}") as up:
        yield Cluster(True, up.kubeconfig, up.token, up.kubectl)


def polite(name: str) -> Document:
    """A pod that offered to go, and would take a long time to."""
    document = pod(name, requests=ONE, terminationGracePeriodSeconds=2 * LONG)
    document["metadata"]["labels"] = {"preemptible": "true"}
    document["spec"]["containers"][0] |= SLOW
    return document


def pods(cluster: Cluster) -> dict[str, Document]:
    found = json.loads(cluster.kubectl("get", "pods", "-o", "json"))["items"]
    return {each["metadata"]["name"]: each for each in found}


def leaving(cluster: Cluster) -> list[str]:
    return [name for name, each in pods(cluster).items() if "deletionTimestamp" in each["metadata"]]


def said(cluster: Cluster, name: str) -> str:
    """What was said behind the reasons of the nodes when the pod was tried last."""

    def text() -> str:
        return str(cluster.condition(name).get("message", "")).partition(". ")[2]

    return wait_for(f"a try of {name}", text)


def is_nominated(cluster: Cluster, name: str) -> bool:
    return bool(pods(cluster)[name]["status"].get("nominatedNodeName") == "small")


def test_only_who_offered_goes_and_nobody_more_when_the_scheduler_is_killed_meanwhile(
    cluster: Cluster,
) -> None:
    names = ["batch-1", "batch-2", "batch-3"]
    with cluster.run(CONFIG, PLUGIN) as scheduler:
        cluster.create(pod("web", requests=ONE), *map(polite, names))
        cluster.kubectl("wait", "--for=condition=Ready", "pod", "--all")
        cluster.create(pod("urgent", requests=TWO))
        wait_for("the nomination", lambda: is_nominated(cluster, "urgent"))
        wait_for("both to leave", lambda: len(leaving(cluster)) == 2)
        victims = leaving(cluster)
        assert set(victims) < set(names)
        for victim in victims:
            assert cluster.note(victim, "Preempted").endswith(" on node small")
            mark = cluster.condition(victim, "DisruptionTarget")
            assert (mark["status"], mark["reason"]) == ("True", "PreemptionByScheduler")
            assert mark["message"] == "default/urgent needs the room"
        labels = {"plugin": "PolitePreemption", "profile": "default-scheduler", "result": "success"}
        assert metrics(cluster, scheduler, "scheduler_plugin_writes_total", **labels) == [1]
        scheduler.kill()
    with cluster.run(CONFIG, PLUGIN):
        cluster.create(polite("late"))
        assert said(cluster, "urgent").endswith("the pods that go for it have not ended yet")
        # One has ended, which is room for the pod that came later, but not for the first.
        cluster.kubectl("delete", "pod", "--force", "--grace-period=0", victims[0])
        assert said(cluster, "late").endswith("it asks nobody to go")
        cluster.kubectl("delete", "pod", "--force", "--grace-period=0", victims[1])
        assert cluster.bound("urgent") == "small"
    [spared] = set(names) - set(victims)
    left = pods(cluster)
    assert left.keys() == {"web", "urgent", "late", spared}
    assert not left["late"]["spec"].get("nodeName")
    assert leaving(cluster) == []
