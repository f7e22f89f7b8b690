"""Work that comes to an end: Jobs, and CronJobs, which make Jobs again and again."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from moorage.cluster.base import errors
from moorage.cluster.base.cron import ScheduleError, parse_schedule, zone_problem
from moorage.cluster.base.errors import Cause
from moorage.cluster.base.parts import is_true, selector_of
from moorage.cluster.base.store import Document
from moorage.cluster.kinds.batch.job_spec import MANY, MANY_AT_ONCE, is_indexed
from moorage.cluster.kinds.batch.job_status import check_job_status
from moorage.cluster.kinds.common import WithStatus, own_part, part
from moorage.cluster.kinds.pods.pods import default_pod_spec, drop_disabled
from moorage.cluster.kinds.pods.warnings import name_warnings, pod_warnings
from moorage.cluster.kinds.selectors import shown_labels, shown_selector
from moorage.cluster.schema.checking import IMMUTABLE, Around, check, relates
from moorage.cluster.schema.forms import dns_label_problems

UID_LABELS = ("controller-uid", "batch.kubernetes.io/controller-uid")
NAME_LABELS = ("job-name", "batch.kubernetes.io/job-name")

_NAMES_PODS = "this is used in Pod names and hostnames, which can result in surprising behavior"
_LONGEST_NAME = 52  # of a CronJob: eleven characters are put behind it
_ZONE_PART = re.compile(r"[A-Za-z.\-_0-9+]{1,14}")
_FIXED_IN_JOBS = ("completionMode", "podFailurePolicy", "backoffLimitPerIndex", "managedBy", "successPolicy")
_SUSPENDED_MAY_CHANGE = ("nodeSelector", "tolerations", "schedulingGates")
_ORPHANS = (
    "child pods are preserved by default when jobs are deleted; set propagationPolicy=Background to "
    "remove them or set propagationPolicy=Orphan to suppress this warning"
)
_TOO_MANY_TO_TRACK = (
    "In Indexed Jobs with a number of completions higher than 10^5 and a parallelism higher than 10^4, "
    "Kubernetes might not be able to track completedIndexes when a big number of indexes fail"
)


# Jobs


class JobStrategy(WithStatus):
    type_name = "batch.v1.Job"
    counts_generations = True
    orphans_by_default = True

    def default(self, document: Document) -> None:
        spec = own_part(document, "spec")
        default_pod_spec(own_part(own_part(spec, "template"), "spec"))
        super().default(document)
        if spec.get("completions") is None and spec.get("parallelism") is None:
            spec["completions"] = 1
        spec.setdefault("parallelism", 1)
        spec.setdefault("backoffLimit", 6 if spec.get("backoffLimitPerIndex") is None else 2**31 - 1)
        spec.setdefault("completionMode", "NonIndexed")
        spec.setdefault("suspend", False)
        replaced = "TerminatingOrFailed" if spec.get("podFailurePolicy") is None else "Failed"
        spec.setdefault("podReplacementPolicy", replaced)
        spec.setdefault("manualSelector", False)
        _copy_labels(document)

    def prepare_create(self, document: Document) -> None:
        super().prepare_create(document)
        if not document["spec"]["manualSelector"]:
            _generate_selector(document)
            _copy_labels(document)
        drop_disabled(document["spec"]["template"]["spec"], self.gates)

    def prepare_update(self, new: Document, old: Document) -> None:
        super().prepare_update(new, old)
        drop_disabled(new["spec"]["template"]["spec"], self.gates)

    def validate(self, document: Document) -> Iterator[Cause]:
        yield from _check_generated(document)
        yield from super().validate(document)
        spec, name = document["spec"], document["metadata"].get("name", "")
        if is_indexed(spec) and spec.get("completions", 0) > 0:
            longest = f"{name}-{spec['completions'] - 1}"
            if dns_label_problems(longest):
                text = f"will not able to create pod with invalid DNS label: {longest}"
                yield errors.invalid_value("metadata.name", name, text)

    def validate_update(self, new: Document, old: Document) -> Iterator[Cause]:
        spec, before = new["spec"], old["spec"]
        yield from _check_completions(spec, before)
        if spec.get("selector") != before.get("selector"):
            yield errors.invalid_value("spec.selector", shown_selector(spec.get("selector")), IMMUTABLE)
        yield from _check_template_change(new, old)
        for name in _FIXED_IN_JOBS:
            if spec.get(name) != before.get(name):
                yield errors.invalid_value(f"spec.{name}", spec.get(name), IMMUTABLE)

    def validate_status_update(self, new: Document, old: Document) -> Iterable[Cause]:
        return check_job_status(new, old)

    def selectable_fields(self, document: Document) -> dict[str, str]:
        return {"status.successful": str(part(document, "status").get("succeeded", 0))}

    def warnings(self, document: Document) -> list[str]:
        return name_warnings(document, _NAMES_PODS) + _spec_warnings(document["spec"], "spec")

    def update_warnings(self, new: Document, old: Document) -> list[str]:
        return _spec_warnings(new["spec"], "spec") if self.is_new_generation(new, old) else []

    def delete_warnings(self, propagation: str) -> list[str]:
        return [] if propagation else [_ORPHANS]


def _spec_warnings(spec: Document, path: str) -> list[str]:
    found = pod_warnings(part(spec, "template"), f"{path}.template")
    wide = spec.get("completions", 0) > MANY and spec.get("parallelism", 0) > MANY_AT_ONCE
    return [f"{path}: {_TOO_MANY_TO_TRACK}", *found] if is_indexed(spec) and wide else found


def _copy_labels(document: Document) -> None:
    """A Job without labels has those of its pods, those that are generated included."""
    labels = part(part(document["spec"], "template"), "metadata").get("labels")
    if labels and not document["metadata"].get("labels"):
        document["metadata"]["labels"] = labels


def _generate_selector(document: Document) -> None:
    """Labels that no other Job's pods have; those that somebody has set by hand are looked at later."""
    metadata, spec = document["metadata"], document["spec"]
    labels = own_part(own_part(spec["template"], "metadata"), "labels")
    for key in NAME_LABELS:
        labels.setdefault(key, metadata.get("name", ""))
    for key in UID_LABELS:
        labels.setdefault(key, metadata.get("uid", ""))
    own_part(own_part(spec, "selector"), "matchLabels").setdefault(UID_LABELS[1], metadata.get("uid", ""))


