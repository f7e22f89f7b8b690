"""The strategies of all built-in kinds, by the names of their resources."""

from __future__ import annotations

from collections.abc import Mapping

from moorage.cluster.custom.definitions import CrdStrategy
from moorage.cluster.kinds.apps import (
    DaemonSetStrategy,
    DeploymentStrategy,
    PodTemplateStrategy,
    ReplicaSetStrategy,
    ReplicationControllerStrategy,
    StatefulSetStrategy,
)
from moorage.cluster.kinds.common import KindStrategy
from moorage.cluster.kinds.config import ConfigMapStrategy, SecretStrategy
from moorage.cluster.kinds.devices import (
    ResourceClaimStrategy,
    ResourceClaimTemplateStrategy,
    ResourceSliceStrategy,
)
from moorage.cluster.kinds.events import EventStrategy, NewEventStrategy
from moorage.cluster.kinds.nodes import NodeStrategy
from moorage.cluster.kinds.others import (
    BindingStrategy,
    EndpointsStrategy,
    LeaseStrategy,
    NamespaceStrategy,
    PodDisruptionBudgetStrategy,
    PriorityClassStrategy,
    ServiceAccountStrategy,
)
from moorage.cluster.kinds.pods import PodStrategy
from moorage.cluster.kinds.quotas import LimitRangeStrategy, ResourceQuotaStrategy
from moorage.cluster.kinds.services import ServiceStrategy
from moorage.cluster.kinds.storage import (
    CSIDriverStrategy,
    CSINodeStrategy,
    PersistentVolumeClaimStrategy,
    PersistentVolumeStrategy,
    VolumeAttachmentStrategy,
)
from moorage.cluster.schema.definitions import Strategy

_RBAC = "rbac.authorization.k8s.io"

STRATEGIES: Mapping[str, Strategy] = {
    "configmaps": ConfigMapStrategy(),
    "endpoints": EndpointsStrategy(),
    "events": EventStrategy(),
    "events.events.k8s.io": NewEventStrategy(),
    "limitranges": LimitRangeStrategy(),
    "namespaces": NamespaceStrategy(),
    "nodes": NodeStrategy(),
    "persistentvolumeclaims": PersistentVolumeClaimStrategy(),
    "persistentvolumes": PersistentVolumeStrategy(),
    "pods": PodStrategy(),
    "podtemplates": PodTemplateStrategy(),
    "replicationcontrollers": ReplicationControllerStrategy(),
    "resourcequotas": ResourceQuotaStrategy(),
    "secrets": SecretStrategy(),
    "serviceaccounts": ServiceAccountStrategy(),
    "services": ServiceStrategy(),
    "controllerrevisions.apps": KindStrategy("apps.v1.ControllerRevision"),
    "daemonsets.apps": DaemonSetStrategy(),
    "deployments.apps": DeploymentStrategy(),
    "replicasets.apps": ReplicaSetStrategy(),
    "statefulsets.apps": StatefulSetStrategy(),
    "customresourcedefinitions.apiextensions.k8s.io": CrdStrategy(),
    "leases.coordination.k8s.io": LeaseStrategy(),
    "endpointslices.discovery.k8s.io": KindStrategy("discovery.v1.EndpointSlice"),
    "runtimeclasses.node.k8s.io": KindStrategy("node.v1.RuntimeClass"),
    "poddisruptionbudgets.policy": PodDisruptionBudgetStrategy(),
    f"clusterrolebindings.{_RBAC}": BindingStrategy("rbac.v1.ClusterRoleBinding"),
    f"clusterroles.{_RBAC}": KindStrategy("rbac.v1.ClusterRole"),
    f"rolebindings.{_RBAC}": BindingStrategy("rbac.v1.RoleBinding"),
    f"roles.{_RBAC}": KindStrategy("rbac.v1.Role"),
    "deviceclasses.resource.k8s.io": KindStrategy("resource.v1.DeviceClass"),
    "resourceclaims.resource.k8s.io": ResourceClaimStrategy(),
    "resourceclaimtemplates.resource.k8s.io": ResourceClaimTemplateStrategy(),
    "resourceslices.resource.k8s.io": ResourceSliceStrategy(),
    "priorityclasses.scheduling.k8s.io": PriorityClassStrategy(),
    "csidrivers.storage.k8s.io": CSIDriverStrategy(),
    "csinodes.storage.k8s.io": CSINodeStrategy(),
    "csistoragecapacities.storage.k8s.io": KindStrategy("storage.v1.CSIStorageCapacity"),
    "storageclasses.storage.k8s.io": KindStrategy("storage.v1.StorageClass"),
    "volumeattachments.storage.k8s.io": VolumeAttachmentStrategy(),
    "volumeattributesclasses.storage.k8s.io": KindStrategy("storage.v1.VolumeAttributesClass"),
}
