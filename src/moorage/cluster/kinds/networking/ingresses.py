"""Ingresses."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from moorage.cluster.base import errors
from moorage.cluster.base.errors import Cause, invalid_value
from moorage.cluster.base.store import Document
from moorage.cluster.kinds.common import WithStatus, part
from moorage.cluster.schema.checking import Around, check, check_form, relates

CLASS_ANNOTATION = "kubernetes.io/ingress.class"
_NOT_INSIDE = ("//", "/./", "/../", "%2f", "%2F")
_NOT_AT_END = ("/..", "/.")
_PATH_TYPES = ("Exact", "ImplementationSpecific", "Prefix")


class IngressStrategy(WithStatus):
    type_name = "networking.v1.Ingress"
    first_status: Document = {"loadBalancer": {}}

    def validate(self, document: Document) -> Iterable[Cause]:
        yield from super().validate(document)
        if not document["metadata"].get("resourceVersion"):
            yield from _same_class(document)

    def validate_status_update(self, new: Document, old: Document) -> Iterable[Cause]:
        balanced = part(part(new, "status"), "loadBalancer")
        return check("networking.v1.IngressLoadBalancerStatus", balanced, "status.loadBalancer")

    def warnings(self, document: Document) -> list[str]:
        noted = CLASS_ANNOTATION in (document["metadata"].get("annotations") or {})
        text = f"annotation \"{CLASS_ANNOTATION}\" is deprecated, please use 'spec.ingressClassName' instead"
        return [text] if noted and "ingressClassName" not in part(document, "spec") else []

    def update_warnings(self, new: Document, old: Document) -> list[str]:
        return []


def _same_class(document: Document) -> Iterator[Cause]:
    """A new Ingress that names its class in the old way and in the new one names the same."""
    noted = (document["metadata"].get("annotations") or {}).get(CLASS_ANNOTATION)
    named = part(document, "spec").get("ingressClassName")
    if noted is not None and named is not None and noted != named:
        yield invalid_value(
            f"annotations.{CLASS_ANNOTATION}", noted, "must match `ingressClassName` when both are specified"
        )


@relates("networking.v1.IngressSpec")
def _anything(spec: Document, path: str, around: Around) -> Iterator[Cause]:
    if not spec.get("rules") and "defaultBackend" not in spec:
        yield invalid_value(path, spec.get("rules"), "either `defaultBackend` or `rules` must be specified")


@relates("networking.v1.HTTPIngressPath")
def _path(rule: Document, path: str, around: Around) -> Iterator[Cause]:
    kind, given, field = rule.get("pathType"), rule.get("path", ""), f"{path}.path"
    if kind is None:
        yield errors.required(f"{path}.pathType", "pathType must be specified")
        return
    may_be_empty = kind == "ImplementationSpecific" and not given
    if kind in _PATH_TYPES and not given.startswith("/") and not may_be_empty:
        yield invalid_value(field, given, "must be an absolute path")
    if kind in ("Exact", "Prefix"):
        for text in _NOT_INSIDE:
            if text in given:
                yield invalid_value(field, given, f"must not contain '{text}'")
        for text in _NOT_AT_END:
            if given.endswith(text):
                yield invalid_value(field, given, f"cannot end with '{text}'")
    yield from check("networking.v1.IngressBackend", part(rule, "backend"), f"{path}.backend")


@relates("networking.v1.IngressBackend")
def _backend(backend: Document, path: str, around: Around) -> Iterator[Cause]:
    resource, service = backend.get("resource"), backend.get("service")
    if resource is not None and service is not None:
        yield invalid_value(path, "", "cannot set both resource and service backends")
    elif resource is not None:
        yield from _resource(resource, f"{path}.resource")
    elif service is not None:
        yield from _service(service, path)
    else:
        yield invalid_value(path, "", "resource or service backend is required")


def _resource(resource: Document, path: str) -> Iterator[Cause]:
    if resource.get("apiGroup") is not None:
        yield from check_form("dns-subdomain", resource["apiGroup"], f"{path}.apiGroup")
    for name in ("kind", "name"):
        if not resource.get(name):
            yield errors.required(f"{path}.{name}")
        else:
            yield from check_form("path-segment", resource[name], f"{path}.{name}")


def _service(service: Document, path: str) -> Iterator[Cause]:
    yield from check("networking.v1.IngressServiceBackend", service, f"{path}.service")
    port = part(service, "port")
    if port.get("name") and port.get("number"):
        yield invalid_value(path, "", "cannot set both port name & port number")
    elif port.get("name") or port.get("number"):
        yield from check("networking.v1.ServiceBackendPort", port, f"{path}.service.port")
    else:
        yield errors.required(path, "port name or number is required")