def _check_generated(document: Document) -> Iterator[Cause]:
    metadata, spec = document["metadata"], document["spec"]
    if spec.get("manualSelector") or spec.get("selector") is None:
        return
    labels = part(part(spec["template"], "metadata"), "labels")
    name, uid = metadata.get("name", ""), metadata.get("uid", "")
    expected = {UID_LABELS[0]: uid, NAME_LABELS[0]: name, UID_LABELS[1]: uid, NAME_LABELS[1]: name}
    for key, value in expected.items():
        place = f"spec.template.metadata.labels[{key}]"
        if key not in labels:
            yield errors.required(place, f"must be '{value}'")
        elif labels[key] != value:
            yield errors.invalid_value(place, shown_labels(labels), f"must be '{value}'")
    broken = check("meta.v1.LabelSelector", spec["selector"])
    if not broken and not selector_of(spec["selector"]).matches(expected):
        text = "`selector` not auto-generated"
        yield errors.invalid_value("spec.selector", shown_selector(spec["selector"]), text)


def _check_completions(spec: Document, before: Document) -> Iterator[Cause]:
    completions = spec.get("completions")
    if completions == before.get("completions"):
        return
    if not is_indexed(spec):
        yield errors.invalid_value("spec.completions", completions, IMMUTABLE)
    elif completions is not None and completions != spec["parallelism"]:
        text = "can only be modified in tandem with spec.parallelism"
        yield errors.invalid_value("spec.completions", completions, text)


