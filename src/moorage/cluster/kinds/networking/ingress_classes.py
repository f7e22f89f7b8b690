"""What relates the fields of an IngressClass."""

from __future__ import annotations

from collections.abc import Iterator

from moorage.cluster.base import errors
from moorage.cluster.base.errors import Cause, invalid_value
from moorage.cluster.base.store import Document
from moorage.cluster.schema.checking import Around, check_form, relates


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
