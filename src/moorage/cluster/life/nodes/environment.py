"""What the containers that are really run are told: their environment variables, and about themselves."""

from __future__ import annotations

import base64
import os
import re
import site
from collections.abc import Mapping

from moorage.api import quantities
from moorage.cluster.base import parts
from moorage.cluster.base.go_text import quoted
from moorage.cluster.base.store import Document, Store
from moorage.cluster.life.nodes.addresses import local_address

_INHERITED = ("PATH", "LANG", "LC_ALL", "TZ", "TMPDIR", "VIRTUAL_ENV", "PYTHONPATH", "SSL_CERT_FILE")
ADDRESS_VARIABLE = "MOORAGE_POD_ADDRESS"
"""Tells `moorage run` where to listen, instead of on all of this machine's addresses."""
_SUBSCRIPT = re.compile(r"metadata\.(labels|annotations)\['(.+)'\]")
_FIELDS = {
    "metadata": ("name", "namespace", "uid"),
    "spec": ("nodeName", "serviceAccountName"),
    "status": ("hostIP", "podIP"),
}
_REFERENCE = re.compile(r"\$\$|\$\(([^)]*)\)")


class Unavailable(Exception):
    """Something a pod needs is not there; the text says what, as a kubelet does."""


def expand(text: str, variables: Mapping[str, str]) -> str:
    """Replaces `$(NAME)`; what is not known stays, and `$$` stands for `$`."""
    return _REFERENCE.sub(lambda found: "$" if found[0] == "$$" else variables.get(found[1], found[0]), text)


def base_environment(server: tuple[str, int], home: str, pod: Document) -> dict[str, str]:
    """What a program finds in an image and in every pod, and no more of the user's own than it needs."""
    variables = {name: os.environ[name] for name in _INHERITED if name in os.environ}
    variables.setdefault("PATH", os.defpath)
    return variables | {
        "HOME": home,
        "HOSTNAME": pod["metadata"]["name"],
        # With another home, packages the user has installed for himself would not be found.
        "PYTHONUSERBASE": site.getuserbase(),
        "PYTHONUNBUFFERED": "1",
        "PYTHONDONTWRITEBYTECODE": "1",
        ADDRESS_VARIABLE: local_address(pod),
        "KUBERNETES_SERVICE_HOST": server[0],
        "KUBERNETES_SERVICE_PORT": str(server[1]),
        "KUBERNETES_SERVICE_PORT_HTTPS": str(server[1]),
    }


def container_environment(
    pod: Document, container: Document, node: Document, store: Store, given: Mapping[str, str]
) -> dict[str, str]:
    """What `envFrom` and `env` add to the variables that are given. Raises Unavailable."""
    variables = dict(given)
    namespace = pod["metadata"].get("namespace", "")
    for source in container.get("envFrom") or ():
        prefix = source.get("prefix", "")
        for kind, resource in (("configMapRef", "configmaps"), ("secretRef", "secrets")):
            if source.get(kind) is not None:
                content = content_of(store, resource, namespace, source[kind])
                variables.update({prefix + name: _text(value) for name, value in content.items()})
    for variable in container.get("env") or ():
        name = variable.get("name", "")
        if variable.get("valueFrom"):
            value = _from(variable["valueFrom"], pod, container, node, store)
            if value is not None:
                variables[name] = value
        else:
            variables[name] = expand(variable.get("value", ""), variables)
    return {name: value for name, value in variables.items() if "\0" not in name + value and "=" not in name}


def content_of(store: Store, resource: str, namespace: str, reference: Document) -> dict[str, bytes]:
    """What is in the ConfigMap or Secret that is referred to; an optional one need not be there."""
    name = reference.get("secretName") or reference.get("name", "")
    found = store.get(resource, namespace, name)
    if found is None:
        if reference.get("optional"):
            return {}
        raise Unavailable(f'{resource.removesuffix("s")} "{name}" not found')
    content = {}
    encoded = found.document.get("data") or {}
    if resource == "configmaps":
        content = {name: text.encode() for name, text in encoded.items()}
        encoded = found.document.get("binaryData") or {}
    for name, text in encoded.items():
        try:
            content[name] = base64.b64decode(text)
        except ValueError:
            content[name] = b""
    return content


def _from(source: Document, pod: Document, container: Document, node: Document, store: Store) -> str | None:
    namespace = pod["metadata"].get("namespace", "")
    if source.get("fieldRef"):
        return field_value(pod, source["fieldRef"].get("fieldPath", ""))
    if source.get("resourceFieldRef"):
        return resource_value(container, node, source["resourceFieldRef"])
    config_map, secret = source.get("configMapKeyRef"), source.get("secretKeyRef")
    reference = config_map or secret
    if not reference:
        return None
    key = reference.get("key", "")
    content = content_of(store, "configmaps" if config_map else "secrets", namespace, reference)
    if key not in content and not reference.get("optional"):
        title = "ConfigMap" if config_map else "Secret"
        raise Unavailable(f"couldn't find key {key} in {title} {namespace}/{reference.get('name', '')}")
    return _text(content[key]) if key in content else None


def _text(value: bytes) -> str:
    return value.decode(errors="surrogateescape")


# Parts of a pod that its containers can be told


def field_value(pod: Document, path: str) -> str:
    """`metadata.name`, `metadata.labels['app']`, `spec.nodeName`, `status.podIP` and their like."""
    metadata = pod["metadata"]
    part = _SUBSCRIPT.fullmatch(path)
    if part:
        return str((metadata.get(part[1]) or {}).get(part[2], ""))
    if path in ("metadata.labels", "metadata.annotations"):
        values = metadata.get(path.removeprefix("metadata.")) or {}
        return "\n".join(f"{name}={quoted(value)}" for name, value in sorted(values.items()))
    if path in ("status.podIPs", "status.hostIPs"):
        return ",".join(parts.text(each, "ip") for each in parts.records(pod, *path.split(".")))
    place, _, name = path.partition(".")
    if name not in _FIELDS.get(place, ()):
        raise Unavailable(f"unsupported fieldPath: {path}")
    return parts.text(pod, place, name)


def resource_value(container: Document, node: Document, reference: Document) -> str:
    """`limits.cpu` or `requests.memory` of a container; a limit that is not set is what the node has."""
    kind, _, name = reference.get("resource", "").partition(".")
    amount = parts.value(container, "resources", kind, name)
    if amount is None and kind == "limits":
        amount = parts.value(node, "status", "allocatable", name)
    try:
        whole = quantities.parse(amount or "0")
        unit = quantities.parse(reference.get("divisor") or "1") or quantities.parse("1")
    except quantities.QuantityError as error:
        raise Unavailable(str(error)) from None
    return str(-(-whole // unit))
