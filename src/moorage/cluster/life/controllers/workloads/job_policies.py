"""What failures and successes of single pods mean for a Job."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from moorage.cluster.base.parts import part, records
from moorage.cluster.base.store import Document, Stored
from moorage.cluster.kinds.batch.job_indexes import IndexProblem, intervals
from moorage.cluster.life.controllers.workloads.job_pods import finished_at

FIRST_BACKOFF = 10.0  # seconds before a failed pod is replaced; doubles with every failure
LONGEST_BACKOFF = 600.0


class Verdict(NamedTuple):
    counts: bool = True
    """Whether the failure counts towards the limits."""
    action: str = ""
    message: str = ""
    """Why the whole Job fails, if it does."""


def judge(job: Stored, pod: Stored) -> Verdict:
    """What the Job's policy says about a pod that has failed: the first rule that matches holds."""
    for number, rule in enumerate(records(job.spec, "podFailurePolicy", "rules")):
        matched = _match(rule, pod)
        if matched:
            action = rule.get("action", "")
            message = f"{matched} matching {action} rule at index {number}" if action == "FailJob" else ""
            return Verdict(action != "Ignore", action, message)
    return Verdict()


def _match(rule: Document, pod: Stored) -> str:
    """What about the pod matches a rule; empty if nothing does."""
    codes = rule.get("onExitCodes")
    where = f"{pod.namespace}/{pod.name}"
    if codes is not None:
        for kind in ("containerStatuses", "initContainerStatuses"):
            for status in records(pod.status, kind):
                code = part(status, "state", "terminated").get("exitCode", 0)
                named = codes.get("containerName") in (None, status.get("name"))
                listed = code in (codes.get("values") or ())
                if named and code and listed == (codes.get("operator") == "In"):
                    return f"Container {status.get('name', '')} for pod {where} failed with exit code {code}"
        return ""
    patterns = {(each.get("type"), each.get("status")) for each in records(rule, "onPodConditions")}
    for condition in records(pod.status, "conditions"):
        if (condition.get("type"), condition.get("status")) in patterns:
            return f"Pod {where} has condition {condition.get('type')}"
    return ""


def parse_indexes(text: str, completions: int) -> set[int]:
    """The indexes that a text tells, as far as they are below the number of completions."""
    found: set[int] = set()
    for each in text.split(",") if text else ():
        try:
            for first, last in intervals(each, 2**31):
                found.update(range(first, min(last + 1, completions)))
        except IndexProblem:
            continue
    return found


def shown_indexes(indexes: Iterable[int]) -> str:
    """`0,2,3,5-9`"""
    shown: list[str] = []
    ordered = sorted(indexes)
    start = 0
    for place, index in enumerate(ordered):
        if place + 1 < len(ordered) and ordered[place + 1] == index + 1:
            continue
        first = ordered[start]
        mark = "," if index == first + 1 else "-"
        shown.append(str(first) if index == first else f"{first}{mark}{index}")
        start = place + 1
    return ",".join(shown)


def success_message(job: Stored, succeeded: set[int]) -> str:
    """Which rule of the success policy is fulfilled; empty if none is."""
    completions = job.spec.get("completions") or 0
    if not succeeded:
        return ""
    for number, rule in enumerate(records(job.spec, "successPolicy", "rules")):
        named, count = rule.get("succeededIndexes"), rule.get("succeededCount")
        if named is None:
            met = count is not None and len(succeeded) >= count
        else:
            wanted = parse_indexes(named, completions)
            have = len(wanted & succeeded)
            met = bool(wanted) and (have == len(wanted) or (count is not None and have >= count))
        if met:
            return f"Matched rules at index {number}"
    return ""


class Backoff(NamedTuple):
    """How often pods have failed since one last succeeded, and when that was last."""

    failures: int = 0
    last: float = 0.0

    def after(self, succeeded: Sequence[Stored], failed: Sequence[Stored]) -> Backoff:
        """The same after these pods have ended."""
        if not succeeded and not failed:
            return self
        times = sorted(finished_at(pod) for pod in failed)
        if not succeeded:
            return Backoff(self.failures + len(times), times[-1])
        last_success = max(finished_at(pod) for pod in succeeded)
        later = [time for time in times if time > last_success]
        return Backoff(len(later), later[-1]) if later else Backoff()

    def remaining(self, now: float) -> float:
        """Seconds until the next pod may be made."""
        return remaining(self.failures, self.last, now)


def remaining(failures: int, last: float, now: float) -> float:
    if not failures:
        return 0.0
    delay = min(FIRST_BACKOFF * 2.0 ** min(failures - 1, 20), LONGEST_BACKOFF)
    return max(last + delay - now, 0.0)
