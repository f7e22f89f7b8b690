"""What the status of a Job may become: a Job that has ended stays so, and counts add up.

Rules about fields that a change does not touch are not held: the spec may have changed before the status.
"""

from __future__ import annotations

from collections.abc import Iterator

from moorage.cluster.base import errors
from moorage.cluster.base.errors import Cause
from moorage.cluster.base.parts import condition, is_true, part
from moorage.cluster.base.store import Document
from moorage.cluster.kinds.batch.job_indexes import IndexProblem, count_indexes, overlap
from moorage.cluster.schema.checking import check

COMPLETE, FAILED = "Complete", "Failed"
SUCCESS_CRITERIA_MET, FAILURE_TARGET = "SuccessCriteriaMet", "FailureTarget"
SUSPENDED = "Suspended"


def _is_finished(job: Document) -> bool:
    return is_true(job, COMPLETE) or is_true(job, FAILED)


def check_job_status(new: Document, old: Document) -> list[Cause]:
    status, before = part(new, "status"), part(old, "status")
    found = check("batch.v1.JobStatus", status, "status")
    found += _check_uncounted(status)
    found += _check_ends(new, old, status, before)
    found += _check_indexes(part(new, "spec"), status, before)
    found += _check_combinations(new, status, before)
    found += _check_going_back(new, old, status, before)
    return found


def _conditions(detail: str) -> Cause:
    return Cause("FieldValueInvalid", "status.conditions", f"Invalid value: {detail}")


def _check_uncounted(status: Document) -> Iterator[Cause]:
    seen: set[str] = set()
    for kind in ("succeeded", "failed"):
        for number, uid in enumerate(part(status, "uncountedTerminatedPods").get(kind) or ()):
            place = f"status.uncountedTerminatedPods.{kind}[{number}]"
            if not uid:
                yield errors.invalid_value(place, uid, "must not be empty")
            elif uid in seen:
                yield errors.duplicate_value(place, uid)
            seen.add(uid)


def _check_ends(new: Document, old: Document, status: Document, before: Document) -> Iterator[Cause]:
    """What goes with the end of a Job."""

    def changed(*names: str) -> bool:
        return any(status.get(name) != before.get(name) for name in names)

    def turned(*types: str) -> bool:
        return any(is_true(new, type_) != is_true(old, type_) for type_ in types)

    complete, finished = is_true(new, COMPLETE), _is_finished(new)
    end = finished != _is_finished(old)
    start, done = status.get("startTime"), status.get("completionTime")
    if turned(COMPLETE, FAILED) and complete and is_true(new, FAILED):
        yield _conditions("cannot set Complete=True and Failed=true conditions")
    if turned(COMPLETE, FAILURE_TARGET) and complete and is_true(new, FAILURE_TARGET):
        yield _conditions("cannot set Complete=True and FailureTarget=true conditions")
    if turned(COMPLETE) or changed("completionTime"):
        if done is not None and not complete:
            text = "cannot set completionTime when there is no Complete=True condition"
            yield errors.invalid_value("status.completionTime", done, text)
        if done is None and complete:
            yield errors.required("status.completionTime", "completionTime is required for Complete jobs")
    if changed("startTime", "completionTime") and start and done and done < start:
        text = "must be equal to or after `startTime`"
        yield errors.invalid_value("status.completionTime", done, text)
    untargeted = is_true(new, FAILED) and not is_true(new, FAILURE_TARGET)
    if (turned(FAILED) or changed("failedIndexes")) and untargeted:
        yield _conditions("cannot set Failed=True condition without the FailureTarget=true condition")
    if turned(COMPLETE, SUCCESS_CRITERIA_MET) and complete and not is_true(new, SUCCESS_CRITERIA_MET):
        yield _conditions("cannot set Complete=True condition without the SuccessCriteriaMet=true condition")
    if not finished:
        return
    if (end or changed("active")) and status.get("active", 0) > 0:
        yield errors.invalid_value("status.active", status["active"], "active>0 is invalid for finished job")
    spec = part(new, "spec")
    idle = spec.get("suspend") is True and spec.get("completions") == 0
    if (end or changed("startTime")) and not idle and start is None:
        yield errors.required("status.startTime", "startTime is required for finished job")
    uncounted = part(status, "uncountedTerminatedPods")
    if (end or changed("uncountedTerminatedPods")) and any(uncounted.values()):
        text = "must be empty for finished job"
        yield errors.invalid_value("status.uncountedTerminatedPods", uncounted, text)


