from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from typing import Any

import pytest

from moorage.cluster.base.errors import Refusal
from moorage.cluster.base.store import Document
from moorage.cluster.base.times import seconds_of, timestamp
from moorage.cluster.kinds.catalog import STRATEGIES
from tests.cluster.life.controllers.worlds import START, World, clock, in_world, template

CRON_JOBS, JOBS = "cronjobs.batch", "jobs.batch"
assert datetime.fromtimestamp(START, UTC).isoformat() == "2027-01-15T08:00:00+00:00"


def cron_job(world: World, schedule: str = "* * * * *", created: float | None = None, **spec: Any) -> None:
    pods = template({})
    pods["spec"]["restartPolicy"] = "Never"
    document: Document = {
        "apiVersion": "batch/v1",
        "kind": "CronJob",
        "metadata": {"name": "c", "namespace": "default"},
        "spec": {
            "schedule": schedule,
            "jobTemplate": {"metadata": {"labels": {"made": "here"}}, "spec": {"template": pods}},
            **spec,
        },
    }
    if created is not None:
        document["metadata"]["creationTimestamp"] = timestamp(created)
    STRATEGIES[CRON_JOBS].default(document)
    assert list(STRATEGIES[CRON_JOBS].validate(document)) == []
    world.writer.create(CRON_JOBS, document)


def status(world: World) -> Document:
    found: Document = world.writer.document(CRON_JOBS, "default", "c").get("status", {})
    return found


