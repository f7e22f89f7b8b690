"""`moorage explain` and `moorage pending` on gangs, of manifests and of a log file."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from moorage.insight.log.decision_log import DecisionLog
from moorage.insight.log.writing import LogFile
from tests.cli.running import run, write
from tests.contrib.gang_clusters import CONFIGURATION, gang, node, pod, simulated


@pytest.fixture
def asked(tmp_path: Path) -> list[str]:
    """Options for a cluster with a gang that lacks room for one, and pods whose group does not exist."""
    documents = [node("n", cpu="3"), *gang("train", 4, 4), pod("half-0", group="half"), *gang("few", 3, 2)]
    cluster = write(tmp_path / "cluster.yaml", *documents)
    config = write(tmp_path / "config.yaml", CONFIGURATION)
    return ["--cluster", str(cluster), "--config", str(config)]


def test_a_gang_that_does_not_fit(asked: list[str]) -> None:
    for name, itself in (
        ("train-0", "It would stay pending, though it would fit n by itself.\n"),
        ("train-3", "It would stay pending.\nThe only node lacks cpu (closest: n, short by 1).\n"),
    ):
        result = run("explain", name, *asked)
        assert (result.exit_code, result.stderr) == (3, "")
        assert result.stdout == (
            "Pod group default/train: 3 of 4 members fit; default/train-3 does not: nodes lack cpu.\n"
            "It has 4 members: none has a node and 4 wait.\n"
            f"{itself}"
            "The whole group would fit if: its cpu request were 750m or less, for each of 4 members (n) · "
            "there were one more node like n.\n"
        )


def test_a_gang_that_fits(asked: list[str], tmp_path: Path) -> None:
    extra = write(tmp_path / "extra.yaml", node("more", cpu="1"))
    result = run("explain", "train-3", *asked, "--extra-node", extra)
    assert result.exit_code == 0
    assert result.stdout.startswith("Pod group default/train: enough of its members fit, it needs 4.\n")
    assert "It would go to node more.\n" in result.stdout


def test_groups_that_lack_members_or_do_not_exist(asked: list[str]) -> None:
    first = {name: run("explain", name, *asked).stdout.splitlines()[0] for name in ("half-0", "few-1")}
    assert first == {
        "half-0": "It names the pod group default/half, which does not exist: it waits until there is one.",
        "few-1": "Pod group default/few: it needs 3 members, and there are only 2.",
    }
    document = json.loads(run("explain", "half-0", *asked, "-o", "json").stdout)
    assert document["gang"] == {"name": "default/half", "exists": False, "fits": False}
    assert document["advice"] == []


def test_without_the_plugin_a_group_means_nothing(asked: list[str]) -> None:
    result = run("explain", "half-0", *asked[:2])
    assert result.exit_code == 0 and "group" not in result.stdout


def test_evaluate_counts_the_pod_among_its_gang(asked: list[str], tmp_path: Path) -> None:
    file = write(tmp_path / "pod.yaml", pod("train-0", group="train"))
    result = run("evaluate", *asked, "--pod", file, "--advise")
    assert result.exit_code == 3
    assert (
        "\nPod group default/train: 3 of 4 members fit; default/train-3 does not: nodes lack cpu."
        in result.stdout
    )
    assert "its cpu request were 750m or less, for each of 4 members" in result.stdout
    told = json.loads(run("evaluate", *asked, "--pod", file, "-o", "json").stdout)
    assert told["feasible"] == ["n"] and not told["gang"]["fits"]


def test_pending_has_a_cause_for_each_gang(asked: list[str]) -> None:
    result = run("pending", *asked)
    assert result.exit_code == 3
    assert result.stdout.startswith("7 pods wait, for 3 causes.\n\n4 pods of pod group default/train")
    assert ": 3 of 4 members fit; default/train-3 does not: nodes lack cpu.\n" in result.stdout
    assert ": it needs 3 members, and there are only 2.\n" in result.stdout
    assert ": the pod group default/half does not exist.\n" in result.stdout
    assert "\n  The whole group would fit if: its cpu request were 750m or less, for each of" in result.stdout
    assert "would free the most, 4 of 7 pods (default/train-0, default/train-1, " in result.stdout
    wide = run("pending", *asked, "-o", "wide").stdout
    assert "pod group default/few: it needs 3 members, and there are only 2\n" in wide


def test_lists_of_groups_as_kubectl_prints_them(asked: list[str], tmp_path: Path) -> None:
    documents = [node("n", cpu="3"), *gang("train", 4, 4)]
    group = {key: value for key, value in documents[1].items() if key not in ("kind", "apiVersion")}
    listed = {"apiVersion": "scheduling.x-k8s.io/v1alpha1", "kind": "PodGroupList", "items": [group]}
    cluster = write(tmp_path / "lists.yaml", documents[0], listed, *documents[2:])
    result = run("explain", "train-0", "--cluster", cluster, *asked[2:])
    assert result.stdout.startswith("Pod group default/train: 3 of 4 members fit")


def test_a_gang_in_a_log(tmp_path: Path) -> None:
    path, log = tmp_path / "decisions.log", DecisionLog()
    with LogFile(path, log):
        simulated([node("n", cpu="3"), *gang("train", 4, 4)], journal=log)
    for name in ("train-0", "train-3"):
        result = run("explain", name, "--log", path)
        assert (result.exit_code, result.stderr) == (3, "")
        first, second, *more = result.stdout.splitlines()
        assert first == (
            "Pod group default/train: of 4 members in the log, 3 got a node at the last try and gave it back "
            "and 1 got none; default/train-3 did not fit: nodes lack cpu."
        )
        assert second.startswith("Last tried ")
    assert more[0] == "The only node lacks cpu."
    story = run("explain", "train-0", "--log", path, "--attempts").stdout
    assert "withdrawn" in story and "3 of 4 members of the pod group fit" in story
