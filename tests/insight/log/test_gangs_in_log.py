"""The log tells members that had a node and gave it back from those that had none, or were refused."""

from __future__ import annotations

from pathlib import Path

from moorage.insight.log.decision_log import DecisionLog
from moorage.insight.log.files import read_log
from moorage.insight.log.gangs import gang_in_log
from moorage.insight.log.writing import LogFile
from tests.contrib.gang_clusters import gang, node, pod, simulated

NAMES = ["g-0", "g-1", "g-2", "g-3"]


def logged(documents: list[dict[str, object]]) -> DecisionLog:
    log = DecisionLog()
    simulated(documents, journal=log)
    return log


def last(log: DecisionLog, name: str) -> dict[str, object]:
    return log.attempts(pod=f"default/{name}", limit=1)[0].summary()


def test_members_that_gave_their_node_back() -> None:
    log = logged([node("n", cpu="3"), *gang("g", 4, 4), pod("alone", cpu="0")])
    told = {name: last(log, name) for name in NAMES}
    assert [each["outcome"] for each in told.values()] == ["withdrawn"] * 3 + ["unschedulable"]
    assert {each["gang"] for each in told.values()} == {"default/g"}
    assert "gang" not in last(log, "alone")
    first = log.attempts(pod="default/g-0", limit=10)[-1].summary()
    assert (first["node"], first["after"]["by"]) == ("n", "")
    assert first["after"]["message"] == "3 of 4 members of the pod group fit"
    withdrawn = log.attempts(outcome="withdrawn", limit=100)
    assert {each.entry.name for each in withdrawn} == {"g-0", "g-1", "g-2"}


def test_a_pod_without_its_group_is_refused_and_not_withdrawn() -> None:
    log = logged([node("n"), *gang("g", 2, 2)[1:]])
    told = last(log, "g-0")
    assert (told["outcome"], told["after"]["by"]) == ("refused", "Coscheduling")  # type: ignore[index]


def test_members_that_were_bound() -> None:
    log = logged([node("n", cpu="4"), *gang("g", 4, 4)])
    assert {last(log, name)["outcome"] for name in NAMES} == {"bound"}
    assert gang_in_log(log, "default/g") == {
        "name": "default/g",
        "exists": True,
        "fits": True,
        "members": 4,
        "running": 4,
        "withdrawn": 0,
    }


def test_racks_that_were_too_small() -> None:
    rack = "example.com/rack"
    documents = gang("g", 3, 3)
    documents[0]["metadata"]["annotations"] = {"kueue.x-k8s.io/podset-required-topology": rack}
    log = logged([*(node(f"n-{place}", cpu="2", labels={rack: place}) for place in "ab"), *documents])
    whys = {each.entry.after_message for each in log.attempts(outcome="withdrawn", limit=100)}
    assert "2 of 3 members of the pod group fit" in whys


def test_a_file_tells_the_same(tmp_path: Path) -> None:
    path, log = tmp_path / "decisions.log", DecisionLog()
    with LogFile(path, log):
        simulated([node("n", cpu="3"), *gang("g", 4, 4)], journal=log)
    found = gang_in_log(read_log(path), "default/g")
    assert found == gang_in_log(log, "default/g")
    assert found is not None
    assert (found["members"], found["running"], found["withdrawn"], found["fits"]) == (4, 0, 3, False)
    assert found["failed"]["pod"] == "default/g-3"
    assert "Insufficient cpu" in found["failed"]["message"]
    assert gang_in_log(log, "default/other") is None and gang_in_log(log, "") is None


def test_a_redacted_file_names_no_gang(tmp_path: Path) -> None:
    path, log = tmp_path / "decisions.log", DecisionLog()
    with LogFile(path, log, redact=True):
        documents = gang("secret", 4, 4) + gang("hidden", 3, 2)
        simulated([node("n", cpu="3"), *documents], journal=log)
    read = read_log(path)
    names = {each.entry.gang for each in read.attempts(limit=1000)}
    assert len(names) == 2 and all(name.startswith("group-") for name in names)
    told = "".join(str(each.detail()) for each in read.attempts(limit=1000))
    assert "secret" not in told and "hidden" not in told
