"""What a scheduler tells of gangs: as a whole, and of their members."""

from __future__ import annotations

from typing import Any

import msgspec

from moorage.contrib.objects import GROUP_LABEL
from moorage.insight.live.comparing import CompareBody
from moorage.insight.live.trying import TryBody
from moorage.plugins.catalog import in_tree_registry
from moorage.scheduler.profiles import default_configuration
from moorage.testing import make_node
from tests.contrib.gang_worlds import pod_group
from tests.insight.live.worlds import World, run

Document = dict[str, Any]

LACKS = "3 of 4 members fit; default/train-3 does not: nodes lack cpu"


def world_of(cpu: str = "3", nodes: int = 1) -> World:
    registry = in_tree_registry()
    world = World(nodes=0, config=default_configuration(registry, ["Coscheduling"]))
    for number in range(nodes):
        world.put(make_node(f"n{number}", cpu=cpu))
    return world


def train(world: World, size: int = 4, minimum: int = 4, **more: Any) -> None:
    world.put(pod_group("train", minimum))
    for number in range(size):
        world.pod(f"train-{number}", cpu="1", labels={GROUP_LABEL: "train"}, **more)


def told(world: World, name: str, *, advise: bool = False) -> Document:
    before = world.fingerprint()
    document = run(lambda: world.questions.pod("default", name, advise=advise))
    assert world.fingerprint() == before
    return document


def pending(world: World, *, advise: bool = False) -> Document:
    before = world.fingerprint()
    document = run(lambda: world.questions.pending(advise=advise))
    assert world.fingerprint() == before
    return document


def test_a_waiting_member_is_told_first_what_the_gang_lacks() -> None:
    world = world_of()
    train(world)
    world.schedule()
    for name in ("train-0", "train-3"):
        document = told(world, name, advise=True)
        assert document["words"][:2] == [
            f"Pod group default/train: {LACKS}.",
            "It has 4 members: none has a node and 4 wait.",
        ]
        assert document["words"][2].startswith("Pending for ")
        assert document["words"][-1].startswith(
            "The whole group would fit if: its cpu request were 750m or less, for each of 4 members (n0)"
        )
        gang = document["gang"]
        assert (gang["minimum"], gang["members"], gang["running"], gang["waiting"]) == (4, 4, 0, 4)
    assert "n0 was found for it at the last try, and given back: " in " ".join(
        told(world, "train-0")["words"]
    )


def test_members_that_run() -> None:
    world = world_of(cpu="4")
    train(world, size=5)
    world.schedule()
    placed, left = told(world, "train-0"), told(world, "train-4")
    assert placed["words"][-2:] == [
        "Pod group default/train: 4 of the 4 members that it needs have a node, so others go their own way.",
        "It has 5 members: 4 have nodes and 1 waits.",
    ]
    assert placed["words"][0].startswith("Placed on n0")
    assert left["gang"]["fits"] and left["gang"]["message"] == ""
    assert "The only node lacks cpu" in " ".join(left["words"])


def test_members_that_are_missing_gated_or_without_a_group() -> None:
    world = world_of()
    train(world, size=2)
    world.pod("half-0", labels={GROUP_LABEL: "half"})
    world.put(pod_group("gated", 2))
    world.pod("gated-0", labels={GROUP_LABEL: "gated"})
    world.pod("gated-1", labels={GROUP_LABEL: "gated"}, schedulingGates=[{"name": "wait"}])
    world.schedule()
    first = {name: told(world, name, advise=True) for name in ("train-0", "half-0", "gated-0")}
    assert [document["words"][0] for document in first.values()] == [
        "Pod group default/train: it needs 4 members, and there are only 2.",
        "It names the pod group default/half, which does not exist: it waits until there is one.",
        "Pod group default/gated: it needs 2 of its 2 members, and 1 is held back by its gates.",
    ]
    assert [document["advice"] for document in first.values()] == [[], [], []]


def test_a_gang_is_one_cause() -> None:
    world = world_of()
    train(world)
    world.put(pod_group("few", 3))
    for number in range(2):
        world.pod(f"few-{number}", labels={GROUP_LABEL: "few"})
        world.pod(f"half-{number}", labels={GROUP_LABEL: "half"})
        world.pod(f"big-{number}", cpu="10")
    world.schedule()
    document = pending(world)
    found = {(group.get("gang") or {}).get("name", ""): group for group in document["groups"]}
    assert (document["pods"], len(document["groups"])) == (10, 4)
    assert {name: group["count"] for name, group in found.items()} == {
        "default/train": 4,
        "default/few": 2,
        "default/half": 2,
        "": 2,
    }


