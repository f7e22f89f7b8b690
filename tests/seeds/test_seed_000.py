"""The walk with a constant score: T1 to T3 of the seed systems."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from tests.cli.running import run_alone
from tests.controlplane.schedulers import Moorage
from tests.controlplane.servers import wait_for
from tests.seeds.common import EXAMPLES, Cluster, Document, lines_with, pod
from tests.seeds.metrics import metrics

EXAMPLE = EXAMPLES / "my_scoring_plugin"
PLUGIN = f"--plugin={EXAMPLE / 'plugin.py'}"
NODES = ["n1", "n2", "n3"]
OLD = "is no longer served, reading it as v1"
WITHOUT_NETWORK = """
import socket, sys, pytest

def refuse(*_):
    raise OSError("there is no network")

socket.socket.connect = socket.socket.connect_ex = refuse
sys.exit(pytest.main(sys.argv[1:]))
"""


def my_score(version: str = "v1", weight: int = 0) -> Document:
    return {
        "apiVersion": f"kubescheduler.config.k8s.io/{version}",
        "kind": "KubeSchedulerConfiguration",
        "leaderElection": {"leaderElect": False},
        "profiles": [
            {
                "schedulerName": "default-scheduler",
                "plugins": {"score": {"enabled": [{"name": "MyScoringPlugin", "weight": weight}]}},
                "pluginConfig": [{"name": "MyScoringPlugin", "args": None}],
            }
        ],
    }


@pytest.fixture(scope="module")
def with_nodes(cluster: Cluster) -> Cluster:
    cluster.create_nodes(*(f"{name}:4" for name in NODES))
    return cluster


def walk(cluster: Cluster, process: Moorage, score: int) -> None:
    """T1 (a) to (d)."""
    [started] = lines_with(process, '"the scheduler starts to work with those plugins"')
    assert 'profile="default-scheduler"' in started
    plugins = json.loads(started.partition("Plugins=")[2])
    assert "MyScoringPlugin" in [plugin["name"] for plugin in plugins["score"]]

    cluster.apply(pod("t1"))
    node = cluster.bound("t1")
    assert node in NODES

    scored = lines_with(process, '"Plugin scored node for pod"', 'plugin="MyScoringPlugin"')
    assert len(scored) == 3
    for name, line in zip(NODES, sorted(scored, key=lambda line: line.partition("node=")[2]), strict=True):
        assert f'pod="default/t1" plugin="MyScoringPlugin" node="{name}" score={score}' in line

    chosen = "--field-selector=involvedObject.name=t1,reason=Scheduled"
    events = wait_for("the event", lambda: cluster.kubectl("get", "events", chosen))
    assert f"Successfully assigned default/t1 to {node}" in events


@pytest.mark.parametrize(("weight", "score"), [(0, 10), (7, 70)])
def test_T1_the_plugin_is_registered_and_observed(with_nodes: Cluster, weight: int, score: int) -> None:
    with with_nodes.run(my_score(weight=weight), PLUGIN, "-v=10") as process:
        walk(with_nodes, process, score)
        evaluated = metrics(
            with_nodes,
            process,
            "scheduler_plugin_evaluation_total",
            extension_point="Score",
            plugin="MyScoringPlugin",
            profile="default-scheduler",
        )
        assert evaluated == [3]
    with_nodes.delete_all("pods", "events")


@pytest.mark.parametrize("version", ["v1beta2", "v1beta3"])
def test_T2_old_versions_are_read(with_nodes: Cluster, version: str) -> None:
    with with_nodes.run(my_score(version), PLUGIN, "-v=10") as process:
        walk(with_nodes, process, 10)
        [warning] = lines_with(process, OLD)
        assert f"{version} {OLD}" in warning
    with_nodes.delete_all("pods", "events")


def refusal(folder: Path, config: Document, *flags: str) -> str:
    """What `moorage run` says on stderr when it refuses to start."""
    file = folder / "config.yaml"
    file.write_text(yaml.safe_dump(config))
    done = run_alone("run", f"--config={file}", *flags)
    assert done.returncode != 0
    return done.stderr


def test_T2_old_versions_can_be_refused(tmp_path: Path) -> None:
    said = refusal(tmp_path, my_score("v1beta2"), PLUGIN, "--strict-config-version")
    text = 'no kind "KubeSchedulerConfiguration" is registered for version'
    assert f'{text} "kubescheduler.config.k8s.io/v1beta2"' in said


def test_T2_unknown_fields_are_refused(tmp_path: Path) -> None:
    said = refusal(tmp_path, {**my_score(), "leaderElect": True}, PLUGIN)
    assert "strict decoding error" in said
    assert 'unknown field "leaderElect"' in said


@pytest.mark.parametrize(
    ("point", "names", "said"),
    [
        (
            "score",
            ["NoSuch"],
            'creating profile for scheduler name default-scheduler: ScorePlugin "NoSuch" does not exist',
        ),
        ("filter", ["MyScoringPlugin"], 'plugin "MyScoringPlugin" does not extend FilterPlugin plugin'),
        ("score", ["MyScoringPlugin"] * 2, 'plugin "MyScoringPlugin" already registered as "ScorePlugin"'),
        ("multiPoint", ["NoSuch"], 'PreFilterPlugin "NoSuch" does not exist'),
    ],
)
def test_T3_what_cannot_be_enabled(tmp_path: Path, point: str, names: list[str], said: str) -> None:
    config = my_score()
    config["profiles"][0]["plugins"] = {point: {"enabled": [{"name": name} for name in names]}}
    assert said in refusal(tmp_path, config, PLUGIN)


def test_T3_a_built_in_name_cannot_be_registered(tmp_path: Path) -> None:
    text = (EXAMPLE / "plugin.py").read_text().replace("class MyScoringPlugin", "class NodeName")
    own = tmp_path / "plugin.py"
    own.write_text(text)
    assert "a plugin named NodeName already exists" in refusal(tmp_path, my_score(), f"--plugin={own}")


def test_T3_the_plugins_own_tests_need_no_network() -> None:
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_NETWORK, "-q", "-p", "no:cacheprovider", "-p", "no:xdist", EXAMPLE],
        cwd=EXAMPLES.parent,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    assert re.search(r"^\d+ passed", done.stdout, re.MULTILINE)