def _check_template_change(new: Document, old: Document) -> Iterator[Cause]:
    """The template is fixed, but where a suspended Job's pods run and what they ask for may be changed."""
    template, before = new["spec"]["template"], old["spec"]["template"]
    status = part(old, "status")
    suspended = bool(old["spec"].get("suspend"))
    at_rest = "startTime" not in status or is_true(old, "Suspended")
    if not (suspended and at_rest and not status.get("active")):
        if template != before:
            yield errors.invalid_value("spec.template", template, IMMUTABLE)
        return
    pod, known = template["spec"], dict(before["spec"])
    for name in _SUSPENDED_MAY_CHANGE:
        known.pop(name, None)
        if name in pod:
            known[name] = pod[name]
    affinity = {**part(known, "affinity")}
    affinity.pop("nodeAffinity", None)
    if "nodeAffinity" in part(pod, "affinity"):
        affinity["nodeAffinity"] = pod["affinity"]["nodeAffinity"]
    known.pop("affinity", None)
    if affinity or "affinity" in pod:
        known["affinity"] = affinity
    for kind in ("containers", "initContainers"):
        if len(pod.get(kind) or ()) == len(known.get(kind) or ()) and known.get(kind):
            pairs = zip(known[kind], pod[kind], strict=True)
            known[kind] = [
                {**each, "resources": now.get("resources")} if each.get("name") == now.get("name") else each
                for each, now in pairs
            ]
    if pod != known:
        yield errors.invalid_value("spec.template.spec", pod, IMMUTABLE)


# CronJobs


class CronJobStrategy(WithStatus):
    type_name = "batch.v1.CronJob"
    counts_generations = True

    def default(self, document: Document) -> None:
        spec = own_part(own_part(own_part(document, "spec"), "jobTemplate"), "spec")
        default_pod_spec(own_part(own_part(spec, "template"), "spec"))
        super().default(document)

    def prepare_create(self, document: Document) -> None:
        super().prepare_create(document)
        drop_disabled(document["spec"]["jobTemplate"]["spec"]["template"]["spec"], self.gates)

    def prepare_update(self, new: Document, old: Document) -> None:
        super().prepare_update(new, old)
        drop_disabled(new["spec"]["jobTemplate"]["spec"]["template"]["spec"], self.gates)

    def validate(self, document: Document) -> Iterator[Cause]:
        yield from super().validate(document)
        name = document["metadata"].get("name", "")
        if len(name) > _LONGEST_NAME:
            yield errors.invalid_value("metadata.name", name, "must be no more than 52 characters")

    def warnings(self, document: Document) -> list[str]:
        found = _spec_warnings(document["spec"]["jobTemplate"]["spec"], "spec.jobTemplate.spec")
        return name_warnings(document, _NAMES_PODS) + found

    def update_warnings(self, new: Document, old: Document) -> list[str]:
        return self.warnings(new) if self.is_new_generation(new, old) else []


@relates("batch.v1.CronJobSpec", where="schedule")
def _schedule(spec: Document, path: str, around: Around) -> Iterator[Cause]:
    schedule, place = spec["schedule"], f"{path}.schedule"
    if not schedule:
        return
    try:
        parse_schedule(schedule)
    except ScheduleError as problem:
        yield errors.invalid_value(place, schedule, str(problem))
    if "TZ" in schedule:
        text = "cannot use TZ or CRON_TZ in schedule, use timeZone field instead"
        yield errors.invalid_value(place, schedule, text)


@relates("batch.v1.CronJobSpec", where="timeZone")
def _time_zone(spec: Document, path: str, around: Around) -> Iterator[Cause]:
    zone, place = spec["timeZone"], f"{path}.timeZone"
    parts = zone.split("/")
    if not zone:
        yield errors.invalid_value(place, zone, "timeZone must be nil or non-empty string")
    elif any(each in (".", "..") or each.startswith("-") or not _ZONE_PART.fullmatch(each) for each in parts):
        yield errors.invalid_value(place, zone, f"unknown time zone {zone}")
    else:
        if zone.lower() == "local":
            text = "timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones"
            yield errors.invalid_value(place, zone, text)
        problem = None if zone == "Local" else zone_problem(zone)
        if problem is not None:
            yield errors.invalid_value(place, zone, problem)


@relates("batch.v1.CronJobSpec")
def _generated_selectors(spec: Document, path: str, around: Around) -> Iterator[Cause]:
    job, place = part(part(spec, "jobTemplate"), "spec"), f"{path}.jobTemplate.spec"
    if job.get("selector") is not None:
        text = "`selector` will be auto-generated"
        yield errors.invalid_value(f"{place}.selector", shown_selector(job["selector"]), text)
    if job.get("manualSelector"):
        yield errors.unsupported_value(f"{place}.manualSelector", True, ("nil", "false"))
