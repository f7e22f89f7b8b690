"""Where a change of a pod belongs: the template of the controller that made it."""

from __future__ import annotations

from moorage.api.kinds import KINDS
from moorage.api.meta import Object, OwnerReference
from moorage.framework.handle import Services
from moorage.insight.advice.steps import Document

_TEMPLATE = "spec.template"
_TEMPLATES = {"CronJob": "spec.jobTemplate.spec.template"}
_FURTHER = ("ReplicaSet", "Job")
"""Kinds that are mostly made by a further controller."""


def template_of(services: Services, item: Object) -> Document | None:
    """Kind, namespace, name and path of the template; None for a pod that nobody controls."""
    owner = _controller(item)
    if owner is None or owner.kind == "Node":
        return None
    if owner.kind in _FURTHER:
        known = _find(services, owner, item.namespace)
        above = None if known is None else _controller(known)
        owner = above or owner
    path = _TEMPLATES.get(owner.kind, _TEMPLATE)
    return {"kind": owner.kind, "namespace": item.namespace, "name": owner.name, "path": path}


def _controller(item: Object) -> OwnerReference | None:
    return next((owner for owner in item.metadata.owner_references if owner.controller), None)


def _find(services: Services, owner: OwnerReference, namespace: str) -> Object | None:
    kind = KINDS.get(owner.kind)
    if kind is not None:
        return services.state.objects.of(kind).get(owner.name, namespace)
    for lister in services.listers:
        if lister.name.resource == f"{owner.kind.lower()}s":
            found: Object | None = lister.get(owner.name, namespace=namespace)
            return found
    return None
