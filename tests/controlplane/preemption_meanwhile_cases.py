"""What may happen while victims take their time: further cases of preemption."""

from __future__ import annotations

from tests.controlplane.preemption_cases import NO_VICTIMS, NOT_HELPFUL, Case, name_of
from tests.controlplane.stages import WAITS_FOR_VICTIMS, Stage

CASES: dict[str, Case] = {}
CASES_WITH_NODES_THAT_CHANGE: dict[str, Case] = {}
"""Played after the others: how many nodes there are is part of most messages."""


def case(play: Case) -> Case:
    CASES[name_of(play)] = play
    return play


def case_with_nodes_that_change(play: Case) -> Case:
    CASES_WITH_NODES_THAT_CHANGE[name_of(play)] = play
    return play


# To victims and preemptors


@case
async def a_victim_that_ends_anyway(it: Stage) -> None:
    """Somebody deleted it before: nothing is written, and the pod waits."""
    await it.node("a")
    await it.runs("low")
    await it.delete("low")
    await it.set()
    await it.comes()
    await it.nominated()
    await it.ends("low")
    await it.bound()


@case
async def one_victim_ends_anyway(it: Stage) -> None:
    await it.node("a")
    await it.runs("ending", cpu="2", priority="middle")
    await it.runs("low", cpu="2")
    await it.delete("ending")
    await it.set()
    await it.comes()
    await it.makes_room("ending", "low")


@case
async def nobody_less_important_takes_the_room(it: Stage) -> None:
    """Half of it is free already, and a pod that would fit stands back."""
    await it.node("a")
    await it.runs("first", cpu="2")
    await it.runs("second", cpu="2")
    await it.set()
    await it.comes()
    await it.going("first", "second")
    await it.nominated()
    await it.says("preemptor", WAITS_FOR_VICTIMS, ring=True)
    await it.ends("first")
    await it.comes("thief", cpu="1", priority="low")
    await it.says("thief", "Insufficient cpu")
    await it.ends("second")
    await it.bound()


@case
async def lower_nominations_end(it: Stage) -> None:
    """A more important pod takes the node of one that was nominated there; that one has nowhere to go."""
    await it.node("a")
    await it.runs("one", cpu="2")
    await it.runs("two", cpu="2", started="2026-01-02T00:00:00Z")
    await it.set()
    await it.comes("lesser", cpu="2", priority="middle")
    await it.going("two")
    await it.nominated("lesser")
    await it.says("lesser", WAITS_FOR_VICTIMS, ring=True)
    await it.comes()
    await it.going("one", "two")
    await it.nominated()
    await it.says("preemptor", WAITS_FOR_VICTIMS, ring=True)
    await it.nominated("lesser", None)
    await it.says("lesser", "preemption: 0/", ring=True)
    await it.ends("one", "two")
    await it.bound()
    await it.says("lesser", NO_VICTIMS, ring=True)


@case
async def more_important_after_a_nomination(it: Stage) -> None:
    """The victim is on its way out already; the room is for the more important pod."""
    await it.node("a")
    await it.runs("low")
    await it.set()
    await it.comes("lesser", priority="middle")
    await it.going("low")
    await it.nominated("lesser")
    await it.says("lesser", WAITS_FOR_VICTIMS, ring=True)
    await it.comes()
    await it.nominated()
    await it.says("preemptor", WAITS_FOR_VICTIMS, ring=True)
    await it.ends("low")
    await it.bound()
    await it.says("lesser", NO_VICTIMS, ring=True)
    await it.nominated("lesser", None)


@case
async def two_preemptors_for_one_node(it: Stage) -> None:
    """Both equally important: the second has to stand back."""
    await it.node("a")
    await it.runs("low")
    await it.set()
    await it.comes("first")
    await it.going("low")
    await it.nominated("first")
    await it.says("first", WAITS_FOR_VICTIMS, ring=True)
    await it.comes("second")
    await it.says("second", "preemption: ")
    await it.ends("low")
    await it.bound("first")
    await it.says("second", NO_VICTIMS, ring=True)


@case
async def two_preemptors_side_by_side(it: Stage) -> None:
    """Each has a victim of its own on the same node."""
    await it.node("a")
    await it.runs("one", cpu="2", started="2026-01-02T00:00:00Z")
    await it.runs("two", cpu="2")
    await it.set()
    await it.comes("first", cpu="2")
    await it.going("one")
    await it.nominated("first")
    await it.says("first", WAITS_FOR_VICTIMS, ring=True)
    await it.comes("second", cpu="2")
    await it.going("two")
    await it.nominated("second")
    await it.says("second", WAITS_FOR_VICTIMS, ring=True)
    await it.ends("one", "two")
    await it.bound("first")
    await it.bound("second")


@case
async def the_preemptor_is_deleted(it: Stage) -> None:
    """Half-way: the victim goes all the same, and the room is for whoever waited."""
    await it.node("a")
    await it.runs("low")
    await it.set()
    await it.comes()
    await it.going("low")
    await it.nominated()
    await it.says("preemptor", WAITS_FOR_VICTIMS, ring=True)
    await it.comes("waiting", priority="low")
    await it.says("waiting", "preemption: ")
    await it.ends("preemptor")
    await it.ends("low")
    await it.bound("waiting")


