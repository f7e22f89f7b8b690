"""Judging what another scheduler does, from what the watches bring."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from moorage.api.decoding import from_document
from moorage.api.meta import Object
from moorage.api.pods import Pod, on_node
from moorage.api.storage import PersistentVolumeClaim, StorageClass
from moorage.client.connection import ConnectionConfig
from moorage.client.errors import Withheld
from moorage.client.pod_writer import PodWriter
from moorage.client.read_only import ReadOnlyClient
from moorage.config import load
from moorage.plugins.catalog import in_tree_registry
from moorage.process.choice_judge import (
    AHEAD_SECONDS,
    MOST_AHEAD_SECONDS,
    MOST_SEARCHES,
    MOST_UNDECIDED,
    ChoiceJudge,
)
from moorage.process.shadow_tally import REMEMBERED, Judged
from moorage.server.exposition import render
from moorage.testing import make_node, make_pod

CONFIG = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
NOBODY = ConnectionConfig("http://127.0.0.1:9")
SOFT = ["soft:PreferNoSchedule"]


class World:
    """A shadow without a cluster: what watches would bring is put through its door."""

    def __init__(self, *objects: Object, config: str = CONFIG) -> None:
        self.now = 100.0
        self.told: list[Judged] = []
        self.shadow = ChoiceJudge(
            load(config).config,
            in_tree_registry(),
            client=PodWriter(ReadOnlyClient(NOBODY)),
            on_verdict=self.told.append,
            clock=lambda: self.now,
        )
        self.shadow.services.listers.set_synced()
        for item in objects:
            self.put(item)
        self.shadow.is_judging = True

    def put(self, item: Object) -> None:
        self.now += 0.01
        self.shadow.door.put(item)

    def bind(self, pod: Pod, node: str) -> None:
        self.put(pod)
        self.put(on_node(pod, node))

    def pass_time(self) -> None:
        self.now += AHEAD_SECONDS + 1
        self.shadow.settle_due()

    @property
    def kinds(self) -> list[str]:
        return [judged.verdict.kind for judged in self.told]


def two_nodes(**options: Any) -> World:
    return World(make_node("a"), make_node("b", taints=SOFT), **options)


def test_a_shared_choice_is_told_at_once() -> None:
    world = two_nodes()
    world.bind(make_pod("p"), "a")
    [judged] = world.told
    assert (judged.verdict.kind, judged.profile) == ("agreed", "default-scheduler")
    assert world.shadow.tally.agreement == 1.0


def test_another_is_told_when_its_moment_was_looked_at() -> None:
    world = two_nodes()
    world.bind(make_pod("p"), "b")
    assert world.kinds == []
    world.pass_time()
    assert world.kinds == ["disagreed"]
    assert world.told[0].verdict.plugin == "TaintToleration"


def test_or_at_the_end() -> None:
    world = two_nodes()
    world.bind(make_pod("p"), "b")
    world.shadow.finish()
    assert world.kinds == ["disagreed"]


def test_what_is_explained_by_what_comes_later_is_timing() -> None:
    world = World(make_node("a"), make_node("b", cpu="5"))
    first, second = make_pod("first", cpu="1"), make_pod("second", cpu="1")
    world.put(first)
    world.put(second)
    world.put(on_node(second, "a"))
    world.put(on_node(first, "b"))
    world.pass_time()
    assert world.kinds == ["agreed", "agreed"]
    assert world.shadow.tally.agreement == 1
    assert world.shadow.tally.exceptions == 0


def test_a_pod_whose_claim_is_seen_after_its_nomination_counts_on_its_node() -> None:
    waits = {"volumeBindingMode": "WaitForFirstConsumer", "provisioner": "made.example"}
    storage = from_document(StorageClass, {"metadata": {"name": "s"}, **waits})
    claim = from_document(
        PersistentVolumeClaim,
        {
            "metadata": {"name": "c", "namespace": "default", "uid": "c"},
            "spec": {"storageClassName": "s", "accessModes": ["ReadWriteOnce"]},
            "status": {"phase": "Pending"},
        },
    )
    world = World(make_node("a", cpu="10"), make_node("b", cpu="8"), storage)
    volumes = [{"name": "v", "persistentVolumeClaim": {"claimName": "c"}}]
    unscheduled = [{"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}]
    first, tried, nominated = (
        make_pod("first", cpu="5", uid="first", volumes=volumes, status=status)
        for status in (
            {},
            {"conditions": unscheduled},
            {"conditions": unscheduled, "nominatedNodeName": "a"},
        )
    )
    for each in (first, tried, nominated, claim):
        world.put(each)
    world.bind(make_pod("second", cpu="1"), "b")
    world.put(on_node(nominated, "a"))
    world.pass_time()
    assert world.kinds == ["agreed", "agreed"]
    assert world.told[1].verdict.words.endswith("persistentvolumeclaim default/c came after it")


def test_pods_of_other_schedulers_and_those_that_come_with_a_node_are_left_alone() -> None:
    world = two_nodes()
    world.bind(make_pod("p", scheduler="another"), "b")
    world.put(make_pod("q", node="b"))
    world.put(make_pod("q", node="b", labels={"changed": "yes"}))
    world.shadow.finish()
    assert world.told == []


def test_nothing_is_judged_before_the_first_lists_are_there() -> None:
    world = two_nodes()
    world.shadow.is_judging = False
    world.bind(make_pod("p"), "b")
    world.shadow.finish()
    assert world.told == []


def test_a_choice_is_judged_once_when_it_is_announced() -> None:
    world = two_nodes()
    pod = make_pod("p", cpu="1")
    world.put(pod)
    announced = make_pod("p", cpu="1", status={"nominatedNodeName": "a"})
    world.put(announced)
    assert world.kinds == ["agreed"]
    assert world.shadow.services.state.is_assumed(pod.uid)
    world.put(on_node(announced, "a"))
    assert world.kinds == ["agreed"]


def test_an_announcement_is_judged_without_the_nomination() -> None:
    world = two_nodes()
    world.put(make_pod("p"))
    world.put(make_pod("p", status={"nominatedNodeName": "b"}))
    world.shadow.finish()
    assert world.kinds == ["disagreed"]


def test_a_pod_that_waits_for_victims_is_judged_when_it_is_bound() -> None:
    world = World(make_node("a", cpu="1"), make_node("b", cpu="1"))
    victim = make_pod("victim", node="a", cpu="1")
    world.put(victim)
    world.put(make_pod("other", node="b", cpu="1", priority=50))
    preemptor: dict[str, Any] = {"cpu": "1", "priority": 10}
    condition = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}
    world.put(make_pod("p", **preemptor))
    nominated = make_pod("p", **preemptor, status={"nominatedNodeName": "a", "conditions": [condition]})
    world.put(nominated)
    assert world.told == []
    # Meanwhile its room is kept: nobody less important gets it.
    world.shadow.door.remove(victim)
    world.bind(make_pod("thief", cpu="1"), "a")
    world.shadow.door.remove(make_pod("thief", cpu="1", node="a"))
    world.put(on_node(nominated, "a"))
    world.shadow.finish()
    assert sorted((judged.verdict.pod, judged.verdict.kind) for judged in world.told) == [
        ("default/p", "agreed"),
        ("default/thief", "infeasible"),
    ]


def test_a_second_nomination_with_the_same_words_is_no_announcement() -> None:
    world = World(make_node("a", cpu="1"), make_pod("there", node="a", cpu="1"))
    condition = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}
    world.put(make_pod("p", cpu="1", priority=10, status={"conditions": [condition]}))
    status = {"nominatedNodeName": "a", "conditions": [condition]}
    world.put(make_pod("p", cpu="1", priority=10, status=status))
    assert world.told == []
    assert len(world.shadow.services.nominations) == 1


def test_where_all_is_different_not_every_moment_is_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("moorage.process.choice_judge.MOST_OPEN", 30)
    monkeypatch.setattr("moorage.process.choice_judge.MOST_FOR_LATER", 5)
    world = two_nodes()
    for number in range(40):
        world.bind(make_pod(f"p{number}", cpu="1m"), "b")
    assert (len(world.told), world.shadow.tally.not_looked_into) == (10, 10)
    world.shadow.finish()
    assert world.kinds == ["disagreed"] * 40
    assert world.shadow.tally.not_looked_into == 40 - 5 - MOST_SEARCHES


def test_those_that_are_left_for_later_have_their_turn() -> None:
    world = two_nodes()
    for number in range(3 * MOST_SEARCHES):
        world.bind(make_pod(f"p{number}", cpu="1m"), "b")
    for turn in range(1, 4):
        world.pass_time()
        assert len(world.told) == turn * MOST_SEARCHES
    assert world.shadow.tally.not_looked_into == 0


def test_an_exception_waits_until_all_are_decided_on_that_came_before() -> None:
    world = World(make_node("a"), make_node("b", cpu="5"))
    first, second = make_pod("first", cpu="1"), make_pod("second", cpu="1")
    world.put(first)
    world.put(second)
    world.put(on_node(second, "a"))
    for _ in range(3):
        world.pass_time()
        assert world.told == []
    world.put(on_node(first, "b"))
    world.pass_time()
    assert world.kinds == ["agreed", "agreed"]


def test_but_not_for_ever() -> None:
    world = two_nodes()
    world.put(make_pod("stuck"))
    world.bind(make_pod("p"), "b")
    world.now += MOST_AHEAD_SECONDS
    world.pass_time()
    assert world.kinds == ["disagreed"]


@pytest.mark.parametrize("how", ("told why", "gone", "gated"))
def test_nor_for_pods_that_are_not_about_to_be_placed(how: str) -> None:
    world = two_nodes()
    gates: dict[str, Any] = {"schedulingGates": [{"name": "example.com/gate"}]} if how == "gated" else {}
    waiting = make_pod("waiting", **gates)
    world.put(waiting)
    world.bind(make_pod("p"), "b")
    if how == "told why":
        world.put(make_pod("waiting", status={"conditions": [{"type": "PodScheduled", "status": "False"}]}))
    elif how == "gone":
        world.shadow.door.remove(waiting)
    world.pass_time()
    assert world.kinds == ["disagreed"]


def test_little_is_remembered() -> None:
    world = two_nodes()
    for number in range(3 * REMEMBERED):
        pod = make_pod(f"p{number}", cpu="1m")
        world.bind(pod, "b")
        world.pass_time()
        world.shadow.door.remove(on_node(pod, "b"))
    tally = world.shadow.tally
    assert tally.counts["disagreed"] == 3 * REMEMBERED
    assert len(tally.document()["last"]["disagreed"]) == REMEMBERED
    world.now += 60
    world.put(make_node("a"))
    assert len(world.shadow.door.since(0)) == 1
    assert world.shadow.door._arrivals == {}
    assert world.shadow.door.pods() == []


def test_pods_that_went_undecided_are_not_kept_behind_one_that_waits() -> None:
    world = two_nodes()
    world.put(make_pod("waits"))
    for number in range(3 * MOST_UNDECIDED):
        pod = make_pod(f"p{number}")
        world.put(pod)
        world.shadow.door.remove(pod)
        world.shadow.first_undecided()
    assert len(world.shadow.undecided) <= MOST_UNDECIDED


def test_extenders_are_not_asked() -> None:
    extender = "extenders:\n- urlPrefix: http://127.0.0.1:9\n  filterVerb: filter\n"
    world = two_nodes(config=CONFIG + extender)
    world.bind(make_pod("p"), "a")
    assert world.kinds == ["agreed"]


def test_what_plugins_have_cannot_write() -> None:
    world = two_nodes()
    client = world.shadow.services.client
    assert client is not None

    async def write() -> None:
        done = client.bind(make_pod("p"), "a")
        assert done is not None
        await done

    with pytest.raises(Withheld):
        asyncio.run(write())


def test_a_choice_that_breaks_a_plugin_is_counted(caplog: pytest.LogCaptureFixture) -> None:
    world = two_nodes()

    def broken(pod: Pod, node: str) -> None:
        raise RuntimeError("broken")

    world.shadow.agreement.judge = broken  # type: ignore[assignment, method-assign]
    world.bind(make_pod("p"), "a")
    assert (world.told, world.shadow.tally.failures) == ([], 1)
    assert "A choice could not be judged" in caplog.text


def test_metrics() -> None:
    world = two_nodes()
    world.bind(make_pod("p"), "a")
    world.bind(make_pod("q"), "b")
    world.shadow.finish()
    shown = render([world.shadow.tally.registry])
    for line in (
        'moorage_shadow_decisions_total{profile="default-scheduler",verdict="agreed"} 1',
        'moorage_shadow_decisions_total{profile="default-scheduler",verdict="disagreed"} 1',
        "moorage_shadow_agreement_ratio 0.5",
        "moorage_shadow_judgement_duration_seconds_count 2",
    ):
        assert f"{line}\n" in shown, shown


def test_the_report() -> None:
    world = two_nodes()
    assert world.shadow.tally.document()["agreement"] is None
    world.bind(make_pod("p"), "b")
    world.shadow.finish()
    report = world.shadow.tally.document()
    assert report["verdicts"] == {
        "agreed": 0,
        "sampled": 0,
        "timing": 0,
        "disagreed": 1,
        "infeasible": 0,
    }
    assert report["plugins"] == [{"plugin": "TaintToleration", "verdict": "disagreed", "decisions": 1}]
    [told] = report["last"]["disagreed"]
    assert (told["pod"], told["node"], told["best"]) == ("default/p", "b", ["a"])
