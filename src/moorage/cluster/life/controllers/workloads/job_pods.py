"""The pods of Jobs: how they are told apart, which have failed and when, and what new ones look like."""

from __future__ import annotations

from collections.abc import Iterable

from moorage.cluster.base.parts import condition, part, records
from moorage.cluster.base.store import Document, Stored
from moorage.cluster.base.times import seconds_of
from moorage.cluster.kinds.batch.job_spec import is_indexed
from moorage.cluster.life.controllers import objects
from moorage.cluster.life.controllers.workloads.owned_pods import pod_of

FINALIZER = "batch.kubernetes.io/job-tracking"
INDEX = "batch.kubernetes.io/job-completion-index"
FAILURES = "batch.kubernetes.io/job-index-failure-count"
IGNORED_FAILURES = "batch.kubernetes.io/job-index-ignored-failure-count"
_INDEX_VARIABLE = "JOB_COMPLETION_INDEX"
_LONGEST_PREFIX = 58  # of a name, before what is generated


def is_tracked(pod: Stored) -> bool:
    """Whether what becomes of a pod is still to be counted."""
    return FINALIZER in pod.finalizers


def is_terminating(pod: Stored) -> bool:
    return pod.is_deleted and not objects.is_finished(pod)


def only_replaces_failed(job: Stored) -> bool:
    spec = job.spec
    return spec.get("podReplacementPolicy") == "Failed" or spec.get("podFailurePolicy") is not None


def is_failed(pod: Stored, job: Stored) -> bool:
    """A pod that is being deleted counts as failed, unless the Job waits for what really becomes of it."""
    phase = pod.status.get("phase")
    if phase == "Failed":
        return True
    return pod.is_deleted and phase != "Succeeded" and not only_replaces_failed(job)


def index_of(pod: Stored) -> int | None:
    return _number(pod.annotations.get(INDEX))


def indexes_of(pods: Iterable[Stored]) -> set[int]:
    return {index for pod in pods if (index := index_of(pod)) is not None}


def failures_of(pod: Stored) -> int:
    """How often the index of a pod had failed when the pod was made."""
    return _number(pod.annotations.get(FAILURES)) or 0


def all_failures_of(pod: Stored) -> int:
    """The same with those failures that did not count."""
    return failures_of(pod) + (_number(pod.annotations.get(IGNORED_FAILURES)) or 0)


def finished_at(pod: Stored) -> float:
    """When a pod ended, as well as that can be told."""
    ends = [
        part(each, "state", "terminated").get("finishedAt")
        for each in records(pod.status, "containerStatuses")
    ]
    if ends and all(ends):
        return max(seconds_of(end) for end in ends if end)
    ready = condition(pod.status, "Ready")
    if ready is not None and ready.get("status") == "False" and ready.get("lastTransitionTime"):
        return seconds_of(ready["lastTransitionTime"])
    metadata = pod.document["metadata"]
    if pod.is_deleted:
        return seconds_of(metadata["deletionTimestamp"]) - (metadata.get("deletionGracePeriodSeconds") or 0)
    return seconds_of(pod.created)


def restarts_of(pods: Iterable[Stored]) -> int:
    """How often containers of pods that are not finished were started again."""
    return sum(
        status.get("restartCount", 0)
        for pod in pods
        if pod.status.get("phase") in ("Running", "Pending")
        for kind in ("initContainerStatuses", "containerStatuses")
        for status in records(pod.status, kind)
    )


def job_template(job: Stored) -> Document:
    """The template with what all pods of a Job have."""
    template = objects.copied(job.spec.get("template") or {})
    metadata = template.setdefault("metadata", {})
    finalizers = metadata.setdefault("finalizers", [])
    if FINALIZER not in finalizers:
        finalizers.append(FINALIZER)
    if is_indexed(job.spec):
        for kind in ("initContainers", "containers"):
            for container in records(template, "spec", kind):
                _tell_index(container)
    return template


def _tell_index(container: Document) -> None:
    variables = container.setdefault("env", [])
    if all(each.get("name") != _INDEX_VARIABLE for each in variables):
        source = {"fieldRef": {"apiVersion": "v1", "fieldPath": f"metadata.labels['{INDEX}']"}}
        variables.append({"name": _INDEX_VARIABLE, "valueFrom": source})


def job_pod(job: Stored, template: Document, index: int | None, notes: dict[str, str]) -> Document:
    """A new pod, for an index if the Job has some; `notes` are further annotations."""
    reference = objects.controller_reference(job, "batch/v1", "Job")
    pod = objects.copied(pod_of(job, reference, template))
    if index is not None:
        metadata = pod["metadata"]
        metadata.setdefault("labels", {})[INDEX] = str(index)
        metadata["annotations"] = {**metadata.get("annotations", {}), INDEX: str(index), **notes}
        suffix = f"-{index}-"
        metadata["generateName"] = f"{job.name[: _LONGEST_PREFIX - len(suffix)]}{suffix}"
        pod["spec"]["hostname"] = f"{job.name}-{index}"
    return pod


def _number(text: str | None) -> int | None:
    return int(text) if text and text.isascii() and text.isdigit() and len(text) < 10 else None
