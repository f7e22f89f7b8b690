"""Decisions recorded from kube-scheduler v1.36.4, reproduced to the integer and the letter."""

from __future__ import annotations

import asyncio
import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from moorage.api.decoding import from_document
from moorage.api.likeness import likeness
from moorage.api.pods import Pod
from moorage.config import KubeSchedulerConfiguration, load
from moorage.framework.runtime.profile import Profile
from moorage.plugins.catalog import in_tree_registry
from moorage.scheduler.cycle import Decision
from moorage.scheduler.profiles import DEFAULT_CONFIGURATION
from moorage.scheduler.scheduler import Scheduler
from moorage.what_if.scenario import Scenario, evaluate, read_objects
from tests.golden.compare import differences

Document = dict[str, Any]

DATA = Path(__file__).parent / "data"
SUBJECTS = (
    "resources",
    "taints",
    "nodeaffinity",
    "ports",
    "images",
    "spread",
    "interpod",
    "preemption",
    "volumes",
    "config",
    "mixed",
)


def recorded(subject: str) -> Iterator[tuple[Document, Document]]:
    with gzip.open(DATA / f"{subject}.jsonl.gz", "rt") as lines:
        for line in lines:
            case = json.loads(line)
            yield case["scenario"], case["expected"]


@pytest.mark.parametrize("subject", SUBJECTS)
def test_every_recorded_decision_is_reproduced(subject: str) -> None:
    """And so it is for a second pod of the template, by what was kept from the first."""
    cases = list(recorded(subject))
    registry = in_tree_registry()
    failed: dict[str, list[str]] = {}
    for scenario, expected in cases:
        built = Scenario(read_objects(scenario["objects"]), registry, configuration(scenario))
        for pod in (scenario["pod"], like_pod(scenario["pod"])):
            decision = built.evaluate(from_document(Pod, pod)).document()
            if found := differences(expected, {"id": scenario["id"], **decision}):
                failed[f"{scenario['id']}, pod {pod['metadata']['name']}"] = found
    report = [f"{identity}:\n  " + "\n  ".join(lines[:10]) for identity, lines in failed.items()]
    assert not failed, f"{len(failed)} of {2 * len(cases)} differ\n" + "\n".join(report[:5])


def like_pod(pod: Document) -> Document:
    """Another pod of the same template; one that is like no other is tried again itself."""
    if likeness(from_document(Pod, pod)) is None:
        return pod
    name = f"{pod['metadata']['name']}-too"
    return {**pod, "metadata": {**pod["metadata"], "name": name, "uid": f"uid-of-{name}"}}


def configuration(scenario: Document) -> KubeSchedulerConfiguration:
    if not scenario.get("config"):
        return load(DEFAULT_CONFIGURATION).config
    return load(json.dumps(scenario["config"])).config


@pytest.mark.parametrize("subject", SUBJECTS)
def test_the_scheduler_itself_decides_the_same(subject: str) -> None:
    """The same scenarios through watch handlers, queue and cycle, as in a running scheduler."""
    registry = in_tree_registry()
    for scenario, expected in recorded(subject):
        scheduler = Scheduler(configuration(scenario), registry)
        scheduler.chooser.find_all = True
        decisions = watch_decisions(scheduler)
        feed(scheduler, scenario)
        pod = from_document(Pod, scenario["pod"])
        # The profile that is asked about decides, whatever scheduler the pod names.
        pod.spec.scheduler_name = next(iter(scheduler.profiles))
        scheduler.door.put(pod)
        if pod.spec.node_name:
            # A pod that names its node counts as running; for once it is made to wait.
            scheduler.state.remove_pod(pod.uid)
            scheduler.queue.add(pod)
        run_until_tried(scheduler, pod)
        if "preEnqueue" in expected:
            assert not decisions, scenario["id"]
            assert [queued.pod.uid for queued in scheduler.queue.pending().gated] == [pod.uid]
            continue
        assert summary(decisions[pod.uid]) == expected_summary(expected), scenario["id"]
        try_another(scheduler, pod, from_document(Pod, like_pod(scenario["pod"])), decisions, expected)


