"""`moorage explain` on clusters of manifests."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest
import yaml

from tests.cli.insight.clusters import manifests
from tests.cli.running import listed, node, on_terminal, pod, refused, run, write, write_plugin

V1 = "kubescheduler.config.k8s.io/v1"


def words(cluster: Path, *args: str | Path, code: int = 3) -> str:
    result = run("explain", *args, "--cluster", cluster)
    assert (result.exit_code, result.stderr) == (code, "")
    return result.stdout


def test_pending_pods(tmp_path: Path) -> None:
    cluster = manifests(tmp_path)
    assert words(cluster, "big") == (
        "It would stay pending.\n"
        "3 of 6 nodes lack cpu (closest: node-1, short by 100m); 2 have the taint gpu=true:NoSchedule; "
        "1 is cordoned.\n"
        "It would fit if: it tolerated gpu=true:NoSchedule (gpu-1, gpu-2) · its cpu request were 1400m or "
        "less (node-1) · its cpu request were 1300m or less (node-1, node-2) · old were uncordoned · "
        "gpu-1 had no taint gpu=true:NoSchedule · 3 more ways.\n"
        "It would preempt others if: its priority were 1, which preempts default/busy-1 on node-1.\n"
    )
    assert "3 of 6 nodes do not match its node selector or affinity" in words(cluster, "pod/picky")
    assert "held back by its scheduling gates example.com/wait" in words(cluster, "default/gated")
    assert "Preemption makes room on node-1: default/busy-1 must go" in words(
        cluster, "important", "-n", "shop"
    )


def test_placed_pods_and_those_that_would_be(tmp_path: Path) -> None:
    cluster = manifests(tmp_path)
    assert words(cluster, "small", code=0).startswith(
        "It would go to node node-1.\n3 of 6 nodes fit; node-1 scored"
    )
    assert words(cluster, "busy-1", code=0).startswith("On node-1, and it would go there again.\n")


WHAT_IF = {
    "less": (["--set", "spec.containers[0].resources.requests.cpu=1400m"], "It would go to node node-1."),
    "tolerate": (["--tolerate", "gpu"], "It would go to one of the nodes gpu-1 or gpu-2."),
    "without": (["--without-pod", "default/busy-2"], "It would go to node node-2."),
    "both": (
        ["--tolerate", "gpu=true:NoSchedule", "--set", "spec.nodeSelector.a=b"],
        "It would stay pending.",
    ),
}


@pytest.mark.parametrize("case", WHAT_IF)
def test_what_if(case: str, tmp_path: Path) -> None:
    options, expected = WHAT_IF[case]
    result = run("explain", "big", "--cluster", manifests(tmp_path), *options)
    assert result.stdout.startswith(expected)
    assert result.exit_code == (3 if "pending" in expected else 0)


def test_what_if_there_were_another_node_configuration_or_plugin(tmp_path: Path) -> None:
    cluster = manifests(tmp_path)
    extra = write(tmp_path / "node.yaml", node("fresh"))
    assert "go to node fresh." in words(cluster, "big", "--extra-node", extra, code=0)
    config = write(
        tmp_path / "config.yaml",
        {
            "apiVersion": V1,
            "kind": "KubeSchedulerConfiguration",
            "profiles": [{"plugins": {"filter": {"disabled": [{"name": "NodeUnschedulable"}]}}}],
        },
    )
    assert "1 is cordoned" not in words(cluster, "picky", "--config", config)
    other = write(tmp_path / "other.yaml", listed(node("n", labels={"noisy": "true"}), pod("p")))
    plugin = write_plugin(tmp_path / "quiet.py")
    assert 'The only node is rejected by Quiet ("node is noisy").' in words(other, "p", "--plugin", plugin)


def test_tables_and_formats(tmp_path: Path) -> None:
    cluster = manifests(tmp_path)
    text = words(cluster, "small", "--nodes", "--plugins", code=0)
    assert "\nNodes:\nNODE    FITS    TAINTTOLERATION" in text
    assert "\nnode-1  chosen  3x100" in text
    assert "TaintToleration: node(s) had untolerated taint(s)" in text
    assert "\nPlugins (- for those with nothing to say):\nPLUGIN" in text
    assert words(cluster, "small", "-o", "wide", code=0) == text
    document = json.loads(words(cluster, "big", "-o", "json"))
    assert document["words"][0] == "It would stay pending."
    assert document["closest"]["short"] == "100m"
    assert document["advice"][0]["text"] == "it tolerated gpu=true:NoSchedule (gpu-1, gpu-2)"
    assert document == yaml.safe_load(words(cluster, "big", "-o", "yaml"))
    rows = list(csv.DictReader(io.StringIO(words(cluster, "small", "-o", "csv", code=0))))
    assert [(row["node"], row["fits"]) for row in rows][:2] == [("node-1", "chosen"), ("node-2", "yes")]
    by_plugin = list(csv.DictReader(io.StringIO(words(cluster, "big", "-o", "csv", "--plugins"))))
    assert {row["plugin"]: row["rejected"] for row in by_plugin}["NodeResourcesFit"] == "3"


def test_words_fold_on_a_terminal(tmp_path: Path) -> None:
    shown = on_terminal("explain", "big", "--cluster", manifests(tmp_path), "-o", "wide")
    assert max(map(len, shown.splitlines())) <= 80
    assert "It would stay pending." in shown


def test_hostile_names_and_messages_move_no_cursor(tmp_path: Path) -> None:
    plugin = write_plugin(
        tmp_path / "hostile.py",
        "from moorage import FilterPlugin, Status\n\n\nclass Hostile(FilterPlugin):\n"
        '    """Writes to terminals."""\n\n    def filter(self, cycle, pod, node):\n'
        '        return Status.unschedulable("\\x1b[2J\\u202e\\x9b31m<b>gone</b>\\n")\n',
    )
    cluster = write(tmp_path / "cluster.yaml", listed(node("n"), pod("p")))
    for output in ("words", "wide", "json", "yaml", "csv"):
        result = run("explain", "p", "--cluster", cluster, "--plugin", plugin, "-o", output)
        assert result.exit_code == 3
        assert all(letter.isprintable() or letter == "\n" for letter in result.stdout), output
        assert "<b>gone</b>" in result.stdout
        if output == "json":
            reasons = json.loads(result.stdout)["nodeStatus"]["n"]["reasons"]
            assert reasons == ["\x1b[2J\u202e\x9b31m<b>gone</b>\n"]


def test_bad_input_is_one_line(tmp_path: Path) -> None:
    cluster = manifests(tmp_path)
    nothing = write(tmp_path / "nothing.yaml", pod("only"))

    def line(*args: str | Path) -> str:
        return refused(run("explain", *args))

    assert (
        line("bog", "--cluster", cluster) == f"{cluster}: has no pod default/bog; did you mean default/big?"
    )
    assert line("big", "-n", "shop", "--cluster", cluster).endswith("; did you mean default/big?")
    assert "namespace empty has none" in line("x", "-n", "empty", "--cluster", cluster)
    assert "is no pod; write NAME, pod/NAME or NAMESPACE/NAME" in line("a/b/c", "--cluster", cluster)
    assert "in another namespace than" in line("a/b", "-n", "c", "--cluster", cluster)
    assert "there is no pod" not in line("big", "--cluster", cluster, "--without-pod", "x")
    assert "holds no Node" in line("big", "--cluster", cluster, "--extra-node", nothing)
    assert "--set: 'spec.x': it has no `=`" in line("big", "--cluster", cluster, "--set", "spec.x")
    assert "--tolerate: 'a:b' is no taint" in line("big", "--cluster", cluster, "--tolerate", "a:b")
    assert "spec.containers" in line("big", "--cluster", cluster, "--set", "spec.containers=7")
    assert "cannot read the file" in line("big", "--cluster", tmp_path / "none.yaml")
    assert "what is only tried has no past" in line("big", "--cluster", cluster, "-o", "csv", "--attempts")
    assert "plugins are code" in line("big", "--plugin", "x.py")
    assert "a log tells what was" in line("big", "--log", cluster, "--tolerate", "a")


def test_sources_exclude_one_another(tmp_path: Path) -> None:
    result = run("explain", "p", "--cluster", tmp_path, "--scheduler", "https://127.0.0.1:1")
    assert result.exit_code == 2
    assert "Ask one: --cluster and --scheduler do not go together." in result.stderr
