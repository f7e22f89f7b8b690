from __future__ import annotations

from typing import Any

import pytest

from moorage.api.coordination import Binding, Event, Lease
from moorage.api.meta import Object
from tests.api.complete import METADATA, assert_complete

REFERENCE = {
    "kind": "Pod",
    "apiVersion": "v1",
    "namespace": "shop",
    "name": "web",
    "uid": "u",
    "resourceVersion": "1",
    "fieldPath": "f",
}


@pytest.mark.parametrize(
    ("kind", "version", "fields"),
    [
        (
            Lease,
            "coordination.k8s.io/v1",
            {
                "spec": {
                    "holderIdentity": "me",
                    "leaseDurationSeconds": 15,
                    "acquireTime": "2026-01-01T00:00:00.000000Z",
                    "renewTime": "2026-01-01T00:00:00.000000Z",
                    "leaseTransitions": 1,
                }
            },
        ),
        (
            Event,
            "events.k8s.io/v1",
            {
                "eventTime": "2026-01-01T00:00:00.000000Z",
                "type": "Warning",
                "reason": "FailedScheduling",
                "action": "Scheduling",
                "note": "full",
                "regarding": REFERENCE,
                "related": REFERENCE,
                "reportingController": "default-scheduler",
                "reportingInstance": "default-scheduler-host",
                "series": {"count": 2, "lastObservedTime": "2026-01-01T00:00:00.000000Z"},
            },
        ),
        (Binding, "v1", {"target": REFERENCE}),
    ],
)
def test_every_field(kind: type[Object], version: str, fields: dict[str, Any]) -> None:
    assert_complete(kind, {"apiVersion": version, "kind": kind.kind, "metadata": METADATA, **fields})
