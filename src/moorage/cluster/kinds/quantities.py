"""Amounts of resources in fields."""

from __future__ import annotations

from collections.abc import Iterator

from moorage.api import quantities
from moorage.api.resources import is_extended
from moorage.cluster.base.errors import Cause, invalid_value
from moorage.cluster.schema.checking import check_form
from moorage.cluster.schema.forms import nanos

NOT_INTEGER = "must be an integer"

_INTEGER_RESOURCES = frozenset(
    (
        "pods",
        "resourcequotas",
        "services",
        "replicationcontrollers",
        "secrets",
        "configmaps",
        "persistentvolumeclaims",
        "services.nodeports",
        "services.loadbalancers",
    )
)


def resource_quantity(field: str, resource: str, quantity: str) -> Iterator[Cause]:
    """An amount of a resource: not negative, and whole where the resource is counted."""
    yield from check_form("quantity", quantity, field)
    counted = resource in _INTEGER_RESOURCES or is_extended(resource)
    if counted and quantities.milli(nanos(quantity)) % 1000:
        yield invalid_value(field, quantity, NOT_INTEGER)
