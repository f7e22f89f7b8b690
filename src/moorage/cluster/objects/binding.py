"""Binding a pod to a node: the one write a scheduler is for."""

from __future__ import annotations

from functools import cache

from moorage.cluster.access.write_options import Options
from moorage.cluster.base import parts
from moorage.cluster.base.errors import Cause, bad_request, conflict, listed, required, unsupported_value
from moorage.cluster.base.store import Document, Stored
from moorage.cluster.base.times import timestamp
from moorage.cluster.objects.admission.attempt import CREATE
from moorage.cluster.objects.admission.chain import admit_content
from moorage.cluster.objects.hooks.wishes import Wish
from moorage.cluster.objects.identity import other_object
from moorage.cluster.objects.writes import Objects
from moorage.cluster.schema.builtin import schema_of
from moorage.cluster.schema.definitions import Definition

_TOPOLOGY = ("topology.kubernetes.io/zone", "topology.kubernetes.io/region")


def bind(
    objects: Objects,
    namespace: str,
    name: str,
    binding: Document,
    *,
    options: Options | None = None,
    posted_to: str = "pods",
) -> None:
    """Gives a pod its node. A pod has one node for its whole life: a second binding is refused.

    With options, others have a say in it.
    """
    store = objects.store
    admit_content(posted_to, name, namespace, store)
    if options is not None:
        binding = _admitted(objects, namespace, name, binding, options, posted_to)
    node = _target(binding)
    old = objects.get(objects.definition_of("pods"), namespace, name)
    document = old.document
    metadata, spec = document["metadata"], document["spec"]
    uid = binding["metadata"].get("uid")
    if uid and uid != old.uid:
        raise other_object("pods", metadata, uid)
    for is_so, why in (
        (old.is_deleted, "is being deleted, cannot be assigned to a host"),
        (spec.get("nodeName"), f'is already assigned to node "{spec.get("nodeName")}"'),
        (spec.get("schedulingGates"), "has non-empty .spec.schedulingGates"),
    ):
        if is_so:
            raise conflict("pods/binding", name, f"pod {name} {why}")
    if options is not None and options.dry_run:
        return
    status = {key: value for key, value in old.status.items() if key != "nominatedNodeName"}
    now = timestamp(objects.clock())
    scheduled = {"type": "PodScheduled", "status": "True", "lastProbeTime": None, "lastTransitionTime": now}
    changed = {
        **document,
        "metadata": _metadata(metadata, binding["metadata"], store.get("nodes", "", node)),
        "spec": {**spec, "nodeName": node},
        "status": {**status, "conditions": [*parts.other_conditions(status, "PodScheduled"), scheduled]},
    }
    store.update("pods", old, changed)


def _admitted(
    objects: Objects, namespace: str, name: str, binding: Document, options: Options, posted_to: str
) -> Document:
    resource, part = (objects.definition_of(posted_to), "binding" if posted_to == "pods" else "")
    wish = Wish(resource, CREATE, options, binding, None, name, namespace, part, kind=_kind())
    return objects.hooks.admit(wish).document or {}


@cache
def _kind() -> Definition:
    return Definition("", "v1", "bindings", "Binding", True, schema_of("", "v1", "Binding"))


def _metadata(metadata: Document, given: Document, node: Stored | None) -> Document:
    """With the binding's annotations and the node's place in the topology."""
    changed = dict(metadata)
    if annotations := given.get("annotations"):
        changed["annotations"] = {**metadata.get("annotations", {}), **annotations}
    if node is not None:
        places = {name: node.labels[name] for name in _TOPOLOGY if name in node.labels}
        places |= given.get("labels") or {}
        if places:
            changed["labels"] = {**metadata.get("labels", {}), **places}
    return changed


def _target(binding: Document) -> str:
    target: Document = binding.get("target") or {}
    causes: list[Cause] = []
    if target.get("kind", "") not in ("", "Node"):
        causes.append(unsupported_value("target.kind", target["kind"], ("Node", "<empty>")))
    node: str = target.get("name", "")
    if not node:
        causes.append(required("target.name"))
    if causes:
        raise bad_request(listed(map(str, causes)))
    return node