@case
async def the_preemptor_is_made_anew(it: Stage) -> None:
    """Another pod of the same name is no longer nominated; it finds its own way."""
    await it.node("a")
    await it.runs("low")
    await it.set()
    await it.comes()
    await it.going("low")
    await it.nominated()
    await it.says("preemptor", WAITS_FOR_VICTIMS, ring=True)
    await it.ends("preemptor")
    await it.comes()
    await it.nominated()
    await it.says("preemptor", WAITS_FOR_VICTIMS, ring=True)
    await it.ends("low")
    await it.bound()


@case
async def the_preemptor_is_changed(it: Stage) -> None:
    """Half-way it tolerates the taint of a node that is free."""
    await it.node("a")
    await it.node("b", spec={"taints": [{"key": "own", "effect": "NoSchedule"}]})
    await it.runs("low", "a")
    await it.set()
    await it.comes()
    await it.going("low")
    await it.nominated()
    await it.says("preemptor", WAITS_FOR_VICTIMS, ring=True)
    await it.patch("preemptor", {"metadata": {"labels": {"changed": "yes"}}})
    await it.patch("preemptor", {"spec": {"tolerations": [{"key": "own", "operator": "Exists"}]}})
    await it.bound(to="b")


@case
async def the_nomination_is_taken_away(it: Stage) -> None:
    """Half-way somebody clears it: the pod tries anew, and the victim is on its way out already."""
    await it.node("a")
    await it.runs("low")
    await it.set()
    await it.comes()
    await it.going("low")
    await it.nominated()
    await it.says("preemptor", WAITS_FOR_VICTIMS, ring=True)
    await it.patch("preemptor", {"status": {"nominatedNodeName": None}}, "/status")
    await it.nominated()
    await it.says("preemptor", WAITS_FOR_VICTIMS, ring=True)
    await it.ends("low")
    await it.bound()


@case
async def room_elsewhere(it: Stage) -> None:
    """While the victim takes its time, somebody else ends on another node."""
    await it.node("a")
    await it.node("b")
    await it.runs("low", "a")
    await it.runs("top", "b", priority="top")
    await it.set()
    await it.comes()
    await it.going("low")
    await it.nominated()
    await it.says("preemptor", WAITS_FOR_VICTIMS, ring=True)
    await it.ends("top")
    await it.bound(to="b")


@case_with_nodes_that_change
async def the_nominated_node_is_cordoned(it: Stage) -> None:
    """The pod does not wait for victims on a node that it cannot have."""
    await it.node("a")
    await it.node("b")
    await it.runs("low", "a")
    await it.runs("middle", "b", priority="middle")
    await it.set()
    await it.comes()
    await it.going("low")
    await it.nominated()
    await it.says("preemptor", WAITS_FOR_VICTIMS, ring=True)
    await it.patch_node("a", {"spec": {"unschedulable": True}})
    await it.says("preemptor", "node(s) were unschedulable", ring=True)
    await it.makes_room("middle", on="b")


@case
async def nominated_by_somebody_else(it: Stage) -> None:
    """To a node that does not exist: that helps nobody and hinders nobody."""
    await it.node("a")
    await it.runs("low")
    await it.set()
    await it.comes(schedulingGates=[{"name": "example.com/wait"}])
    await it.patch("preemptor", {"status": {"nominatedNodeName": "nowhere"}}, "/status")
    await it.patch("preemptor", {"spec": {"schedulingGates": None}})
    await it.makes_room("low")


# Nodes that come and go


@case_with_nodes_that_change
async def the_nominated_node_vanishes(it: Stage) -> None:
    await it.node("a")
    await it.node("b")
    await it.runs("low", "a")
    await it.runs("middle", "b", priority="middle")
    await it.set()
    await it.comes()
    await it.going("low")
    await it.nominated()
    await it.says("preemptor", WAITS_FOR_VICTIMS, ring=True)
    await it.remove_node("a")
    await it.ends("low")
    await it.makes_room("middle", on="b")


@case_with_nodes_that_change
async def the_nominated_node_comes_back(it: Stage) -> None:
    """Its victim is still there, and known."""
    await it.node("a")
    await it.runs("low")
    await it.set()
    await it.comes()
    await it.going("low")
    await it.nominated()
    await it.says("preemptor", WAITS_FOR_VICTIMS, ring=True)
    await it.remove_node("a")
    await it.says("preemptor", NOT_HELPFUL, ring=True)
    await it.node("a")
    await it.nominated()
    await it.says("preemptor", WAITS_FOR_VICTIMS, ring=True)
    await it.ends("low")
    await it.bound()


@case_with_nodes_that_change
async def a_new_node(it: Stage) -> None:
    """It is free, and the preemptor does not wait for its victim."""
    await it.node("a")
    await it.runs("low")
    await it.set()
    await it.comes()
    await it.going("low")
    await it.nominated()
    await it.says("preemptor", WAITS_FOR_VICTIMS, ring=True)
    await it.node("b")
    await it.bound(to="b")
