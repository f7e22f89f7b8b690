"""More important pods take the room of others: kube-scheduler and Moorage play the same cases at once."""

import asyncio
import contextlib
from collections.abc import Callable, Mapping

import pytest

from tests.controlplane import preemption_cases, preemption_meanwhile_cases
from tests.controlplane.preemption_cases import Case
from tests.controlplane.preemption_meanwhile_cases import CASES_WITH_NODES_THAT_CHANGE
from tests.controlplane.schedulers import moorage, node
from tests.controlplane.servers import ControlPlane, Program
from tests.controlplane.stages import BELL, PRIORITIES, SCHEDULERS, Seen, Stage, World

CASES = preemption_cases.CASES | preemption_meanwhile_cases.CASES
SECONDS_FOR_EVENTS = 10.0

Results = Mapping[tuple[str, str], Seen | Exception]


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
            results = await play(world, CASES, start_schedulers)
            # Here the numbers of nodes in messages depend on when those of the other cases come and go.
            results |= await play(world, CASES_WITH_NODES_THAT_CHANGE, counts=False)
            for program in programs:
                program.check_running()
    return results


async def furnish(world: World) -> None:
    for name, value in PRIORITIES.items():
        policy = "Never" if name == "polite" else "PreemptLowerPriority"
        document = {"metadata": {"name": name}, "value": value, "preemptionPolicy": policy}
        await world.send("POST", "/apis/scheduling.k8s.io/v1/priorityclasses", document)
    await world.send("POST", "/api/v1/nodes", node(BELL))


async def play(
    world: World, cases: Mapping[str, Case], begin: Callable[[], None] = lambda: None, *, counts: bool = True
) -> dict[tuple[str, str], Seen | Exception]:
    """All cases at once, twice."""
    both = [(case, who) for case in cases for who in SCHEDULERS]
    curtain = asyncio.Barrier(len(both) + 1)
    stages = {key: Stage(world, *key, curtain) for key in both}

    async def one(case: str, stage: Stage) -> Exception | None:
        try:
            await world.send("POST", "/api/v1/namespaces", {"metadata": {"name": stage.name}})
            await cases[case](stage)
        except Exception as error:
            if not curtain.broken and curtain.n_waiting:
                await curtain.abort()
            return error
        return None

    plays = asyncio.gather(*(one(case, stages[case, who]) for case, who in both))
    with contextlib.suppress(asyncio.BrokenBarrierError):
        while curtain.n_waiting < len(both) and not curtain.broken and not plays.done():
            await asyncio.sleep(0.01)
        begin()
        await curtain.wait()
    errors = dict(zip(both, await plays, strict=True))
    seen = await looked_at(stages, counts=counts)
    return {key: errors[key] or seen[key] for key in both}


async def looked_at(stages: Mapping[tuple[str, str], Stage], *, counts: bool) -> dict[tuple[str, str], Seen]:
    """What was seen; events may come late, so it is looked again while there are fewer on one side."""
    async with asyncio.timeout(60):
        deadline = asyncio.get_running_loop().time() + SECONDS_FOR_EVENTS
        while True:
            found = await asyncio.gather(*(stage.seen(counts=counts) for stage in stages.values()))
            seen = dict(zip(stages, found, strict=True))
            same = all(seen[case, "ours"].events == seen[case, "kube"].events for case, _ in stages)
            if same or asyncio.get_running_loop().time() > deadline:
                return seen
            await asyncio.sleep(0.2)


def outcome(results: Results, case: str, who: str) -> Seen:
    found = results[case, who]
    if isinstance(found, Exception):
        raise found
    return found


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