def _check_indexes(spec: Document, status: Document, before: Document) -> Iterator[Cause]:
    completed, failed = status.get("completedIndexes", ""), status.get("failedIndexes")
    completions = spec.get("completions")
    new_completed = completed != before.get("completedIndexes", "")
    new_failed = failed != before.get("failedIndexes")
    per_index = spec.get("backoffLimitPerIndex") is not None
    asked = (
        ("completedIndexes", completed, new_completed),
        ("failedIndexes", failed, new_failed and per_index and failed is not None),
    )
    for name, text, is_new in asked:
        if is_new and completions is not None:
            try:
                count_indexes(text or "", completions)
            except IndexProblem as problem:
                yield errors.invalid_value(f"status.{name}", text, f"error parsing {name}: {problem}")
    if new_completed and completed and spec.get("completionMode") != "Indexed":
        text = "cannot set non-empty completedIndexes when non-indexed completion mode"
        yield errors.invalid_value("status.completedIndexes", completed, text)
    if new_failed and not per_index and failed is not None:
        text = "cannot set non-null failedIndexes when backoffLimitPerIndex is null"
        yield errors.invalid_value("status.failedIndexes", failed, text)
    if (new_failed or new_completed) and completions is not None and failed is not None:
        both = overlap(completed, failed, completions)
        if both is not None:
            text = f"failedIndexes and completedIndexes overlap at index: {both}"
            yield errors.invalid_value("status.failedIndexes", failed, text)


def _check_combinations(new: Document, status: Document, before: Document) -> Iterator[Cause]:
    terminating, ready, active = status.get("terminating"), status.get("ready"), status.get("active", 0)
    if (terminating or 0) > 0 and _is_finished(new):
        text = "terminating>0 is invalid for finished job"
        yield errors.invalid_value("status.terminating", terminating, text)
    changed = any(status.get(name) != before.get(name) for name in ("ready", "active"))
    if changed and ready is not None and ready > active:
        yield errors.invalid_value("status.ready", ready, "cannot set more ready pods than active")
    met = is_true(new, SUCCESS_CRITERIA_MET)
    if met and is_true(new, FAILED):
        yield _conditions("cannot set SuccessCriteriaMet=True and Failed=true conditions")
    if met and is_true(new, FAILURE_TARGET):
        yield _conditions("cannot set SuccessCriteriaMet=True and FailureTarget=true conditions")
    if part(new, "spec").get("successPolicy") is not None and not met and is_true(new, COMPLETE):
        text = "cannot set Complete=True for Job with SuccessPolicy unless SuccessCriteriaMet=True"
        yield _conditions(text)


def _check_going_back(new: Document, old: Document, status: Document, before: Document) -> Iterator[Cause]:
    for type_ in (FAILED, COMPLETE, FAILURE_TARGET):
        if is_true(old, type_) and not is_true(new, type_):
            yield _conditions(f"cannot disable the terminal {type_}=True condition")
    spec = part(new, "spec")
    if status.get("failed", 0) < before.get("failed", 0):
        text = "cannot decrease the failed counter"
        yield errors.invalid_value("status.failed", status.get("failed", 0), text)
    scalable = spec.get("completionMode") == "Indexed" and spec.get("completions") == spec.get("parallelism")
    if not scalable and status.get("succeeded", 0) < before.get("succeeded", 0):
        text = "cannot decrease the succeeded counter"
        yield errors.invalid_value("status.succeeded", status.get("succeeded", 0), text)
    done, was_done = status.get("completionTime"), before.get("completionTime")
    if done is not None and was_done is not None and done != was_done:
        yield errors.invalid_value("status.completionTime", done, "field is immutable")
    start, started = status.get("startTime"), before.get("startTime")
    held = condition(status, SUSPENDED)
    resumes = is_true(old, SUSPENDED) and held is not None and held.get("status") == "False"
    if started is not None and start != started and not resumes and not spec.get("suspend"):
        text = "field is immutable for unsuspended job once set"
        yield errors.invalid_value("status.startTime", start, text)
    met, was_met = is_true(new, SUCCESS_CRITERIA_MET), is_true(old, SUCCESS_CRITERIA_MET)
    if was_met and not met:
        yield _conditions("cannot disable the SuccessCriteriaMet=True condition")
    if is_true(old, COMPLETE) and not was_met and met:
        text = "cannot set SuccessCriteriaMet=True for Job already has Complete=true conditions"
        yield _conditions(text)
