"""More important pods take the room of others: kube-scheduler and Moorage play the same cases at once."""

import asyncio
import contextlib

import pytest

from tests.controlplane import preemption_cases, preemption_meanwhile_cases
from tests.controlplane.playing import Results, furnish, outcome, play
from tests.controlplane.preemption_meanwhile_cases import CASES_WITH_NODES_THAT_CHANGE
from tests.controlplane.schedulers import moorage
from tests.controlplane.servers import ControlPlane, Program
from tests.controlplane.stages import Stage, World

CASES = preemption_cases.CASES | preemption_meanwhile_cases.CASES


@pytest.fixture(scope="module")
def results(control_plane: ControlPlane) -> Results:
    """What was seen of all cases under both schedulers."""
    return asyncio.run(play_all(control_plane))


async def play_all(plane: ControlPlane) -> Results:
    with contextlib.ExitStack() as running:
        programs: list[Program] = []

        def start_schedulers() -> None:
            programs.append(running.enter_context(plane.kube_scheduler()))
            programs.append(running.enter_context(moorage(plane, ready=False)))

        async with World(plane) as world:
            await furnish(world)
            results = await play(world, CASES, start_schedulers, stage=Stage)
            # Here the numbers of nodes in messages depend on when those of the other cases come and go.
            results |= await play(world, CASES_WITH_NODES_THAT_CHANGE, stage=Stage, counts=False)
            for program in programs:
                program.check_running()
    return results


@pytest.mark.parametrize("case", [*CASES, *CASES_WITH_NODES_THAT_CHANGE])
def test_both_do_the_same(case: str, results: Results) -> None:
    theirs, ours = outcome(results, case, "kube"), outcome(results, case, "ours")
    assert ours._replace(notes=theirs.notes) == theirs


@pytest.mark.parametrize("case", [*CASES, *CASES_WITH_NODES_THAT_CHANGE])
def test_no_victim_is_chosen_twice(case: str, results: Results) -> None:
    """As it may be by kube-scheduler, which tries a pod again before it knows that its victims go."""
    notes = outcome(results, case, "ours").notes
    assert [name for (name, reason), times in notes.items() if reason == "Preempted" and times > 1] == []


def test_the_victim_is_told(results: Results) -> None:
    ours = outcome(results, "several-priorities", "ours")
    mark, going, *_, gone = ours.lives["HERE/first"]
    assert mark["conditions"][-1] == {
        "type": "DisruptionTarget",
        "status": "True",
        "reason": "PreemptionByScheduler",
        "message": "SCHEDULER: preempting to accommodate a higher priority pod",
        "observedGeneration": 1,
        "lastProbeTime": False,
        "lastTransitionTime": True,
    }
    assert (going, gone) == ({"grace": 30}, {"gone": True})
    [event] = ours.events["HERE/first"]
    assert event["note"] == "Preempted by pod UID of preemptor on node a.HERE"
    assert (event["type"], event["reason"], event["action"]) == ("Normal", "Preempted", "Preempting")