def try_another(
    scheduler: Scheduler, pod: Pod, other: Pod, decisions: dict[str, Decision], expected: Document
) -> None:
    """After the first pod has gone, one like it comes."""
    scheduler.door.remove(pod)
    scheduler.chooser.start = 0
    decisions.clear()
    other.spec.scheduler_name = pod.spec.scheduler_name
    scheduler.door.put(other)
    if other.spec.node_name:
        scheduler.state.remove_pod(other.uid)
        scheduler.queue.add(other)
    known = scheduler._known_failures.find(other)
    run_until_tried(scheduler, other)
    if known is not None:
        assert not decisions
        assert known.failure.message == expected["message"]
    else:
        assert summary(decisions[other.uid]) == expected_summary(expected)


def summary(decision: Decision) -> Document:
    """What the cycle itself says."""
    failure, feasible = decision.failure, decision.feasible
    result: Document = {
        "feasible": sorted(feasible.names) if feasible else [],
        "message": failure.message if failure else None,
    }
    pre = decision.pre_filtered
    if pre is not None and pre.status is None and not decision.nominated_first:
        result["nodeStatus"] = {
            name: (status.plugin, status.code.label, sorted(status.reasons))
            for name, status in decision.statuses.explicit()
        }
    if decision.scores is not None and feasible is not None:
        result["totals"] = dict(zip(feasible.names, decision.scores.totals.tolist(), strict=True))
    return result


def expected_summary(expected: Document) -> Document:
    """The same of a recording; a live cycle does not score a single node, nor without score plugins."""
    result: Document = {"feasible": expected["feasible"], "message": expected.get("message")}
    pre = expected.get("preFilter")
    if pre is not None and pre["status"] == "Success" and not expected.get("nominatedFirst"):
        result["nodeStatus"] = {
            name: (status["plugin"], status["code"], sorted(status["reasons"]))
            for name, status in expected.get("nodeStatus", {}).items()
        }
    if len(expected["feasible"]) > 1 and expected.get("scores"):
        result["totals"] = expected["totals"]
    return result


def test_a_difference_is_found_and_readable() -> None:
    scenario, expected = next(recorded("resources"))
    node = expected["feasible"][0]
    changed = json.loads(json.dumps(expected))
    changed["scores"][node]["NodeResourcesFit"]["raw"] += 1
    changed["filter"][node]["TaintToleration"] = {"code": "Unschedulable", "reasons": ["x"]}
    (first, second) = differences(changed, evaluate(scenario, in_tree_registry()))
    assert first.startswith(f"filter, node {node}, plugin TaintToleration: expected")
    assert second.startswith(f"scores, node {node}, plugin NodeResourcesFit: expected")


def watch_decisions(scheduler: Scheduler) -> dict[str, Decision]:
    """Keeps every decision of a scheduler, by pod."""
    decisions: dict[str, Decision] = {}
    decide = scheduler.chooser.decide

    def keep(profile: Profile, pod: Pod) -> Decision:
        decisions[pod.uid] = decide(profile, pod)
        return decisions[pod.uid]

    scheduler.chooser.decide = keep  # type: ignore[method-assign]
    return decisions


def feed(scheduler: Scheduler, scenario: Document) -> None:
    for item in read_objects(scenario["objects"]):
        scheduler.door.put(item)


def run_until_tried(scheduler: Scheduler, pod: Pod) -> None:
    """Has this one pod scheduled; others that wait are taken from the queue and held."""

    async def run() -> None:
        while (queued := scheduler.queue.pop()) is not None:
            if queued.pod.uid == pod.uid:
                scheduler.attempt(queued)
                return

    asyncio.run(run())
