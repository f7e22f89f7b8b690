"""LimitRanges, which say what a container or a claim may ask for."""

from __future__ import annotations

from collections.abc import Iterator

from moorage.cluster.base.errors import listed
from moorage.cluster.base.parts import part, records
from moorage.cluster.base.store import Document
from moorage.cluster.kinds.pods.resources import quality_class
from moorage.cluster.objects.admission.attempt import Attempt
from moorage.cluster.schema.forms import nanos

ANNOTATION = "kubernetes.io/limit-ranger"
_CONTAINER = "Container"
_CLAIM = "PersistentVolumeClaim"
_ONE = nanos("1")


def apply_limits(attempt: Attempt) -> None:
    """Completes the resources of a pod's containers, and refuses those outside the limits."""
    ranges = [stored.document for stored in attempt.store.iterate("limitranges", attempt.namespace)]
    if not ranges:
        return
    document = attempt.document
    for each in ranges:
        _set_defaults(document, _limits(each, _CONTAINER))
    if "status" in document:
        # Pods are classed by what they ask for, which may have changed.
        document["status"]["qosClass"] = quality_class(document["spec"])
    asked = [part(container, "resources") for _, container in containers_of(document["spec"])]
    for each in ranges:
        _refuse(attempt, each, _CONTAINER, asked)


def admit_claim_size(attempt: Attempt) -> None:
    if "storage" not in claim_requests(attempt.document):
        return  # No claim may say nothing; that is for its own rules to tell.
    for stored in attempt.store.iterate("limitranges", attempt.namespace):
        _refuse(attempt, stored.document, _CLAIM, [part(attempt.document["spec"], "resources")])


def _limits(limit_range: Document, kind: str) -> list[Document]:
    return [each for each in records(limit_range, "spec", "limits") if each.get("type") == kind]


def claim_requests(document: Document) -> Document:
    """What a PersistentVolumeClaim asks for."""
    return part(document, "spec", "resources", "requests")


def containers_of(spec: Document) -> Iterator[tuple[str, Document]]:
    """The containers of a pod, each with the words for its kind."""
    for kind, name in (("container", "containers"), ("init container", "initContainers")):
        for container in spec.get(name) or ():
            yield kind, container


def _set_defaults(document: Document, limits: list[Document]) -> None:
    notes = []
    for kind, container in containers_of(document["spec"]):
        resources = dict(part(container, "resources"))
        for name, source, word in (("requests", "defaultRequest", "request"), ("limits", "default", "limit")):
            known = part(resources, name)
            given = {key: value for limit in limits for key, value in part(limit, source).items()}
            missing = {key: value for key, value in given.items() if key not in known}
            if missing:
                resources[name] = {**known, **missing}
                notes.append(f"{', '.join(sorted(missing))} {word} for {kind} {container.get('name', '')}")
        container["resources"] = resources
    if notes:
        metadata = document["metadata"]
        text = f"LimitRanger plugin set: {'; '.join(notes)}"
        metadata["annotations"] = {**(metadata.get("annotations") or {}), ANNOTATION: text}


def _refuse(attempt: Attempt, limit_range: Document, kind: str, asked: list[Document]) -> None:
    """Refuses resources of which some are outside the limits."""
    found = [
        problem
        for limit in _limits(limit_range, kind)
        for resources in asked
        for problem in _problems(kind, limit, part(resources, "requests"), part(resources, "limits"))
    ]
    problems = list(dict.fromkeys(filter(None, found)))
    if problems:
        raise attempt.forbidden(listed(problems))


def _problems(kind: str, limit: Document, requests: Document, limits: Document) -> Iterator[str]:
    for resource, least in sorted(part(limit, "min").items()):
        start = f"minimum {resource} usage per {kind} is {least}"
        yield _too_little(start, resource, least, requests, limits)
    for resource, most in sorted(part(limit, "max").items()):
        start, request = f"maximum {resource} usage per {kind} is {most}", requests.get(resource)
        problem = _too_much(start, most, limits.get(resource), "limit") if kind == _CONTAINER else ""
        if not problem and (request is not None or kind == _CLAIM):
            problem = _too_much(start, most, request, "request")
        yield problem
    if kind == _CONTAINER:
        for resource, ratio in sorted(part(limit, "maxLimitRequestRatio").items()):
            start = f"{resource} max limit to request ratio per {kind} is {ratio}"
            yield _too_far_apart(start, ratio, requests.get(resource), limits.get(resource))


def _too_little(start: str, resource: str, least: str, requests: Document, limits: Document) -> str:
    if resource not in requests:
        return f"{start}.  No request is specified"
    for word, found in (("request", requests[resource]), ("limit", limits.get(resource))):
        if found is not None and nanos(found) < nanos(least):
            return f"{start}, but {word} is {found}"
    return ""


def _too_much(start: str, most: str, found: str | None, word: str) -> str:
    if found is None:
        return f"{start}.  No {word} is specified"
    return f"{start}, but {word} is {found}" if nanos(found) > nanos(most) else ""


def _too_far_apart(start: str, ratio: str, request: str | None, limit: str | None) -> str:
    for word, found in (("request", request), ("limit", limit)):
        if not found or not nanos(found):
            return f"{start}, but no {word} is specified or {word} is 0"
    provided = nanos(limit or "0") / nanos(request or "0")
    return f"{start}, but provided ratio is {provided:f}" if provided * _ONE > nanos(ratio) else ""
