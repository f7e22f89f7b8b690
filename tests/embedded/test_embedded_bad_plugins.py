"""Plugins that fail or block in a running scheduler, and what everybody gets to see of it."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.controlplane.schedulers import Moorage
from tests.embedded.clusters import Embedded
from tests.seeds.common import Cluster, Document, lines_with, pod
from tests.seeds.metrics import metrics

PLUGINS = '''
import time

from moorage import FilterPlugin, PreBindPlugin, ScorePlugin


def is_meant(plugin, pod):
    return pod.annotations.get("trouble") == plugin.name


class Raises(FilterPlugin):
    """Fails."""

    def filter(self, cycle, pod, node):
        if is_meant(self, pod):
            raise RuntimeError("out of order")


class WrongType(FilterPlugin):
    """Answers with a text."""

    def filter(self, cycle, pod, node):
        return "yes" if is_meant(self, pod) else None


class OutOfRange(ScorePlugin):
    """Has a score of its own."""

    def score(self, cycle, pod, node):
        return 1000 if is_meant(self, pod) else 0


class Blocks(ScorePlugin, PreBindPlugin):
    """Sleeps, at once and in a coroutine."""

    def score(self, cycle, pod, node):
        if is_meant(self, pod) and node.name == "node-1":
            time.sleep(1)
        return 0

    async def pre_bind(self, cycle, pod, node_name):
        if is_meant(self, pod):
            time.sleep(1)
'''
CONFIG: Document = {
    "apiVersion": "kubescheduler.config.k8s.io/v1",
    "kind": "KubeSchedulerConfiguration",
    "leaderElection": {"leaderElect": False},
    "profiles": [
        {
            "schedulerName": "default-scheduler",
            "plugins": {
                "multiPoint": {
                    "enabled": [{"name": name} for name in ("Raises", "WrongType", "OutOfRange", "Blocks")]
                }
            },
        }
    ],
}
SAID = {
    "Raises": 'running "Raises" filter plugin: RuntimeError: out of order',
    "WrongType": "running \"WrongType\" filter plugin: filter returned str 'yes', use None or a Status",
    "OutOfRange": 'applying score defaultWeights on Score plugins: plugin "OutOfRange" returns an invalid '
    "score 1000, it should in the range of [0, 100] after normalizing",
}


@pytest.fixture(scope="module")
def cluster(programs: Path) -> Iterator[Cluster]:
    with Embedded("--no-scheduler") as up:
        yield Cluster(True, up.kubeconfig, up.token, up.kubectl)


@pytest.fixture(scope="module")
def scheduler(cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Moorage]:
    file = tmp_path_factory.mktemp("plugins") / "plugins.py"
    file.write_text(PLUGINS)
    with cluster.run(CONFIG, f"--plugin={file}") as process:
        yield process


def troubled(plugin: str) -> Document:
    return pod(plugin.lower(), annotations={"trouble": plugin})


def good_pod_is_bound(cluster: Cluster, name: str) -> None:
    cluster.apply(pod(name))
    assert cluster.bound(name)


@pytest.mark.parametrize("plugin", SAID)
def test_a_failing_plugin_is_named_and_the_scheduler_goes_on(
    cluster: Cluster, scheduler: Moorage, plugin: str
) -> None:
    cluster.apply(troubled(plugin))
    name = plugin.lower()
    assert cluster.note(name) == SAID[plugin]
    condition = cluster.condition(name)
    assert (condition["status"], condition["reason"]) == ("False", "SchedulerError")
    assert condition["message"] == SAID[plugin]
    labels = {"plugin": plugin, "profile": "default-scheduler"}
    [count] = metrics(cluster, scheduler, "scheduler_plugin_failures_total", **labels)
    assert count >= 1
    good_pod_is_bound(cluster, f"after-{name}")


def test_a_plugin_that_blocks_is_named_and_its_pod_is_bound(cluster: Cluster, scheduler: Moorage) -> None:
    cluster.apply(troubled("Blocks"))
    assert cluster.bound("blocks")
    good_pod_is_bound(cluster, "after-blocks")
    for point in ("Score", "PreBind"):
        labels = {"plugin": "Blocks", "extension_point": point, "profile": "default-scheduler"}
        assert metrics(cluster, scheduler, "scheduler_plugin_slow_calls_total", **labels) == [1]
        [line] = lines_with(scheduler, '"Slow plugin', 'plugin="Blocks"', f'extensionPoint="{point}"')
        assert line.startswith("W")
    assert metrics(cluster, scheduler, "scheduler_plugin_failures_total", plugin="Blocks") == []