def minutes(world: World) -> list[int]:
    """The minutes since the start for which there are Jobs."""
    return sorted(int(name.removeprefix("c-")) - int(START) // 60 for name in world.writer.names(JOBS))


def edit(world: World, **spec: Any) -> None:
    world.writer.edit(CRON_JOBS, "default", "c", lambda document: document["spec"].update(spec))


def finish(world: World, minute: int, end: str = "Complete") -> None:
    name = f"c-{int(START) // 60 + minute}"
    job = world.store.get(JOBS, "default", name)
    assert job is not None
    done = {"completionTime": timestamp(clock())} if end == "Complete" else {}
    now = {"lastTransitionTime": timestamp(clock())}
    conditions = [{"type": end, "status": "True", **now}]
    world.writer.set_status(JOBS, job, conditions=conditions, startTime=timestamp(clock()), **done)


def test_a_job_is_made_every_time() -> None:
    async def test(world: World) -> None:
        cron_job(world, "*/2 * * * *", timeZone="Europe/Berlin")
        await asyncio.sleep(119)
        assert minutes(world) == []
        await asyncio.sleep(2)
        assert minutes(world) == [2]
        [job] = world.store.objects(JOBS)
        assert job.labels == {"made": "here"}
        assert job.annotations == {
            "batch.kubernetes.io/cronjob-scheduled-timestamp": "2027-01-15T09:02:00+01:00"
        }
        assert job.owners[0]["kind"] == "CronJob"
        assert [each["name"] for each in status(world)["active"]] == [job.name]
        assert status(world)["active"][0]["uid"] == job.uid
        assert status(world)["lastScheduleTime"] == timestamp(START + 120)
        finish(world, 2)
        await asyncio.sleep(1)
        assert "active" not in status(world)
        assert status(world)["lastSuccessfulTime"] == timestamp(START + 121)
        await asyncio.sleep(240)
        assert minutes(world) == [2, 4, 6]
        assert f"Created job {job.name}" in world.events("SuccessfulCreate")
        assert world.events("SawCompletedJob") == [f"Saw completed job: {job.name}, condition: Complete"]

    in_world(test)


@pytest.mark.parametrize(
    ("policy", "made", "active"), [("Allow", [1, 2, 3], 3), ("Forbid", [1], 1), ("Replace", [3], 1)]
)
def test_what_happens_to_a_job_that_still_runs(policy: str, made: list[int], active: int) -> None:
    async def test(world: World) -> None:
        cron_job(world, concurrencyPolicy=policy)
        await asyncio.sleep(200)
        assert minutes(world) == made
        assert len(status(world)["active"]) == active
        assert bool(world.events("JobAlreadyActive")) == (policy == "Forbid")
        if policy == "Forbid":
            finish(world, 1)
            await asyncio.sleep(1)
            assert minutes(world) == [1, 3]  # the last one it missed

    in_world(test)


def test_finished_jobs_beyond_the_limits_are_deleted() -> None:
    async def test(world: World) -> None:
        cron_job(world, successfulJobsHistoryLimit=1, failedJobsHistoryLimit=0)
        for minute, end in ((1, "Complete"), (2, "Failed"), (3, "Complete")):
            await asyncio.sleep(60.5)
            finish(world, minute, end)
        await asyncio.sleep(1)
        assert minutes(world) == [3]

    in_world(test)


def test_a_suspended_one_waits() -> None:
    async def test(world: World) -> None:
        cron_job(world, suspend=True)
        await asyncio.sleep(150)
        assert minutes(world) == []
        edit(world, suspend=False)
        await asyncio.sleep(1)
        assert minutes(world) == [2]

    in_world(test)


def test_a_new_schedule_does_not_start_what_it_would_have_missed() -> None:
    async def test(world: World) -> None:
        cron_job(world, "0 0 1 1 *")
        await asyncio.sleep(90)
        edit(world, schedule="*/1 * * * *")
        await asyncio.sleep(10)
        assert minutes(world) == []
        await asyncio.sleep(60)
        assert minutes(world) == [2]

    in_world(test)


@pytest.mark.parametrize(
    ("age", "deadline", "made", "warned"),
    [
        (150, None, [0], False),
        (50, None, [0], False),
        (300 * 60, None, [0], True),
        (300 * 60, 200, [0], False),
    ],
)
def test_what_was_missed_is_made_up_for_once(
    age: int, deadline: int | None, made: list[int], warned: bool
) -> None:
    async def test(world: World) -> None:
        late: Any = {} if deadline is None else {"startingDeadlineSeconds": deadline}
        cron_job(world, created=START - age, **late)
        await asyncio.sleep(1)
        assert minutes(world) == made
        assert bool(world.events("TooManyMissedTimes")) == warned

    in_world(test)


def test_it_can_be_too_late() -> None:
    async def test(world: World) -> None:
        cron_job(world, "0 8 * * *", created=START - 3600, startingDeadlineSeconds=10, suspend=True)
        await asyncio.sleep(30)
        edit(world, suspend=False)
        await asyncio.sleep(1)
        assert minutes(world) == []

    in_world(test)


def test_a_job_that_was_made_before_an_interruption_is_not_made_again() -> None:
    async def test(world: World) -> None:
        cron_job(world)
        await asyncio.sleep(61)
        stored = world.store.get(CRON_JOBS, "default", "c")
        assert stored is not None
        assert world.writer.change(
            CRON_JOBS, stored, lambda each: each.update(status={}), subresource="status"
        )
        await asyncio.sleep(1)
        assert minutes(world) == [1]
        assert len(status(world)["active"]) == 1

    in_world(test)


def test_a_job_that_somebody_deletes_is_no_longer_active() -> None:
    async def test(world: World) -> None:
        cron_job(world)
        await asyncio.sleep(61)
        world.writer.end(JOBS, "default", world.writer.names(JOBS)[0])
        await asyncio.sleep(1)
        assert "active" not in status(world)
        assert world.events("MissingJob") == [f"Active job went missing: c-{int(START) // 60 + 1}"]

    in_world(test)


def test_a_refusal_is_told_and_tried_again() -> None:
    async def test(world: World) -> None:
        full = Refusal(403, "Forbidden", "no room")
        world.writer.refuse = lambda resource, document: full if resource == JOBS else None
        cron_job(world)
        await asyncio.sleep(62)
        assert set(world.events("FailedCreate")) == {"Error creating job: no room"}
        world.writer.refuse = lambda resource, document: None
        await asyncio.sleep(10)
        assert minutes(world) == [1]

    in_world(test)


def test_a_date_that_never_comes_is_told() -> None:
    async def test(world: World) -> None:
        cron_job(world, "59 23 31 2 *")
        await asyncio.sleep(1)
        [text] = world.events("InvalidSchedule")
        assert text.startswith("invalid schedule: 59 23 31 2 * : ")

    in_world(test)


def test_seconds_between_jobs() -> None:
    async def test(world: World) -> None:
        cron_job(world, "@every 5m")
        await asyncio.sleep(901)
        assert minutes(world) == [5, 10, 15]
        created = [seconds_of(job.created) - START for job in world.store.objects(JOBS)]
        assert created == [300, 600, 900]

    in_world(test)
