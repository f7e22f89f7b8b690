"""The columns of all kinds, as kube-apiserver v1.36 names them, and documents of any shape in them."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from moorage.cluster.serving.tables.builtin import _COLUMNS, columns_of

NOW = 1_800_000_000.0

HEADERS = {
    "pods": "Name:name Ready Status Restarts Age +IP +Node +Nominated_Node +Readiness_Gates",
    "podtemplates": "Name:name Containers Images Pod_Labels",
    "replicationcontrollers": "Name:name Desired# Current# Ready# Age +Containers +Images +Selector",
    "replicasets.apps": "Name:name Desired# Current# Ready# Age +Containers +Images +Selector",
    "deployments.apps": "Name:name Ready Up-to-date Available Age +Containers +Images +Selector",
    "statefulsets.apps": "Name:name Ready Age +Containers +Images",
    "daemonsets.apps": "Name:name Desired# Current# Ready# Up-to-date# Available# Node_Selector Age"
    " +Containers +Images +Selector",
    "controllerrevisions.apps": "Name:name Controller Revision Age",
    "poddisruptionbudgets.policy": "Name:name Min_Available Max_Unavailable Allowed_Disruptions# Age",
    "services": "Name:name Type Cluster-IP External-IP Port(s) Age +Selector",
    "endpoints": "Name:name Endpoints Age",
    "endpointslices.discovery.k8s.io": "Name:name AddressType Ports Endpoints Age",
    "nodes": "Name:name Status Roles Age Version +Internal-IP +External-IP +OS-Image +Kernel-Version"
    " +Container-Runtime",
    "namespaces": "Name:name Status Age",
    "events": "Last_Seen Type Reason Object +Subobject +Source Message +First_Seen +Count +Name:name",
    "secrets": "Name:name Type Data Age",
    "configmaps": "Name:name Data Age",
    "serviceaccounts": "Name:name Age",
    "persistentvolumes": "Name:name Capacity Access_Modes Reclaim_Policy Status Claim StorageClass"
    " VolumeAttributesClass Reason Age +VolumeMode",
    "persistentvolumeclaims": "Name:name Status Volume Capacity Access_Modes StorageClass"
    " VolumeAttributesClass Age +VolumeMode",
    "resourcequotas": "Name:name Request Limit Age",
    "limitranges": "Name:name Created_At@",
    "storageclasses.storage.k8s.io": "Name:name Provisioner ReclaimPolicy VolumeBindingMode"
    " AllowVolumeExpansion Age",
    "csinodes.storage.k8s.io": "Name:name Drivers# Age",
    "csidrivers.storage.k8s.io": "Name:name AttachRequired? PodInfoOnMount? StorageCapacity? TokenRequests"
    " RequiresRepublish? Modes Age",
    "volumeattachments.storage.k8s.io": "Name:name Attacher:name PV Node Attached? Age",
    "priorityclasses.scheduling.k8s.io": "Name:name Value# Global-Default? Age PreemptionPolicy",
    "leases.coordination.k8s.io": "Name:name Holder Age",
    "rolebindings.rbac.authorization.k8s.io": "Name:name Role Age +Users +Groups +ServiceAccounts",
    "roles.rbac.authorization.k8s.io": "Name:name Created_At@",
    "resourceclaims.resource.k8s.io": "Name:name State Age",
    "resourceslices.resource.k8s.io": "Name:name Node Driver Pool Age",
    "customresourcedefinitions.apiextensions.k8s.io": "Name:name Created_At@",
}
"""Column names; `:` a format, `#` integers, `?` truth values, `@` dates, `+` only with -o wide."""

_MARKS = {"integer": "#", "boolean": "?", "date": "@", "string": ""}


@pytest.mark.parametrize(("storage", "headers"), HEADERS.items(), ids=HEADERS)
def test_columns(storage: str, headers: str) -> None:
    shown = [
        "+" * definition["priority"]
        + definition["name"].replace(" ", "_")
        + _MARKS[definition["type"]]
        + (f":{definition['format']}" if definition["format"] else "")
        for definition in columns_of(storage).definitions
    ]

    assert " ".join(shown) == headers


FIELDS = [
    "metadata",
    "spec",
    "status",
    "name",
    "namespace",
    "labels",
    "annotations",
    "conditions",
    "type",
    "phase",
    "reason",
    "containers",
    "subsets",
    "initContainers",
    "containerStatuses",
    "initContainerStatuses",
    "state",
    "waiting",
    "terminated",
    "running",
    "lastState",
    "finishedAt",
    "addresses",
    "ports",
    "creationTimestamp",
    "deletionTimestamp",
    "template",
    "selector",
    "matchLabels",
    "subjects",
    "matchExpressions",
    "values",
    "ownerReferences",
    "series",
    "capacity",
    "storage",
    "accessModes",
    "clusterIPs",
    "loadBalancer",
    "ingress",
    "readinessGates",
    "nodeInfo",
    "hard",
    "used",
    "data",
    "involvedObject",
    "firstTimestamp",
    "eventTime",
    "endpoints",
]
SCALARS = (
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8)
) | st.sampled_from(["True", "Ready", "Always", "Completed", "2026-11-15T23:14:40Z", "0001-01-01T00:00:00Z"])
ANYTHING = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(FIELDS), inner, max_size=5),
    max_leaves=40,
)


@settings(max_examples=60, deadline=None)
@given(document=st.dictionaries(st.sampled_from(FIELDS), ANYTHING, max_size=8))
def test_no_document_is_too_odd(document: dict[str, Any]) -> None:
    for resource, columns in _COLUMNS.items():
        untitled = resource == "ipaddresses.networking.k8s.io"  # kube-apiserver has an age without a column
        assert len(columns.cells(document, NOW)) == len(columns.columns) + untitled
        if columns.order is not None:
            columns.order(document)
        if columns.conditions is not None:
            columns.conditions(document)
