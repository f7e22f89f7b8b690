from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable
from typing import Any

import pytest

from moorage.cluster.base.errors import Refusal
from moorage.cluster.base.store import Document, Stored
from moorage.cluster.base.times import seconds_of, timestamp
from moorage.cluster.kinds.catalog import STRATEGIES
from tests.cluster.life.controllers.worlds import START, World, clock, in_world, template

JOBS = "jobs.batch"
INDEX = "batch.kubernetes.io/job-completion-index"
TRACKING = "batch.kubernetes.io/job-tracking"
Outcome = Callable[[Stored, int], int | None]
"""From a pod and how many have ended before, the exit code with which it ends after a second, if it does."""


class JobWorld:
    """Pods of Jobs begin after a second, run for another one, and then end as `outcome` says."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.outcome: Outcome = lambda pod, number: 0
        self.ended = 0
        world.store.listen("pods", self._changed)

    def _changed(self, change: Any) -> None:
        pod, old = change.new, change.old
        phases = [None if each is None else each.status.get("phase") for each in (old, pod)]
        if change.type == "MODIFIED" and phases[0] != phases[1] == "Running":
            asyncio.get_running_loop().call_later(1.0, self._end, pod.namespace, pod.name)

    def _end(self, namespace: str, name: str) -> None:
        pod = self.world.store.get("pods", namespace, name)
        if pod is None or pod.is_deleted:
            return
        code = self.outcome(pod, self.ended)
        if code is not None:
            self.ended += 1
            end(self.world, name, code)

    def job(self, name: str = "j", **spec: Any) -> None:
        pod = spec.pop("pod", {})
        document: Document = {
            "apiVersion": "batch/v1",
            "kind": "Job",
            "metadata": {"name": name, "namespace": "default", "uid": f"job-{name}"},
            "spec": {"template": template({}), **spec},
        }
        document["spec"]["template"]["spec"] |= {"restartPolicy": "Never", **pod}
        strategy = STRATEGIES[JOBS]
        strategy.default(document)
        strategy.prepare_create(document)
        assert list(strategy.validate(document)) == []
        self.world.writer.create(JOBS, document)

    def get(self, name: str = "j") -> Any:
        return self.world.writer.document(JOBS, "default", name)

    def status(self, name: str = "j") -> Any:
        return self.get(name).get("status", {})

    def conditions(self, name: str = "j") -> dict[str, str]:
        """The reasons of those that are true."""
        found = self.status(name).get("conditions") or []
        return {each["type"]: each["reason"] for each in found if each["status"] == "True"}

    def pods(self) -> list[Stored]:
        return self.world.store.objects("pods")

    def edit(self, **spec: Any) -> None:
        self.world.writer.edit(JOBS, "default", "j", lambda document: document["spec"].update(spec))


def end(world: World, name: str, code: int = 0, **status: Any) -> None:
    pod = world.store.get("pods", "default", name)
    assert pod is not None
    state = {"terminated": {"exitCode": code, "finishedAt": timestamp(clock())}}
    world.writer.set_status(
        "pods",
        pod,
        phase="Failed" if code else "Succeeded",
        conditions=[],
        containerStatuses=[{"name": "c", "state": state}],
        **status,
    )


def in_job_world(test: Callable[[JobWorld], Any]) -> None:
    """Every status that the controller writes keeps the rules of the API."""

    async def main(world: World) -> None:
        broken: list[str] = []

        def check(change: Any) -> None:
            if change.type == "MODIFIED" and change.new.document.get("status") != change.old.document.get(
                "status"
            ):
                strategy = STRATEGIES[JOBS]
                broken.extend(
                    map(str, strategy.validate_status_update(change.new.document, change.old.document))
                )

        world.store.listen(JOBS, check)
        await test(JobWorld(world))
        assert broken == []

    in_world(main)


def test_a_job_completes() -> None:
    async def test(jobs: JobWorld) -> None:
        jobs.job(completions=3, parallelism=2)
        await asyncio.sleep(0.5)
        assert jobs.status() == {
            "active": 2,
            "ready": 0,
            "terminating": 0,
            "startTime": timestamp(START),
            "uncountedTerminatedPods": {},
        }
        [one, _] = jobs.pods()
        assert one.finalizers == [TRACKING]
        assert one.labels["batch.kubernetes.io/job-name"] == "j"
        assert one.owners[0]["kind"] == "Job"
        await asyncio.sleep(1)
        assert jobs.status()["ready"] == 2
        await asyncio.sleep(1)
        assert (jobs.status()["succeeded"], jobs.status()["active"]) == (2, 1)
        await asyncio.sleep(3)
        status = jobs.status()
        assert status["succeeded"] == 3
        assert "active" not in status
        assert status["completionTime"] == status["conditions"][1]["lastTransitionTime"]
        assert jobs.conditions() == {
            "SuccessCriteriaMet": "CompletionsReached",
            "Complete": "CompletionsReached",
        }
        assert [pod.finalizers for pod in jobs.pods()] == [[], [], []]
        assert jobs.world.events("Completed") == ["Job completed"]
        assert len(jobs.world.events("SuccessfulCreate")) == 3

    in_job_world(test)


def test_without_completions_one_success_is_enough_but_the_others_end_too() -> None:
    async def test(jobs: JobWorld) -> None:
        jobs.outcome = lambda pod, number: 0 if number < 1 else None
        jobs.job(parallelism=3)
        await asyncio.sleep(5)
        assert (jobs.status()["succeeded"], jobs.status()["active"]) == (1, 2)
        running = [pod.name for pod in jobs.pods() if pod.status["phase"] == "Running"]
        end(jobs.world, running[0])
        await asyncio.sleep(1)
        assert jobs.conditions() == {}
        end(jobs.world, running[1], code=1)
        await asyncio.sleep(1)
        assert "Complete" in jobs.conditions()
        assert (jobs.status()["succeeded"], jobs.status()["failed"]) == (2, 1)

    in_job_world(test)


def test_failures_are_retried_each_time_later_up_to_the_limit() -> None:
    async def test(jobs: JobWorld) -> None:
        jobs.outcome = lambda pod, number: 1
        jobs.job(backoffLimit=2)
        await asyncio.sleep(200)
        pods = sorted(jobs.pods(), key=lambda pod: pod.created)
        times = [seconds_of(pod.created) - START for pod in pods]
        gaps = [later - earlier for earlier, later in itertools.pairwise(times)]
        assert [round(gap) for gap in gaps] == [12, 22]
        assert jobs.status()["failed"] == 3
        assert jobs.conditions() == {
            "FailureTarget": "BackoffLimitExceeded",
            "Failed": "BackoffLimitExceeded",
        }
        assert jobs.world.events("BackoffLimitExceeded") == ["Job has reached the specified backoff limit"]
        assert "completionTime" not in jobs.status()

    in_job_world(test)


def test_restarts_in_place_count_towards_the_limit() -> None:
    async def test(jobs: JobWorld) -> None:
        jobs.outcome = lambda pod, number: None
        jobs.job(backoffLimit=2, pod={"restartPolicy": "OnFailure"})
        await asyncio.sleep(3)
        [pod] = jobs.pods()
        for restarts, failed in ((1, False), (2, True)):
            found = jobs.world.store.get("pods", "default", pod.name)
            assert found is not None
            jobs.world.writer.set_status("pods", found, containerStatuses=[{"restartCount": restarts}])
            await asyncio.sleep(3)
            assert ("Failed" in jobs.conditions()) == failed
        assert jobs.pods() == []
        assert jobs.status()["failed"] == 1

    in_job_world(test)


def test_the_deadline_ends_what_still_runs() -> None:
    async def test(jobs: JobWorld) -> None:
        jobs.outcome = lambda pod, number: None
        jobs.job(activeDeadlineSeconds=10, parallelism=2)
        await asyncio.sleep(9)
        assert jobs.status()["active"] == 2
        await asyncio.sleep(1.5)
        assert jobs.status()["terminating"] == 2
        assert jobs.conditions() == {"FailureTarget": "DeadlineExceeded"}
        await asyncio.sleep(1)
        assert jobs.conditions()["Failed"] == "DeadlineExceeded"
        assert jobs.status()["failed"] == 2
        assert jobs.pods() == []
        assert len(jobs.world.events("SuccessfulDelete")) == 2

    in_job_world(test)


def test_indexes() -> None:
    async def test(jobs: JobWorld) -> None:
        jobs.outcome = lambda pod, number: 1 if number == 0 else 0
        jobs.job(completionMode="Indexed", completions=4, parallelism=3)
        await asyncio.sleep(0.5)
        pods = {pod.annotations[INDEX]: pod for pod in jobs.pods()}
        assert set(pods) == {"0", "1", "2"}
        pod = pods["1"]
        assert pod.labels[INDEX] == "1"
        assert pod.spec["hostname"] == "j-1"
        assert pod.name.startswith("j-1-")
        [variable] = pod.spec["containers"][0]["env"]
        assert variable["name"] == "JOB_COMPLETION_INDEX"
        assert variable["valueFrom"]["fieldRef"]["fieldPath"] == f"metadata.labels['{INDEX}']"
        await asyncio.sleep(2)
        assert jobs.status()["completedIndexes"] == "1,2"
        await asyncio.sleep(20)
        assert jobs.status()["completedIndexes"] == "0-3"
        assert (jobs.status()["succeeded"], jobs.status()["failed"]) == (4, 1)
        assert "Complete" in jobs.conditions()

    in_job_world(test)


def test_an_indexed_job_grows_and_shrinks() -> None:
    async def test(jobs: JobWorld) -> None:
        jobs.outcome = lambda pod, number: None
        jobs.job(completionMode="Indexed", completions=2, parallelism=2)
        await asyncio.sleep(3)
        jobs.edit(completions=4, parallelism=4)
        await asyncio.sleep(3)
        assert sorted(pod.annotations[INDEX] for pod in jobs.pods()) == ["0", "1", "2", "3"]
        jobs.edit(completions=1, parallelism=1)
        await asyncio.sleep(3)
        assert [pod.annotations[INDEX] for pod in jobs.pods()] == ["0"]
        assert "failed" not in jobs.status()

    in_job_world(test)


def test_limits_of_single_indexes() -> None:
    async def test(jobs: JobWorld) -> None:
        jobs.outcome = lambda pod, number: 1 if pod.annotations[INDEX] == "1" else 0
        jobs.job(completionMode="Indexed", completions=3, parallelism=3, backoffLimitPerIndex=1)
        await asyncio.sleep(5)
        counts = "batch.kubernetes.io/job-index-failure-count"
        assert {pod.annotations[counts] for pod in jobs.pods()} == {"0"}
        await asyncio.sleep(10)
        assert sorted(pod.annotations[counts] for pod in jobs.pods()) == ["0", "0", "0", "1"]
        await asyncio.sleep(5)
        assert jobs.conditions()["Failed"] == "FailedIndexes"
        assert jobs.status()["completedIndexes"] == "0,2"
        assert jobs.status()["failedIndexes"] == "1"
        assert jobs.status()["failed"] == 2

    in_job_world(test)


def test_too_many_failed_indexes_end_the_job() -> None:
    async def test(jobs: JobWorld) -> None:
        jobs.outcome = lambda pod, number: 1 if pod.annotations[INDEX] in "01" else None
        spec: Any = {"completionMode": "Indexed", "completions": 4, "parallelism": 4}
        jobs.job(**spec, backoffLimitPerIndex=0, maxFailedIndexes=1)
        await asyncio.sleep(8)
        assert jobs.conditions()["Failed"] == "MaxFailedIndexesExceeded"
        assert jobs.status()["failedIndexes"] == "0,1"

    in_job_world(test)


@pytest.mark.parametrize(
    ("action", "code", "reason", "failed"),
    [
        ("FailJob", 3, "PodFailurePolicy", 1),
        ("FailJob", 4, "BackoffLimitExceeded", 1),
        ("Ignore", 3, "", 0),
        ("Count", 3, "BackoffLimitExceeded", 1),
    ],
)
def test_failure_policies(action: str, code: int, reason: str, failed: int) -> None:
    async def test(jobs: JobWorld) -> None:
        jobs.outcome = lambda pod, number: code if number == 0 else 0
        rule = {"action": action, "onExitCodes": {"operator": "In", "values": [3]}}
        jobs.job(backoffLimit=0, podFailurePolicy={"rules": [rule]})
        await asyncio.sleep(30)
        assert jobs.conditions().get("Failed", "") == reason
        assert ("Complete" in jobs.conditions()) == (not reason)
        assert jobs.status().get("failed", 0) == failed
        if reason == "PodFailurePolicy":
            [first] = jobs.pods()
            what = f"Container c for pod default/{first.name} failed with exit code 3"
            [text] = jobs.world.events("PodFailurePolicy")
            assert text == f"{what} matching FailJob rule at index 0"

    in_job_world(test)


def test_a_policy_on_conditions_and_on_single_indexes() -> None:
    async def test(jobs: JobWorld) -> None:
        jobs.outcome = lambda pod, number: None
        rules = [
            {"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget", "status": "True"}]},
            {"action": "FailIndex", "onExitCodes": {"operator": "NotIn", "values": [5]}},
        ]
        jobs.job(
            completionMode="Indexed",
            completions=2,
            parallelism=2,
            backoffLimitPerIndex=3,
            podFailurePolicy={"rules": rules},
        )
        await asyncio.sleep(3)
        [zero, one] = sorted(jobs.pods(), key=lambda pod: pod.annotations[INDEX])
        end(jobs.world, zero.name, code=5)
        pod = jobs.world.store.get("pods", "default", zero.name)
        assert pod is not None
        disrupted = [{"type": "DisruptionTarget", "status": "True"}]
        jobs.world.writer.set_status("pods", pod, conditions=disrupted)
        end(jobs.world, one.name, code=1)
        await asyncio.sleep(12)
        assert jobs.status()["failedIndexes"] == "1"
        assert jobs.status()["failed"] == 1
        [again] = [pod for pod in jobs.pods() if pod.status["phase"] == "Running"]
        assert again.annotations["batch.kubernetes.io/job-index-failure-count"] == "0"
        assert again.annotations["batch.kubernetes.io/job-index-ignored-failure-count"] == "1"

    in_job_world(test)


def test_a_success_policy_ends_the_rest() -> None:
    async def test(jobs: JobWorld) -> None:
        jobs.outcome = lambda pod, number: 0 if pod.annotations[INDEX] == "2" else None
        policy = {"rules": [{"succeededIndexes": "0"}, {"succeededIndexes": "1-3", "succeededCount": 1}]}
        jobs.job(completionMode="Indexed", completions=4, parallelism=4, successPolicy=policy)
        await asyncio.sleep(8)
        assert jobs.conditions() == {"SuccessCriteriaMet": "SuccessPolicy", "Complete": "SuccessPolicy"}
        assert jobs.status()["conditions"][0]["message"] == "Matched rules at index 1"
        assert jobs.status()["completedIndexes"] == "2"
        assert "failed" not in jobs.status()
        assert [pod.status["phase"] for pod in jobs.pods()] == ["Succeeded"]

    in_job_world(test)


def test_a_suspended_job_has_no_pods_until_it_is_resumed() -> None:
    async def test(jobs: JobWorld) -> None:
        jobs.outcome = lambda pod, number: None
        jobs.job(suspend=True, parallelism=2)
        await asyncio.sleep(1)
        assert jobs.pods() == []
        assert jobs.conditions() == {"Suspended": "JobSuspended"}
        assert "startTime" not in jobs.status()
        jobs.edit(suspend=False)
        await asyncio.sleep(3)
        assert jobs.status()["active"] == 2
        assert jobs.status()["startTime"] == timestamp(START + 1)
        assert jobs.conditions() == {}
        jobs.edit(suspend=True)
        await asyncio.sleep(0.5)
        assert jobs.status()["terminating"] == 2
        await asyncio.sleep(2)
        assert jobs.pods() == []
        assert jobs.status()["terminating"] == 0
        assert "failed" not in jobs.status()
        assert jobs.world.events("Suspended") == ["Job suspended"]
        assert jobs.world.events("Resumed") == ["Job resumed"]

    in_job_world(test)


@pytest.mark.parametrize(("policy", "at_once"), [("TerminatingOrFailed", True), ("Failed", False)])
def test_when_a_deleted_pod_is_replaced(policy: str, at_once: bool) -> None:
    async def test(jobs: JobWorld) -> None:
        jobs.outcome = lambda pod, number: None
        jobs.job(podReplacementPolicy=policy)
        await asyncio.sleep(3)
        [pod] = jobs.pods()
        jobs.world.writer.end("pods", "default", pod.name)
        await asyncio.sleep(0.5)
        assert jobs.status()["terminating"] == 1
        assert jobs.status().get("failed", 0) == int(at_once)
        jobs.world.kubelet = False
        await asyncio.sleep(30)
        assert (len([pod for pod in jobs.pods() if not pod.is_deleted]) == 1) == at_once

    in_job_world(test)


def test_a_finished_job_is_deleted_after_its_time() -> None:
    async def test(jobs: JobWorld) -> None:
        jobs.job(ttlSecondsAfterFinished=10)
        await asyncio.sleep(10)
        assert "Complete" in jobs.conditions()
        await asyncio.sleep(5)
        assert jobs.world.writer.names(JOBS) == []
        assert jobs.pods() == []

    in_job_world(test)


def test_a_job_that_somebody_else_manages_is_left_alone() -> None:
    async def test(jobs: JobWorld) -> None:
        jobs.job(managedBy="example.com/somebody")
        jobs.job("own", managedBy="kubernetes.io/job-controller")
        await asyncio.sleep(1)
        assert jobs.status() == {}
        assert len(jobs.pods()) == 1

    in_job_world(test)


@pytest.mark.parametrize("propagation", ["Background", "Foreground", "Orphan"])
def test_the_pods_of_a_deleted_job_are_held_by_nothing(propagation: str) -> None:
    async def test(jobs: JobWorld) -> None:
        jobs.outcome = lambda pod, number: None
        jobs.job(parallelism=2)
        await asyncio.sleep(3)
        jobs.world.writer.end(JOBS, "default", "j", propagation)
        await asyncio.sleep(3)
        assert jobs.world.writer.names(JOBS) == []
        assert [(pod.owners, pod.finalizers) for pod in jobs.pods()] == (
            [([], [])] * 2 if propagation == "Orphan" else []
        )

    in_job_world(test)


def test_pods_are_adopted_and_let_go() -> None:
    async def test(jobs: JobWorld) -> None:
        jobs.outcome = lambda pod, number: None
        metadata = {"name": "own", "namespace": "default", "labels": {"app": "x"}}
        jobs.world.writer.create(
            "pods", {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {}}
        )
        labelled = template({"app": "x"})
        labelled["spec"]["restartPolicy"] = "Never"
        jobs.job(manualSelector=True, selector={"matchLabels": {"app": "x"}}, template=labelled)
        await asyncio.sleep(1)
        [own] = jobs.pods()
        assert own.finalizers == [TRACKING]
        assert own.owners[0]["name"] == "j"
        jobs.world.writer.edit("pods", "default", "own", lambda pod: pod["metadata"].update(labels={}))
        await asyncio.sleep(1)
        pods = {pod.name: pod for pod in jobs.pods()}
        assert len(pods) == 2
        assert (pods["own"].owners, pods["own"].finalizers) == ([], [])

    in_job_world(test)


def test_a_refusal_is_told_and_tried_again() -> None:
    async def test(jobs: JobWorld) -> None:
        full = Refusal(403, "Forbidden", "no room")
        jobs.world.writer.refuse = lambda resource, document: full if resource == "pods" else None
        jobs.job()
        await asyncio.sleep(0.5)
        assert set(jobs.world.events("FailedCreate")) == {"Error creating: no room"}
        jobs.world.writer.refuse = lambda resource, document: None
        await asyncio.sleep(10)
        assert "Complete" in jobs.conditions()

    in_job_world(test)


def test_pods_that_were_noted_before_an_interruption_are_counted_once() -> None:
    async def test(jobs: JobWorld) -> None:
        jobs.outcome = lambda pod, number: None
        jobs.job(completions=2, parallelism=2)
        await asyncio.sleep(3)
        await jobs.world.controllers.stop()
        [one, two] = jobs.pods()
        for pod in (one, two):
            end(jobs.world, pod.name)
        # Both were noted, and one lost its finalizer, when everything came to a halt.
        job = jobs.world.store.get(JOBS, "default", "j")
        assert job is not None
        jobs.world.writer.set_status(JOBS, job, uncountedTerminatedPods={"succeeded": [one.uid, two.uid]})
        jobs.world.writer.edit("pods", "default", one.name, lambda pod: pod["metadata"].pop("finalizers"))
        jobs.world.controllers = type(jobs.world.controllers)(jobs.world.writer, ca="CA", clock=clock)
        jobs.world.controllers.start()
        await asyncio.sleep(1)
        assert jobs.status()["succeeded"] == 2
        assert jobs.status()["uncountedTerminatedPods"] == {}
        assert "Complete" in jobs.conditions()

    in_job_world(test)
