"""Extenders in commands without a cluster, and what is said of those that cannot be used."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cli.running import Document, node, pod, refused, run, write
from tests.framework.extenders.server import ExtenderServer

VERBS = {"filterVerb": "filter", "prioritizeVerb": "prioritize", "preemptVerb": "preempt", "bindVerb": "bind"}


@pytest.fixture
def server() -> Iterator[ExtenderServer]:
    """Keeps pods off node a, and likes node c."""

    def kept(request: Document) -> Document:
        left = [name for name in request["NodeNames"] if name != "a"]
        return {"NodeNames": left, "FailedNodes": {"a": "not in the mood"}}

    def scores(request: Document) -> list[Document]:
        return [{"Host": name, "Score": 10 * (name == "c")} for name in request["NodeNames"]]

    with ExtenderServer({"filter": kept, "prioritize": scores}) as running:
        yield running


def config(folder: Path, **extender: Any) -> Path:
    return write(
        folder / "scheduler.yaml",
        {
            "apiVersion": "kubescheduler.config.k8s.io/v1",
            "kind": "KubeSchedulerConfiguration",
            "extenders": [{"weight": 2, "nodeCacheCapable": True, **VERBS, **extender}],
        },
    )


def test_evaluate_asks_extenders(server: ExtenderServer, tmp_path: Path) -> None:
    cluster = write(tmp_path / "cluster.yaml", *(node(name) for name in "abcd"))
    asked: list[str | Path] = [*("--cluster", cluster), *("--pod", write(tmp_path / "pod.yaml", pod("p")))]
    asked += ["--config", config(tmp_path, urlPrefix=server.url)]
    table = run("evaluate", *asked).stdout.splitlines()
    assert table[0].split()[-4:] == ["EXTENDERS", "TOTAL", "WHY", "NOT"]
    assert table[1].split()[:2] == ["a", "no"]
    assert table[1].endswith("an extender: not in the mood" + " " * (len(table[0]) - len(table[1].rstrip())))
    assert table[-1] == "Pod default/p goes to node c."
    result = json.loads(run("evaluate", *asked, "--output", "json").stdout)
    assert result["feasible"] == ["b", "c", "d"]
    assert result["extenderScores"] == {"b": {server.url: 0}, "c": {server.url: 200}, "d": {server.url: 0}}
    assert result["totals"]["c"] == result["totals"]["b"] + 200


def test_simulate_asks_extenders_but_does_not_have_them_bind(server: ExtenderServer, tmp_path: Path) -> None:
    cluster = write(tmp_path / "cluster.yaml", *(node(name) for name in "abc"))
    pods = write(tmp_path / "pods.yaml", *(pod(name) for name in ("p", "q")))
    result = run(
        "simulate", cluster, pods, "--show-placements", "--config", config(tmp_path, urlPrefix=server.url)
    )
    assert result.stdout.splitlines()[1:3] == ["default/p  c", "default/q  c"]
    assert {request.verb for request in server.requests} == {"filter", "prioritize"}


def test_an_extender_that_is_down_is_why_pods_wait(server: ExtenderServer, tmp_path: Path) -> None:
    server.stop()
    cluster = write(tmp_path / "cluster.yaml", node("a"))
    pods = write(tmp_path / "pod.yaml", pod("p"))
    file = config(tmp_path, urlPrefix=server.url)
    shown = run("simulate", cluster, pods, "--config", file).stdout
    assert f'default/p: Post "{server.url}/filter": dial tcp ' in shown
    shown = run("evaluate", "--cluster", cluster, "--pod", pods, "--config", file).stdout
    assert shown.rstrip().endswith("connect: connection refused")


@pytest.mark.parametrize(
    ("extender", "line"),
    [
        (
            {"urlPrefix": "localhost:80"},
            'extenders[0].urlPrefix: "localhost:80" is not the URL of an extender; ',
        ),
        (
            {"urlPrefix": "https://x", "tlsConfig": {"caFile": "/none"}},
            "extenders[0].tlsConfig.caFile: /none: cannot be read: No such file or directory; check the path",
        ),
    ],
)
def test_what_cannot_be_used_is_one_line(extender: Document, line: str, tmp_path: Path) -> None:
    file = config(tmp_path, **extender)
    for command in (
        ("up",),
        ("simulate", "--nodes", "1", "--pods", "1"),
        *([("config", "validate", file)] if "tlsConfig" not in extender else []),
    ):
        options = () if command[0] == "config" else ("--config", file)
        assert refused(run(*command, *options)).startswith(f"{file}: {line}")