def test_two_gangs_that_lack_the_same_are_two_causes() -> None:
    world = world_of()
    train(world)
    world.put(pod_group("eval", 5))
    for number in range(5):
        world.pod(f"eval-{number}", cpu="1", labels={GROUP_LABEL: "eval"})
    world.schedule()
    assert [group["gang"]["name"] for group in pending(world)["groups"]] == ["default/eval", "default/train"]


def test_the_change_that_frees_a_gang_is_counted_with_all_its_members() -> None:
    world = world_of()
    train(world)
    world.schedule()
    document = pending(world, advise=True)
    assert document["groups"][0]["advice"]["text"].startswith("its cpu request were 750m or less")
    assert (document["best"]["frees"], document["best"]["pods"]) == (
        4,
        [f"default/train-{n}" for n in range(4)],
    )


def test_a_change_that_frees_a_part_of_a_gang_frees_nobody() -> None:
    world = world_of(cpu="1", nodes=3)
    train(world)
    world.pod("lone", cpu="2")
    world.schedule()
    document = pending(world, advise=True)
    advised = {group["pods"][0]: group["advice"] for group in document["groups"]}
    assert advised["default/lone"]["text"] == "its cpu request were 1 or less (n0, n1, n2)"
    # With `lone` on one node, the gang needs two more.
    assert document["best"]["pods"] == [f"default/train-{number}" for number in range(4)]


def test_what_if_a_member_were_otherwise_is_tried_with_the_others() -> None:
    world = world_of()
    train(world)
    world.schedule()

    def tried(**body: Any) -> Document:
        asked = TryBody(pod={"name": "train-3"}, **body)
        return msgspec.json.decode(run(lambda: world.questions.try_pod(asked)))  # type: ignore[no-any-return]

    now = tried(advise=True)
    assert now["words"][0] == f"Pod group default/train: {LACKS}."
    assert not now["feasible"] and not now["gang"]["fits"] and now["advice"]
    more = tried(extra_nodes=[make_node("more", cpu="1").raw])
    assert more["gang"]["fits"] and more["best"] == ["more"]
    assert more["words"][0] == "Pod group default/train: enough of its members fit, it needs 4."
    # It goes first now, and the last of the others has too little room.
    less = tried(set=["spec.containers[0].resources.requests.cpu=1m", "spec.priority=1"])
    assert not less["gang"]["fits"] and "train-2 does not" in less["gang"]["message"]
    assert less["words"][2] == "It would stay pending, though it would fit n0 by itself."


def test_another_configuration_is_compared_with_whole_gangs() -> None:
    world = world_of(cpu="7")
    train(world)
    world.put(pod_group("eval", 4))
    for number in range(4):
        world.pod(f"eval-{number}", cpu="1", labels={GROUP_LABEL: "eval"})
    world.schedule()
    head = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
    same = head + (
        "profiles: [{plugins: {queueSort: {disabled: [{name: PrioritySort}]}, "
        "multiPoint: {enabled: [{name: Coscheduling}]}}}]\n"
    )

    def compared(text: str) -> Document:
        return msgspec.json.decode(run(lambda: world.questions.compare(CompareBody(text))))  # type: ignore[no-any-return]

    told = compared(same)
    assert (told["pods"], told["changes"]) == (8, [])
    # Those that wait for one another would go each to the room that is left.
    changes = compared(head)["changes"]
    assert {(each["now"], each["then"], each["why"]) for each in changes} == {(None, "n0", "Coscheduling")}
    assert len({each["pod"].partition("-")[0] for each in changes}) == 1


def test_room_that_is_made_for_a_gang() -> None:
    world = world_of(cpu="1", nodes=2)
    for number in range(2):
        world.pod(f"low-{number}", cpu="1")
    world.schedule()
    train(world, size=2, minimum=2, priority=10)
    asked = TryBody(pod={"name": "train-0"})
    words = run(lambda: world.questions.try_pod(asked)).decode()
    assert (
        "Preemption makes room for the group on n0 and n1: default/low-0 and default/low-1 must go, "
        "then it is tried there." in words
    )
