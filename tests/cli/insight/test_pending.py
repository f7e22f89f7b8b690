"""`moorage pending` on clusters of manifests."""

from __future__ import annotations

import json
from pathlib import Path

from tests.cli.insight.clusters import manifests
from tests.cli.running import listed, node, on_terminal, pod, run, write


def test_pods_by_cause(tmp_path: Path) -> None:
    result = run("pending", "--cluster", manifests(tmp_path))
    assert (result.exit_code, result.stderr) == (3, "")
    text = result.stdout
    assert "pods wait, for 3 causes." in text.splitlines()[0]
    assert "nodes do not match its node selector or affinity, have taints" in text
    assert "\n  default/picky\n" in text
    assert "not tried yet: held back by its scheduling gates example.com/wait" in text
    assert "  It would fit if: its scheduling gate example.com/wait were removed" in text


def test_the_one_change_that_frees_the_most(tmp_path: Path) -> None:
    tainted = node("n", spec={"taints": [{"key": "gpu", "effect": "NoSchedule"}]})
    pods = [pod(f"p{i}", "100m") for i in range(4)]
    result = run("pending", "--cluster", write(tmp_path / "c.yaml", listed(tainted, *pods)))
    assert (
        "The one change that would free the most, 4 of 4 pods (default/p0, default/p1, default/p2 and 1 "
        "more): n had no taint gpu:NoSchedule."
    ) in result.stdout


def test_namespaces_and_formats(tmp_path: Path) -> None:
    cluster = manifests(tmp_path)
    document = json.loads(run("pending", "--cluster", cluster, "-o", "json", "--no-advice").stdout)
    assert sum(group["count"] for group in document["groups"]) == document["pods"] > 2
    assert "best" not in document
    nothing = run("pending", "--cluster", cluster, "-n", "nowhere")
    assert (nothing.exit_code, nothing.stdout) == (0, "No pod is waiting.\n")
    wide = run("pending", "--cluster", cluster, "-o", "wide", "--no-advice").stdout
    assert "PODS  OLDEST" in wide
    shown = on_terminal("pending", "--cluster", cluster)
    assert max(map(len, shown.splitlines())) <= 80


def test_options_that_do_not_go_together(tmp_path: Path) -> None:
    for options in (["-n", "a", "-A"], ["--cluster", "c", "--token", "t"], ["--plugin", "p.py"]):
        assert run("pending", *options).exit_code == 2
