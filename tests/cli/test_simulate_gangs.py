"""`moorage simulate` with gangs, made up and of manifests."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

from moorage.contrib.objects import GROUP_LABEL
from moorage.what_if.gang_workloads import SIZES, make_pod_groups
from moorage.what_if.workloads import make_pods
from tests.cli.running import refused, run, write, write_plugin
from tests.contrib.gang_clusters import CONFIGURATION, gang, node


def test_made_up_gangs_have_two_to_sixteen_members_and_their_groups() -> None:
    pods = list(make_pods("gangs", 3 * sum(SIZES)))
    sizes = Counter(pod.labels[GROUP_LABEL] for pod in pods)
    groups = {group.name: group.spec.min_member for group in make_pod_groups(pods)}
    assert groups == sizes and len(sizes) == 3 * len(SIZES)
    assert (min(sizes.values()), max(sizes.values())) == (2, 16)
    again = make_pods("gangs", 3 * sum(SIZES))
    assert [pod.raw for pod in again] == [pod.raw for pod in pods]
    assert list(make_pod_groups(make_pods("plain", 5))) == []


def test_gangs_are_whole_or_wait() -> None:
    result = run("simulate", "--nodes", "10", "--pods", "200", "--workload", "gangs")
    assert (result.exit_code, result.stderr) == (3, "")
    assert "160 of 200 pods placed on 10 nodes" in result.stdout
    assert "\n24 of 29 gangs are whole, 5 wait, none is placed in part\n" in result.stdout
    told = json.loads(run("simulate", "--nodes=10", "--pods=200", "--workload=gangs", "-o", "json").stdout)
    assert told["gangs"] == {"whole": 24, "waiting": 5, "partial": 0}


def test_all_gangs_are_whole_where_there_is_room(tmp_path: Path) -> None:
    plugin = write_plugin(tmp_path / "quiet.py")
    result = run("simulate", "--nodes", "10", "--pods", "56", "--workload", "gangs", "--plugin", plugin)
    assert result.exit_code == 0
    assert "\n8 of 8 gangs are whole, 0 wait, none is placed in part\n" in result.stdout


def test_a_configuration_has_to_know_of_gangs(tmp_path: Path) -> None:
    plain = {key: CONFIGURATION[key] for key in ("apiVersion", "kind")}
    config = write(tmp_path / "plain.yaml", plain)
    said = refused(run("simulate", "--nodes=1", "--pods=4", "--workload=gangs", "--config", config))
    assert said.endswith("plain.yaml enables Coscheduling; enable it there")
    config = write(tmp_path / "config.yaml", CONFIGURATION)
    assert run("simulate", "--nodes=1", "--pods=4", "--workload=gangs", "--config", config).exit_code == 0


def test_gangs_of_manifests(tmp_path: Path) -> None:
    cluster = write(tmp_path / "cluster.yaml", node("n", cpu="4"), *gang("a", 3, 3), *gang("b", 3, 3))
    config = write(tmp_path / "config.yaml", CONFIGURATION)
    result = run("simulate", cluster, "--config", config)
    assert "\n1 of 2 gangs are whole, 1 wait, none is placed in part\n" in result.stdout


def test_a_gang_that_others_have_placed_in_part(tmp_path: Path) -> None:
    documents = gang("a", 3, 3, cpu="2")
    documents[1]["spec"]["nodeName"] = "n"
    cluster = write(tmp_path / "cluster.yaml", node("n", cpu="4"), *documents)
    config = write(tmp_path / "config.yaml", CONFIGURATION)
    result = run("simulate", cluster, "--config", config)
    assert "\n0 of 1 gangs are whole, 0 wait, 1 have nodes for too few members, such as default/a\n" in (
        result.stdout
    )
    assert "gangs" not in json.loads(run("simulate", cluster, "-o", "json").stdout)
