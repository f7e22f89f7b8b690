"""Binding a pod to a node: the one write a scheduler is for."""

from __future__ import annotations

from collections.abc import Callable

from moorage.cluster.base.errors import bad_request, conflict, not_found, required, unsupported_value
from moorage.cluster.base.store import Document, Store
from moorage.cluster.base.times import timestamp
from moorage.cluster.objects.admission.namespaces import admit_content
from moorage.cluster.objects.preconditions import other_object

_TOPOLOGY = ("topology.kubernetes.io/zone", "topology.kubernetes.io/region")
_RESOURCE = "pods/binding"


class Binder:
    def __init__(self, store: Store, clock: Callable[[], float]) -> None:
        self._store = store
        self._clock = clock

    def bind(
        self, namespace: str, name: str, binding: Document, *, dry_run: bool = False, posted_to: str = "pods"
    ) -> None:
        """Gives a pod its node. A pod has one node for its whole life: a second binding is refused."""
        node = _target(binding)
        admit_content(posted_to, name, namespace, self._store)
        old = self._store.get("pods", namespace, name)
        if old is None:
            raise not_found("pods", name)
        document = old.document
        metadata, spec = document["metadata"], document["spec"]
        uid = binding["metadata"].get("uid")
        if uid and uid != metadata["uid"]:
            raise other_object("pods", metadata, uid)
        if "deletionTimestamp" in metadata:
            raise conflict(_RESOURCE, name, f"pod {name} is being deleted, cannot be assigned to a host")
        if spec.get("nodeName"):
            assigned = spec["nodeName"]
            raise conflict(_RESOURCE, name, f'pod {name} is already assigned to node "{assigned}"')
        if spec.get("schedulingGates"):
            raise conflict(_RESOURCE, name, f"pod {name} has non-empty .spec.schedulingGates")
        if dry_run:
            return
        status = {
            key: value for key, value in document.get("status", {}).items() if key != "nominatedNodeName"
        }
        changed = {
            **document,
            "metadata": self._metadata(metadata, binding, node),
            "spec": {**spec, "nodeName": node},
            "status": {**status, "conditions": self._scheduled(status.get("conditions", []))},
        }
        self._store.update("pods", old, changed)

    def _metadata(self, metadata: Document, binding: Document, node: str) -> Document:
        """With the binding's annotations and the node's place in the topology."""
        changed = dict(metadata)
        if annotations := binding["metadata"].get("annotations"):
            changed["annotations"] = {**metadata.get("annotations", {}), **annotations}
        found = self._store.get("nodes", "", node)
        if found is not None:
            labels = found.document["metadata"].get("labels") or {}
            places = {name: labels[name] for name in _TOPOLOGY if name in labels}
            places |= binding["metadata"].get("labels") or {}
            if places:
                changed["labels"] = {**metadata.get("labels", {}), **places}
        return changed

    def _scheduled(self, conditions: list[Document]) -> list[Document]:
        others = [each for each in conditions if each.get("type") != "PodScheduled"]
        now = timestamp(self._clock())
        return [
            *others,
            {"type": "PodScheduled", "status": "True", "lastProbeTime": None, "lastTransitionTime": now},
        ]


def _target(binding: Document) -> str:
    target: Document = binding.get("target") or {}
    causes = []
    if target.get("kind", "") not in ("", "Node"):
        causes.append(unsupported_value("target.kind", target["kind"], ("Node", "<empty>")))
    node: str = target.get("name", "")
    if not node:
        causes.append(required("target.name"))
    if causes:
        raise bad_request(str(causes[0]) if len(causes) == 1 else f"[{', '.join(map(str, causes))}]")
    return node
