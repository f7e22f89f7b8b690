"""LimitRanges: what containers get that ask for nothing, and how much they may ask for."""

from __future__ import annotations

from collections.abc import Iterator

from moorage.cluster.base.store import Document, Store
from moorage.cluster.kinds.common import part
from moorage.cluster.kinds.fields import nanos
from moorage.cluster.kinds.pods_resources import quality_class
from moorage.cluster.objects.admission.attempt import Attempt

ANNOTATION = "kubernetes.io/limit-ranger"


def apply_limits(attempt: Attempt, store: Store) -> None:
    """Completes the resources of a pod's containers, and refuses those outside the limits."""
    ranges = [stored.document for stored in store.iterate("limitranges", attempt.namespace)]
    if not ranges:
        return
    document = attempt.document
    for each in ranges:
        _set_defaults(document, list(_limits(each, "Container")))
    if "status" in document:
        # Pods are classed by what they ask for, which may have changed.
        document["status"]["qosClass"] = quality_class(document["spec"])
    for each in ranges:
        _refuse(
            attempt,
            [
                problem
                for limit in _limits(each, "Container")
                for _, container in _containers(document)
                for problem in _problems(limit, part(container, "resources"))
            ],
        )


def admit_claim_size(attempt: Attempt, store: Store) -> None:
    requests = part(part(part(attempt.document, "spec"), "resources"), "requests")
    if "storage" not in requests:
        return  # No claim may say nothing; that is for its own rules to tell.
    for stored in store.iterate("limitranges", attempt.namespace):
        problems: list[str] = []
        for limit in _limits(stored.document, "PersistentVolumeClaim"):
            kind = "PersistentVolumeClaim"
            for resource, least in part(limit, "min").items():
                problems += _too_little(kind, resource, least, requests, {})
            for resource, most in part(limit, "max").items():
                problems += _too_much(kind, resource, most, requests.get(resource), "request")
        _refuse(attempt, problems)


def _limits(limit_range: Document, kind: str) -> Iterator[Document]:
    for limit in part(limit_range, "spec").get("limits") or ():
        if limit.get("type") == kind:
            yield limit


def _containers(document: Document) -> Iterator[tuple[str, Document]]:
    spec = document["spec"]
    for kind, name in (("container", "containers"), ("init container", "initContainers")):
        for container in spec.get(name) or ():
            yield kind, container


def _set_defaults(document: Document, limits: list[Document]) -> None:
    notes = []
    for kind, container in _containers(document):
        resources = dict(part(container, "resources"))
        for name, source, word in (("limits", "default", "limit"), ("requests", "defaultRequest", "request")):
            known = part(resources, name)
            given = {key: value for limit in limits for key, value in part(limit, source).items()}
            missing = {key: value for key, value in given.items() if key not in known}
            if missing:
                resources[name] = {**known, **missing}
                note = f"{', '.join(sorted(missing))} {word} for {kind} {container.get('name', '')}"
                notes.append((container.get("name", ""), word != "request", note))
        container["resources"] = resources
    if notes:
        order = [name for name, _, _ in notes]
        notes.sort(key=lambda note: (order.index(note[0]), note[1]))
        metadata = document["metadata"]
        text = "LimitRanger plugin set: " + "; ".join(note for _, _, note in notes)
        metadata["annotations"] = {**(metadata.get("annotations") or {}), ANNOTATION: text}


def _problems(limit: Document, resources: Document) -> Iterator[str]:
    requests, limits = part(resources, "requests"), part(resources, "limits")
    for resource, least in sorted(part(limit, "min").items()):
        yield from _too_little("Container", resource, least, requests, limits)
    for resource, most in sorted(part(limit, "max").items()):
        problem = list(_too_much("Container", resource, most, limits.get(resource), "limit"))
        if not problem and resource in requests:
            problem = list(_too_much("Container", resource, most, requests[resource], "request"))
        yield from problem
    for resource, ratio in sorted(part(limit, "maxLimitRequestRatio").items()):
        yield from _too_far_apart(resource, ratio, requests.get(resource), limits.get(resource))


def _too_little(kind: str, resource: str, least: str, requests: Document, limits: Document) -> Iterator[str]:
    start = f"minimum {resource} usage per {kind} is {least}"
    if resource not in requests:
        yield f"{start}.  No request is specified"
    elif nanos(requests[resource]) < nanos(least):
        yield f"{start}, but request is {requests[resource]}"
    elif resource in limits and nanos(limits[resource]) < nanos(least):
        yield f"{start}, but limit is {limits[resource]}"


def _too_much(kind: str, resource: str, most: str, found: str | None, word: str) -> Iterator[str]:
    start = f"maximum {resource} usage per {kind} is {most}"
    if found is None:
        yield f"{start}.  No {word} is specified"
    elif nanos(found) > nanos(most):
        yield f"{start}, but {word} is {found}"


def _too_far_apart(resource: str, ratio: str, request: str | None, limit: str | None) -> Iterator[str]:
    start = f"{resource} max limit to request ratio per Container is {ratio}"
    if not request or not nanos(request):
        yield f"{start}, but no request is specified or request is 0"
    elif not limit or not nanos(limit):
        yield f"{start}, but no limit is specified or limit is 0"
    else:
        found = nanos(limit) / nanos(request)
        if found * nanos("1") > nanos(ratio):
            yield f"{start}, but provided ratio is {found:f}"


def _refuse(attempt: Attempt, problems: list[str]) -> None:
    problems = list(dict.fromkeys(problems))
    if problems:
        raise attempt.forbidden(problems[0] if len(problems) == 1 else f"[{', '.join(problems)}]")
