"""What the RuntimeClass of a pod adds to it: overhead, and where pods of the class can run."""

from __future__ import annotations

from moorage.cluster.base.store import Document
from moorage.cluster.kinds.common import part
from moorage.cluster.objects.admission.attempt import Attempt

CLASSES = "runtimeclasses.node.k8s.io"


def apply_runtime_class(attempt: Attempt) -> None:
    spec = attempt.document["spec"]
    found = _class_of(attempt)
    _set_overhead(attempt, spec, part(found, "overhead").get("podFixed"))
    scheduling = part(found, "scheduling")
    if "nodeSelector" in scheduling:
        _add_selector(attempt, spec, scheduling["nodeSelector"])
    if "tolerations" in scheduling:
        spec["tolerations"] = _merged([*(spec.get("tolerations") or ()), *scheduling["tolerations"]])


def _class_of(attempt: Attempt) -> Document:
    name = attempt.document["spec"].get("runtimeClassName")
    if name is None:
        return {}
    stored = attempt.store.get(CLASSES, "", name)
    if stored is None:
        raise attempt.forbidden(f'pod rejected: RuntimeClass "{name}" not found')
    return stored.document


def _set_overhead(attempt: Attempt, spec: Document, overhead: Document | None) -> None:
    own = spec.get("overhead")
    if own and overhead is None:
        text = "Pod Overhead set without corresponding RuntimeClass defined Overhead"
        raise attempt.forbidden(f"pod rejected: {text}")
    if own is not None and own != overhead and overhead is not None:
        text = "Pod's Overhead doesn't match RuntimeClass's defined Overhead"
        raise attempt.forbidden(f"pod rejected: {text}")
    if overhead is not None:
        spec["overhead"] = overhead


def _add_selector(attempt: Attempt, spec: Document, selector: Document) -> None:
    own = part(spec, "nodeSelector")
    for key, value in selector.items():
        if own.get(key, value) != value:
            raise attempt.forbidden(
                f"conflict: runtimeClass.scheduling.nodeSelector[{key}] = {value}; "
                f"pod.spec.nodeSelector[{key}] = {own[key]}"
            )
    spec["nodeSelector"] = {**own, **selector}


def _merged(tolerations: list[Document]) -> list[Document]:
    """Without those that others include; of equal ones, the first stays."""
    merged: list[Document] = []
    for index, each in enumerate(tolerations):
        later = (other for other in tolerations[index + 1 :] if other != each)
        if not any(_includes(other, each) for other in (*merged, *later)):
            merged.append(each)
    return merged


def _includes(one: Document, other: Document) -> bool:
    """Whether a toleration is for all taints that another one is for, and for as long."""
    if one == other:
        return True
    exists = one.get("operator") == "Exists"
    same_key = one.get("key", "") == other.get("key", "") or (exists and not one.get("key"))
    if not same_key or one.get("effect", other.get("effect")) != other.get("effect"):
        return False
    seconds = one.get("tolerationSeconds")
    if seconds is not None and other.get("tolerationSeconds", seconds + 1) > seconds:
        return False
    return exists or (
        one.get("operator", "Equal") == other.get("operator") == "Equal"
        and one.get("value", "") == other.get("value", "")
    )
