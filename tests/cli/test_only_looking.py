"""Commands that only look start no background work of plugins."""

from __future__ import annotations

from pathlib import Path

import pytest

from moorage import FilterPlugin, every
from moorage.testing import make_node, make_pod
from moorage.testing import run as run_in_memory
from tests.cli.running import node, pod, run, write, write_plugin

PLUGIN = """
from pathlib import Path

from moorage import FilterPlugin, every


class Working(FilterPlugin):
    def filter(self, cycle, pod, node):
        return None

    async def start(self):
        Path(__file__).with_name("worked").touch()

    @every(0.001)
    def refresh(self):
        Path(__file__).with_name("worked").touch()
"""

CONFIG = {
    "apiVersion": "kubescheduler.config.k8s.io/v1",
    "kind": "KubeSchedulerConfiguration",
    "profiles": [{"plugins": {"filter": {"enabled": [{"name": "Working"}]}}}],
}


@pytest.mark.parametrize(
    "command",
    [
        "evaluate --cluster CLUSTER --pod POD",
        "simulate CLUSTER POD",
        "plugins",
        "config view CONFIG --expanded",
        "config validate CONFIG",
        "manifests",
    ],
)
def test_no_background_work(command: str, tmp_path: Path) -> None:
    plugin = write_plugin(tmp_path / "working.py", PLUGIN)
    files = {
        "CLUSTER": write(tmp_path / "cluster.yaml", node("a")),
        "POD": write(tmp_path / "pod.yaml", pod("p")),
        "CONFIG": write(tmp_path / "config.yaml", CONFIG),
    }
    result = run(*(files.get(word, word) for word in command.split()), "--plugin", plugin)
    assert result.exit_code == 0, result.output
    assert not (tmp_path / "worked").exists()


def test_nor_does_a_test_in_memory() -> None:
    worked: list[str] = []

    class Working(FilterPlugin):
        def filter(self, *asked: object) -> None:
            worked.append("filter")

        async def start(self) -> None:
            worked.append("start")

        @every(0.001)
        def refresh(self) -> None:
            worked.append("refresh")

    assert run_in_memory(Working, make_pod(), [make_node()]).node == "node"
    assert set(worked) == {"filter"}
