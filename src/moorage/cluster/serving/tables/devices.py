"""Devices and claims to them."""

from __future__ import annotations

from typing import Any

from moorage.cluster.base.store import Document
from moorage.cluster.serving.tables.columns import (
    AGE,
    NAME,
    Column,
    Columns,
    age_of,
    is_being_deleted,
    name_of,
    texts_of,
)
from moorage.cluster.serving.tables.parts import size, text, value


def _resource_claim(claim: Document, now: float) -> list[Any]:
    states = ["deleted"] if is_being_deleted(claim) else []
    if value(claim, "status", "allocation") is not None:
        states.append("allocated")
        if size(claim, "status", "reservedFor"):
            states.append("reserved")
    return [name_of(claim), ",".join(states) or "pending", age_of(claim, now)]


def _resource_slice(resource_slice: Document, now: float) -> list[Any]:
    return [
        name_of(resource_slice),
        text(resource_slice, "spec", "nodeName"),
        text(resource_slice, "spec", "driver"),
        text(resource_slice, "spec", "pool", "name"),
        age_of(resource_slice, now),
    ]


RESOURCE_CLAIMS = Columns((NAME, Column("State"), AGE), _resource_claim)
RESOURCE_SLICES = Columns((NAME, *texts_of("Node", "Driver", "Pool"), AGE), _resource_slice)
