"""What a scheduler tells of PodGroups of Kubernetes itself, and of their pods."""

from __future__ import annotations

from moorage.config import load
from moorage.config.feature_gates import FeatureGates
from moorage.insight.words.groups import words_for_group
from moorage.scheduler.profiles import DEFAULT_CONFIGURATION
from moorage.testing import make_node
from tests.insight.live.test_gang_questions import pending, told
from tests.insight.live.worlds import START, World
from tests.workloads.group_worlds import GANGS, pod_group


def world_of(cpu: str, minimum: int, members: int) -> World:
    gates = FeatureGates(GANGS)
    world = World(nodes=0, config=load(DEFAULT_CONFIGURATION, gates=gates).config, gates=gates)
    world.put(make_node("n", cpu=cpu))
    world.put(pod_group("train", minimum))
    for number in range(members):
        world.pod(f"train-{number}", cpu="1", schedulingGroup={"podGroupName": "train"})
    world.schedule()
    return world


def test_a_gang_that_does_not_fit() -> None:
    world = world_of("2", 3, 3)
    for place in range(3):
        assert told(world, f"train-{place}", advise=True)["words"][:2] == [
            "Pod group default/train: 2 of 3 members fit; default/train-2 does not: nodes lack cpu.",
            "It has 3 members: none has a node and 3 wait.",
        ]
    [group] = pending(world)["groups"]
    assert (group["count"], group["gang"]["name"]) == (3, "default/train")
    assert words_for_group(group, START)[0] == (
        "3 pods of pod group default/train, the oldest for 0 s, 3 tries: "
        "2 of 3 members fit; default/train-2 does not: nodes lack cpu."
    )


def test_advice_for_one_of_its_pods_is_not_said_to_be_for_all() -> None:
    words = " ".join(told(world_of("500m", 3, 3), "train-2", advise=True)["words"])
    assert "It would fit if: " in words
    assert "whole group" not in words


def test_a_gang_with_too_few_pods() -> None:
    words = told(world_of("4", 3, 2), "train-0")["words"]
    assert words[0] == "Pod group default/train: it needs 3 members, and there are only 2."


def test_a_gang_that_runs() -> None:
    world = world_of("4", 2, 2)
    [about] = [each for each in told(world, "train-0")["words"] if each.startswith("Pod group")]
    assert about.startswith("Pod group default/train: 2 of the 2 members that it needs have a node")


def test_a_group_that_is_no_gang_is_not_told_of() -> None:
    assert "gang" not in told(world_of("1", 0, 2), "train-1")
