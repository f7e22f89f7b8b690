"""Ingresses and their classes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from moorage.cluster.base import errors
from moorage.cluster.base.errors import Cause, invalid_value
from moorage.cluster.base.store import Document
from moorage.cluster.kinds import addresses
from moorage.cluster.kinds.common import WithStatus, part
from moorage.cluster.schema.checking import Around, check, check_form, relates

CLASS_ANNOTATION = "kubernetes.io/ingress.class"
_NOT_INSIDE = ("//", "/./", "/../", "%2f", "%2F")
_NOT_AT_END = ("/..", "/.")
_PATH_TYPES = ("Exact", "ImplementationSpecific", "Prefix")
_NO_ADDRESS = "must be a DNS name, not an IP address"


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
        named = CLASS_ANNOTATION in (document["metadata"].get("annotations") or {})
        if not named or "ingressClassName" in part(document, "spec"):
            return []
        return [
            f"annotation \"{CLASS_ANNOTATION}\" is deprecated, please use 'spec.ingressClassName' instead"
        ]

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


def _host_problems(host: str, path: str) -> list[Cause]:
    return check_form("wildcard-dns-subdomain" if "*" in host else "dns-subdomain", host, path)


@relates("networking.v1.IngressRule", where="host")
def _host(rule: Document, path: str, around: Around) -> Iterator[Cause]:
    if host := rule["host"]:
        if addresses.parse(host) is not None:
            yield invalid_value(f"{path}.host", host, _NO_ADDRESS)
        yield from _host_problems(host, f"{path}.host")


@relates("networking.v1.IngressTLS")
def _hosts(tls: Document, path: str, around: Around) -> Iterator[Cause]:
    for index, host in enumerate(tls.get("hosts") or ()):
        yield from _host_problems(host, f"{path}.hosts[{index}]")


@relates("networking.v1.HTTPIngressPath")
def _path(rule: Document, path: str, around: Around) -> Iterator[Cause]:
    kind, given, field = rule.get("pathType"), rule.get("path", ""), f"{path}.path"
    if kind is None:
        yield errors.required(f"{path}.pathType", "pathType must be specified")
        return
    if kind not in _PATH_TYPES:
        yield errors.unsupported_value(f"{path}.pathType", kind, _PATH_TYPES)
    elif not given.startswith("/") and (given or kind != "ImplementationSpecific"):
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
    if not service.get("name"):
        yield errors.required(f"{path}.service.name")
    else:
        yield from check_form("dns-label", service["name"], f"{path}.service.name")
    port = part(service, "port")
    name, number = port.get("name"), port.get("number")
    if name and number:
        yield invalid_value(path, "", "cannot set both port name & port number")
    elif name:
        yield from check_form("port-name", name, f"{path}.service.port.name")
    elif number:
        yield from check_form("port-number", number, f"{path}.service.port.number")
    else:
        yield errors.required(path, "port name or number is required")


@relates("networking.v1.IngressLoadBalancerIngress")
def _address(ingress: Document, path: str, around: Around) -> Iterator[Cause]:
    if address := ingress.get("ip"):
        yield from check_form("ip", address, f"{path}.ip")
    if host := ingress.get("hostname"):
        yield from check_form("dns-subdomain", host, f"{path}.hostname")
        if addresses.parse(host) is not None:
            yield invalid_value(f"{path}.hostname", host, _NO_ADDRESS)


# Classes


@relates("networking.v1.IngressClassSpec")
def _controller(spec: Document, path: str, around: Around) -> Iterator[Cause]:
    field, controller = f"{path}.controller", spec.get("controller", "")
    domain, _, rest = controller.partition("/")
    if not controller:
        yield errors.required(field)
    elif not domain or not rest:
        yield invalid_value(field, controller, 'must be a domain-prefixed path (such as "acme.io/foo")')
    else:
        yield from check_form("dns-subdomain", domain, field)
        yield from check_form("http-path", rest, field)


@relates("networking.v1.IngressClassParametersReference")
def _parameters_scope(reference: Document, path: str, around: Around) -> Iterator[Cause]:
    scope, namespace = reference.get("scope", ""), reference.get("namespace")
    field = f"{path}.namespace"
    if scope == "Namespace":
        if namespace is None:
            yield errors.required(field, "`parameters.scope` is set to 'Namespace'")
        else:
            yield from check_form("dns-label", namespace, field)
    elif scope != "Cluster":
        yield errors.unsupported_value(f"{path}.scope", scope, ("Cluster", "Namespace"))
    elif namespace is not None:
        yield errors.forbidden_value(field, "`parameters.scope` is set to 'Cluster'")
