"""The columns of the resources that are always there."""

from __future__ import annotations

from typing import Final

from moorage.cluster.serving.tables import cluster, configuration, devices, networking, storage, workloads
from moorage.cluster.serving.tables.columns import NAME_AND_AGE, PLAIN, Columns
from moorage.cluster.serving.tables.events import EVENTS
from moorage.cluster.serving.tables.pods import POD_TEMPLATES, PODS

_COLUMNS: Final = {
    "configmaps": configuration.CONFIG_MAPS,
    "endpoints": networking.ENDPOINTS,
    "events": EVENTS,
    "namespaces": cluster.NAMESPACES,
    "nodes": cluster.NODES,
    "persistentvolumeclaims": storage.CLAIMS,
    "persistentvolumes": storage.VOLUMES,
    "pods": PODS,
    "podtemplates": POD_TEMPLATES,
    "replicationcontrollers": workloads.REPLICATION_CONTROLLERS,
    "resourcequotas": configuration.RESOURCE_QUOTAS,
    "secrets": configuration.SECRETS,
    "serviceaccounts": NAME_AND_AGE,
    "services": networking.SERVICES,
    "controllerrevisions.apps": workloads.CONTROLLER_REVISIONS,
    "daemonsets.apps": workloads.DAEMON_SETS,
    "deployments.apps": workloads.DEPLOYMENTS,
    "replicasets.apps": workloads.REPLICA_SETS,
    "statefulsets.apps": workloads.STATEFUL_SETS,
    "scales.autoscaling": workloads.SCALES,
    "leases.coordination.k8s.io": cluster.LEASES,
    "endpointslices.discovery.k8s.io": networking.ENDPOINT_SLICES,
    "events.events.k8s.io": EVENTS,
    "runtimeclasses.node.k8s.io": cluster.RUNTIME_CLASSES,
    "poddisruptionbudgets.policy": workloads.DISRUPTION_BUDGETS,
    "clusterrolebindings.rbac.authorization.k8s.io": configuration.ROLE_BINDINGS,
    "rolebindings.rbac.authorization.k8s.io": configuration.ROLE_BINDINGS,
    "deviceclasses.resource.k8s.io": NAME_AND_AGE,
    "resourceclaims.resource.k8s.io": devices.RESOURCE_CLAIMS,
    "resourceclaimtemplates.resource.k8s.io": NAME_AND_AGE,
    "resourceslices.resource.k8s.io": devices.RESOURCE_SLICES,
    "priorityclasses.scheduling.k8s.io": cluster.PRIORITY_CLASSES,
    "csidrivers.storage.k8s.io": storage.CSI_DRIVERS,
    "csinodes.storage.k8s.io": storage.CSI_NODES,
    "storageclasses.storage.k8s.io": storage.STORAGE_CLASSES,
    "volumeattachments.storage.k8s.io": storage.ATTACHMENTS,
    "volumeattributesclasses.storage.k8s.io": storage.ATTRIBUTES_CLASSES,
}


def columns_of(storage: str) -> Columns:
    """The columns of a built-in resource, by its name in the store."""
    return _COLUMNS.get(storage, PLAIN)
