"""`moorage replay`, as its users call it."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.cli.running import run

BEGAN = 1_750_000_000.0
PACKED = """
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- schedulerName: default-scheduler
  pluginConfig:
  - name: NodeResourcesFit
    args: {scoringStrategy: {type: MostAllocated, resources: [{name: cpu, weight: 1}]}}
"""


def write_trace(path: Path, pods: int = 12, *, apart: float = 60.0) -> Path:
    """Pods that come one after the other to four nodes, and stay for ten minutes."""
    from moorage.what_if.trace.changes import Head
    from moorage.what_if.trace.files import TraceWriter

    changes: list[tuple[float, dict[str, Any], bool]] = []
    for number in range(4):
        labels = {"kubernetes.io/hostname": f"node-{number}", "kind": "large" if number < 2 else "small"}
        meta = {"name": f"node-{number}", "uid": f"node-{number}", "labels": labels}
        amounts = {"cpu": "4", "memory": "16Gi", "pods": "110"}
        node = {"apiVersion": "v1", "kind": "Node", "metadata": meta, "status": {"allocatable": amounts}}
        changes.append((BEGAN, node, False))
    for number in range(pods):
        came = BEGAN + apart * number
        meta = {"name": f"pod-{number}", "namespace": "default", "uid": f"pod-{number}"}
        container = {"name": "main", "image": "app", "resources": {"requests": {"cpu": "1", "memory": "1Gi"}}}
        pod = {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": {"containers": [container]}}
        bound = {**pod, "spec": {"containers": [container], "nodeName": f"node-{number % 4}"}}
        changes += [(came, pod, False), (came + 1, bound, False), (came + 601, bound, True)]
    with TraceWriter(path, Head(began=BEGAN, source="a test")) as writer:
        for time, document, gone in sorted(changes, key=lambda change: change[0]):
            (writer.gone if gone else writer.put)(time, document)
    return path


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    return write_trace(tmp_path / "a.moor")


@pytest.fixture
def packed(tmp_path: Path) -> Path:
    file = tmp_path / "packed.yaml"
    file.write_text(PACKED)
    return file


def rows(output: str) -> dict[str, list[str]]:
    return {line[:18].strip(): line[18:].split() for line in output.splitlines()}


def test_the_figures_of_a_replay(trace: Path) -> None:
    result = run("replay", trace)
    assert result.exit_code == 0
    found = rows(result.stdout)
    assert result.stdout.startswith("21m1s of a test\nFIGURE")
    assert found["pods"] == ["12"] and found["placed"] == ["12"] and found["time to bind, p50"] == ["0s"]
    assert "cost" not in found and "cpu of no use" not in found


def test_two_configurations_side_by_side(trace: Path, packed: Path) -> None:
    prices = ("--price", "kind=large=2", "--price", "kind=small=1")
    result = run("replay", trace, "--config", packed, "--against", "default", *prices, "-o", "wide")
    assert result.exit_code == 0
    head = next(line for line in result.stdout.splitlines() if line.startswith("FIGURE"))
    assert head.split() == ["FIGURE", "packed.yaml", "default", "DIFFERENCE"]
    found = rows(result.stdout)
    ours, base, difference, *_ = found["nodes in use"]
    assert float(ours) < float(base) and float(difference) < 0
    assert found["placed"][-1] == "same" and "cost" in found and "cpu of no use" in found


def test_a_plugin_without_a_configuration_gives_its_name(trace: Path, tmp_path: Path) -> None:
    plugin = tmp_path / "mine.py"
    plugin.write_text(
        "from moorage import ScorePlugin\n\n\nclass Mine(ScorePlugin):\n"
        "    def score(self, cycle, pod, node):\n        return 1\n"
    )
    result = run("replay", trace, "--plugin", plugin, "--against", "default")
    head = result.stdout.splitlines()[1].split()
    assert head == ["FIGURE", "mine.py", "default", "DIFFERENCE"]


def test_json_has_all_of_it_and_the_same_each_time(trace: Path, packed: Path) -> None:
    arguments = ("replay", trace, "--config", packed, "--against", "default", "--seeds", 2, "-o", "json")
    first, second = (json.loads(run(*map(str, arguments)).stdout) for _ in range(2))
    for each in (first, second):
        for variant in each["replays"]:
            assert len(variant["outcomes"]) == 2
            for outcome in variant["outcomes"]:
                outcome.pop("seconds")
        each["differences"] = [
            every for every in each["differences"] if every["figure"] != "seconds to replay"
        ]
    assert first == second
    assert [each["name"] for each in first["replays"]] == ["packed.yaml", "default"]
    assert first["trace"]["source"] == "a test"
    nodes = next(each for each in first["differences"] if each["figure"] == "nodes in use")
    assert nodes["against"] == "default" and nodes["mean"] < 0 and nodes["spread"] >= 0
    assert len(first["replays"][0]["outcomes"][0]["history"]["times"]) > 100


def test_pictures_and_the_page(trace: Path, tmp_path: Path) -> None:
    png, html = tmp_path / "plots.png", tmp_path / "report.html"
    result = run("replay", trace, "--against", "default", "--plot", png, "--html", html)
    assert result.exit_code == 0
    assert png.read_bytes().startswith(b"\x89PNG")
    assert "default (2)" in html.read_text() and "<svg" in html.read_text()


def test_other_nodes(trace: Path, tmp_path: Path) -> None:
    file = tmp_path / "nodes.yaml"
    file.write_text(
        "kind: Node\nmetadata: {name: one}\nstatus: {allocatable: {cpu: 4, memory: 8Gi, pods: 10}}\n"
    )
    found = rows(run("replay", trace, "--nodes", file).stdout)
    assert found["nodes in use"][0] in ("0.9", "1.0") and found["never placed"] != ["0"]


def test_other_nodes_of_a_table(trace: Path, tmp_path: Path) -> None:
    file = tmp_path / "nodes.csv"
    file.write_text("name,count,cpu,memory\nn,20,4,8Gi\n")
    assert rows(run("replay", trace, "--nodes", file).stdout)["never placed"] == ["0"]
    file.write_text("name,cpu\nn,4\n")
    result = run("replay", trace, "--nodes", file)
    assert (result.exit_code, result.stderr) == (
        1,
        f"{file}: row 1: the column 'memory' is missing; add it\n",
    )


def test_a_plugin_that_fails_is_told_of(trace: Path, tmp_path: Path) -> None:
    file = tmp_path / "breaks.py"
    file.write_text(
        "from moorage import ScorePlugin\n\n\nclass Breaks(ScorePlugin):\n"
        "    def score(self, cycle, pod, node):\n        raise ValueError('no')\n"
    )
    result = run("replay", trace, "--plugin", file)
    assert result.exit_code == 1 and "Plugin Breaks failed" in result.stdout


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("nowhere.moor",), "nowhere.moor: cannot read the trace: No such file or directory; check the path"),
        (("{packed}",), "not a trace"),
        (("{trace}", "--config", "nowhere.yaml"), "nowhere.yaml: cannot read the file"),
        (("{trace}", "--against", "nowhere.yaml"), "nowhere.yaml: cannot read the file"),
        (("{trace}", "--nodes", "{packed}"), "is KubeSchedulerConfiguration; give Nodes only"),
        (("{trace}", "--nodes", "nowhere.yaml"), "nowhere.yaml: cannot read the file"),
        (("{trace}", "--price", "kind=large=dear"), "is no price per hour"),
        (("{trace}", "--with", "gangs"), "--with: there is no 'gangs'"),
        (("{trace}", "--plot", "plots.svg"), "--plot plots.svg: writes PNG"),
        (("{trace}", "--html", "/nowhere/report.html"), "there is no such folder"),
    ],
)
def test_wrong_input_is_told_in_one_line(
    trace: Path, packed: Path, arguments: tuple[str, ...], said: str
) -> None:
    given = [text.format(trace=trace, packed=packed) for text in arguments]
    result = run("replay", *given)
    assert result.exit_code == 1
    assert said in result.stderr and len(result.stderr.splitlines()) == 1
    assert not result.stdout


def test_without_matplotlib_a_line_says_what_to_do(trace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import importlib.util

    found = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name, *rest: None if name == "matplotlib" else found(name, *rest)
    )
    result = run("replay", trace, "--plot", "plots.png")
    assert result.exit_code == 1
    assert result.stderr == (
        "--plot needs matplotlib; install it with `pip install moorage[plots]`, or use --html\n"
    )


def test_a_trace_without_pods(tmp_path: Path) -> None:
    result = run("replay", write_trace(tmp_path / "empty.moor", 0))
    assert result.exit_code == 1 and "has no pod that could be replayed" in result.stderr


def test_ctrl_c_tells_what_there_is_so_far(tmp_path: Path) -> None:
    trace = write_trace(tmp_path / "long.moor", 3000)
    plugin = tmp_path / "tells.py"
    plugin.write_text(
        "import sys\nfrom moorage import ScorePlugin\n\n\nclass Tells(ScorePlugin):\n"
        "    def score(self, cycle, pod, node):\n"
        "        if pod.name == 'pod-50':\n            print('begun', file=sys.stderr, flush=True)\n"
        "        return 0\n"
    )
    command = [sys.executable, "-m", "moorage", "replay", str(trace), "--plugin", str(plugin)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None and process.stdout is not None
        assert "begun" in process.stderr.readline()
        process.send_signal(signal.SIGINT)
        out = process.stdout.read()
        assert process.wait(60) == 130
        assert "Traceback" not in process.stderr.read()
    assert out.startswith("Stopped at ") and "what there is so far:" in out
    assert 50 <= int(rows(out)["placed"][0]) < 3000
