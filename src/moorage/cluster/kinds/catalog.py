"""The strategies of all built-in kinds, by the names of their resources."""

from __future__ import annotations

from collections.abc import Mapping

from moorage.cluster.custom.definitions import CrdStrategy
from moorage.cluster.kinds import (
    apps,
    config,
    coordination,
    devices,
    endpoints,
    events,
    namespaces,
    nodes,
    policy,
    quotas,
    rbac,
    scheduling,
    services,
    storage,
)
from moorage.cluster.kinds.batch import batch
from moorage.cluster.kinds.common import KindStrategy
from moorage.cluster.kinds.pods import pods
from moorage.cluster.schema.definitions import Strategy

_RBAC = "rbac.authorization.k8s.io"

STRATEGIES: Mapping[str, Strategy] = {
    "configmaps": config.ConfigMapStrategy(),
    "endpoints": endpoints.EndpointsStrategy(),
    "events": events.EventStrategy(),
    "events.events.k8s.io": events.NewEventStrategy(),
    "limitranges": quotas.LimitRangeStrategy(),
    "namespaces": namespaces.NamespaceStrategy(),
    "nodes": nodes.NodeStrategy(),
    "persistentvolumeclaims": storage.PersistentVolumeClaimStrategy(),
    "persistentvolumes": storage.PersistentVolumeStrategy(),
    "pods": pods.PodStrategy(),
    "podtemplates": apps.PodTemplateStrategy(),
    "replicationcontrollers": apps.ReplicationControllerStrategy(),
    "resourcequotas": quotas.ResourceQuotaStrategy(),
    "secrets": config.SecretStrategy(),
    "serviceaccounts": namespaces.ServiceAccountStrategy(),
    "services": services.ServiceStrategy(),
    "controllerrevisions.apps": KindStrategy("apps.v1.ControllerRevision"),
    "daemonsets.apps": apps.DaemonSetStrategy(),
    "deployments.apps": apps.DeploymentStrategy(),
    "replicasets.apps": apps.ReplicaSetStrategy(),
    "statefulsets.apps": apps.StatefulSetStrategy(),
    "cronjobs.batch": batch.CronJobStrategy(),
    "jobs.batch": batch.JobStrategy(),
    "customresourcedefinitions.apiextensions.k8s.io": CrdStrategy(),
    "leases.coordination.k8s.io": coordination.LeaseStrategy(),
    "endpointslices.discovery.k8s.io": KindStrategy("discovery.v1.EndpointSlice"),
    "runtimeclasses.node.k8s.io": KindStrategy("node.v1.RuntimeClass"),
    "poddisruptionbudgets.policy": policy.PodDisruptionBudgetStrategy(),
    f"clusterrolebindings.{_RBAC}": rbac.BindingStrategy("rbac.v1.ClusterRoleBinding"),
    f"clusterroles.{_RBAC}": KindStrategy("rbac.v1.ClusterRole"),
    f"rolebindings.{_RBAC}": rbac.BindingStrategy("rbac.v1.RoleBinding"),
    f"roles.{_RBAC}": KindStrategy("rbac.v1.Role"),
    "deviceclasses.resource.k8s.io": KindStrategy("resource.v1.DeviceClass"),
    "resourceclaims.resource.k8s.io": devices.ResourceClaimStrategy(),
    "resourceclaimtemplates.resource.k8s.io": devices.ResourceClaimTemplateStrategy(),
    "resourceslices.resource.k8s.io": devices.ResourceSliceStrategy(),
    "priorityclasses.scheduling.k8s.io": scheduling.PriorityClassStrategy(),
    "csidrivers.storage.k8s.io": storage.CSIDriverStrategy(),
    "csinodes.storage.k8s.io": storage.CSINodeStrategy(),
    "csistoragecapacities.storage.k8s.io": KindStrategy("storage.v1.CSIStorageCapacity"),
    "storageclasses.storage.k8s.io": KindStrategy("storage.v1.StorageClass"),
    "volumeattachments.storage.k8s.io": storage.VolumeAttachmentStrategy(),
    "volumeattributesclasses.storage.k8s.io": KindStrategy("storage.v1.VolumeAttributesClass"),
}
