"""What it takes to give devices to claims, beside the right to write their status.

Who allocates a claim, or reserves it, needs a right on `resourceclaims/binding`; who tells of its devices,
one on `resourceclaims/driver` for each driver. Devices that others use are for namespaces with a label.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from moorage.cluster.access.rbac import Authorizer
from moorage.cluster.access.users import Attributes, User, account_of
from moorage.cluster.base.errors import Cause, forbidden_value
from moorage.cluster.base.parts import flag, part, records
from moorage.cluster.base.store import Document, Store
from moorage.cluster.schema.definitions import Definition

CLAIMS = "resourceclaims.resource.k8s.io"
TEMPLATES = "resourceclaimtemplates.resource.k8s.io"
ADMIN_LABEL = "resource.kubernetes.io/admin-access"
_NODE_OF_ACCOUNT = "authentication.kubernetes.io/node-name"


def creation_problems(definition: Definition, document: Document, store: Store) -> Iterator[Cause]:
    """What is wrong with a new claim, or template of claims, in its namespace."""
    if definition.storage not in (CLAIMS, TEMPLATES):
        return
    spec = part(document, "spec") if definition.storage == CLAIMS else part(document, "spec", "spec")
    requests = records(spec, "devices", "requests")
    # For templates, too, this is where the original says it is.
    yield from _admin_problems(
        document, store, "spec.devices.requests", [part(each, "exactly") for each in requests]
    )


def status_problems(
    authorizer: Authorizer, user: User, verb: str, document: Document, old: Document, store: Store
) -> Iterator[Cause]:
    """What somebody may not change in the status of a claim."""
    after, before = part(document, "status"), part(old, "status")
    place = ("allocation", "devices", "results")
    if not any(flag(each, "adminAccess") for each in records(before, *place)):
        path = f"status.{'.'.join(place)}"
        yield from _admin_problems(document, store, path, records(after, *place))
    if any(_differ(after, before, name) for name in ("allocation", "reservedFor")):
        problem = _problem(authorizer, user, [_right(document, verb, "binding")])
        if problem:
            what = "changing status.allocation or status.reservedFor requires"
            right = f'resource="resourceclaims/binding", verb="{verb}" permission'
            yield forbidden_value("status.allocation", f"{what} {right}: {problem}")
    if after.get("allocation") is not None:
        yield from _device_problems(authorizer, user, verb, document, before)


def _device_problems(
    authorizer: Authorizer, user: User, verb: str, document: Document, before: Document
) -> Iterator[Cause]:
    verbs = [f"arbitrary-node:{verb}"]
    if _is_on(user, _node_of(part(document, "status", "allocation"))):
        verbs.insert(0, f"associated-node:{verb}")
    namespace = document["metadata"].get("namespace", "")
    for driver in sorted(_changed_drivers(part(document, "status"), before)):
        rights = [
            _right(document, each, "driver")._replace(namespace=namespace, name=driver) for each in verbs
        ]
        if problem := _problem(authorizer, user, rights):
            right = f'resource="resourceclaims/driver", verb="[{" ".join(verbs)}]" permission'
            yield forbidden_value("status.devices", f"changing status.devices requires {right}: {problem}")


def _admin_problems(document: Document, store: Store, path: str, given: list[Document]) -> Iterator[Cause]:
    """The first of these that is for devices in use by others, if the namespace is not made for that."""
    index = next((index for index, each in enumerate(given) if flag(each, "adminAccess")), None)
    namespace = store.get("namespaces", "", document["metadata"].get("namespace", ""))
    if index is not None and (namespace is None or namespace.labels.get(ADMIN_LABEL) != "true"):
        text = f"admin access to devices requires the `{ADMIN_LABEL}: true` label on the containing namespace"
        yield forbidden_value(f"{path}[{index}].adminAccess", text)


def _right(document: Document, verb: str, subresource: str) -> Attributes:
    group, _, version = document.get("apiVersion", "").partition("/")
    return Attributes(verb, group, version, "resourceclaims", subresource)


def _problem(authorizer: Authorizer, user: User, rights: list[Attributes]) -> str:
    """Why a user has none of these rights, in the words for the first."""
    if any(authorizer.allows(user, right) for right in rights):
        return ""
    return str(authorizer.forbidden_refusal(user, rights[0]))


def _differ(after: Document, before: Document, name: str) -> bool:
    return (after.get(name) or None) != (before.get(name) or None)


def _changed_drivers(after: Document, before: Document) -> set[str]:
    """The drivers about whose devices something else, or no longer something, is told."""
    told, known = ({_device(each): each for each in records(status, "devices")} for status in (after, before))
    return {key[0] for key in told.keys() | known.keys() if told.get(key) != known.get(key)}


def _device(told: Document) -> tuple[str, ...]:
    return tuple(str(told.get(name) or "") for name in ("driver", "pool", "device", "shareID"))


def _node_of(allocation: Document) -> str:
    """The one node that an allocation is for; "" if it is for several."""
    terms: list[Document] = records(allocation, "nodeSelector", "nodeSelectorTerms")
    fields = records(terms[0], "matchFields") if len(terms) == 1 else []
    if len(fields) != 1 or records(terms[0], "matchExpressions"):
        return ""
    values: list[Any] = fields[0].get("values") or []
    is_name = (fields[0].get("key"), fields[0].get("operator")) == ("metadata.name", "In")
    return values[0] if is_name and len(values) == 1 else ""


def _is_on(user: User, node: str) -> bool:
    """Whether somebody is the service account of a pod on a node."""
    return bool(node) and account_of(user.name) is not None and user.extra.get(_NODE_OF_ACCOUNT) == (node,)
