"""The strategies of all built-in kinds, by the names of their resources."""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy

from moorage.cluster.custom.definitions import CrdStrategy
from moorage.cluster.kinds import (
    admission_hooks,
    admission_policies,
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
    workloads,
)
from moorage.cluster.kinds.api_server import api_services, certificates, flow_schemas, priority_levels
from moorage.cluster.kinds.autoscaling import autoscalers, first_version
from moorage.cluster.kinds.batch import batch
from moorage.cluster.kinds.common import KindStrategy
from moorage.cluster.kinds.networking import ingress_classes as ingress_classes  # its relations
from moorage.cluster.kinds.networking import ingresses, policies, ranges
from moorage.cluster.kinds.pods import pods
from moorage.cluster.schema.definitions import Strategy

_FLOWS = "flowcontrol.apiserver.k8s.io"
_ADMISSION = "admissionregistration.k8s.io"
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
    f"mutatingwebhookconfigurations.{_ADMISSION}": admission_hooks.MutatingStrategy(),
    f"validatingadmissionpolicies.{_ADMISSION}": admission_policies.PolicyStrategy(),
    f"validatingadmissionpolicybindings.{_ADMISSION}": admission_policies.BindingStrategy(),
    f"validatingwebhookconfigurations.{_ADMISSION}": admission_hooks.ValidatingStrategy(),
    "controllerrevisions.apps": KindStrategy("apps.v1.ControllerRevision"),
    "daemonsets.apps": apps.DaemonSetStrategy(),
    "deployments.apps": apps.DeploymentStrategy(),
    "replicasets.apps": apps.ReplicaSetStrategy(),
    "statefulsets.apps": apps.StatefulSetStrategy(),
    "apiservices.apiregistration.k8s.io": api_services.ApiServiceStrategy(),
    "horizontalpodautoscalers.autoscaling": autoscalers.AutoscalerStrategy(),
    "horizontalpodautoscalers.autoscaling/v1": first_version.FirstAutoscalerStrategy(),
    "cronjobs.batch": batch.CronJobStrategy(),
    "jobs.batch": batch.JobStrategy(),
    "customresourcedefinitions.apiextensions.k8s.io": CrdStrategy(),
    "certificatesigningrequests.certificates.k8s.io": certificates.CertificateSigningRequestStrategy(),
    "leases.coordination.k8s.io": coordination.LeaseStrategy(),
    "endpointslices.discovery.k8s.io": KindStrategy("discovery.v1.EndpointSlice"),
    f"flowschemas.{_FLOWS}": flow_schemas.FlowSchemaStrategy(),
    f"prioritylevelconfigurations.{_FLOWS}": priority_levels.PriorityLevelStrategy(),
    "ingressclasses.networking.k8s.io": KindStrategy("networking.v1.IngressClass"),
    "ingresses.networking.k8s.io": ingresses.IngressStrategy(),
    "ipaddresses.networking.k8s.io": ranges.IPAddressStrategy(),
    "networkpolicies.networking.k8s.io": policies.NetworkPolicyStrategy(),
    "servicecidrs.networking.k8s.io": ranges.ServiceCIDRStrategy(),
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
    "podgroups.scheduling.k8s.io": workloads.PodGroupStrategy(),
    "priorityclasses.scheduling.k8s.io": scheduling.PriorityClassStrategy(),
    "workloads.scheduling.k8s.io": workloads.WorkloadStrategy(),
    "csidrivers.storage.k8s.io": storage.CSIDriverStrategy(),
    "csinodes.storage.k8s.io": storage.CSINodeStrategy(),
    "csistoragecapacities.storage.k8s.io": KindStrategy("storage.v1.CSIStorageCapacity"),
    "storageclasses.storage.k8s.io": KindStrategy("storage.v1.StorageClass"),
    "volumeattachments.storage.k8s.io": storage.VolumeAttachmentStrategy(),
    "volumeattributesclasses.storage.k8s.io": KindStrategy("storage.v1.VolumeAttributesClass"),
}


def strategies(gates: frozenset[str]) -> Mapping[str, Strategy]:
    """Those for a cluster in which these alpha features are on."""
    found = {name: copy(strategy) for name, strategy in STRATEGIES.items()} if gates else STRATEGIES
    for strategy in found.values() if gates else ():
        strategy.gates = gates
    return found
