"""The controllers of the cluster: what turns wishes in objects into other objects."""

from __future__ import annotations

import time

from moorage.cluster.base.times import Clock
from moorage.cluster.life.controllers.cluster_roles import ClusterRoles
from moorage.cluster.life.controllers.devices.generated import GeneratedClaims
from moorage.cluster.life.controllers.devices.of_groups import ClaimsOfGroups
from moorage.cluster.life.controllers.devices.reservations import Reservations
from moorage.cluster.life.controllers.devices.users import DeviceUsers
from moorage.cluster.life.controllers.disruption import Disruption
from moorage.cluster.life.controllers.garbage import Garbage
from moorage.cluster.life.controllers.namespaces import Namespaces, ServiceAccounts
from moorage.cluster.life.controllers.pod_group_protection import PodGroupProtection
from moorage.cluster.life.controllers.quotas import Quotas
from moorage.cluster.life.controllers.services.endpoint_slices import EndpointSlices
from moorage.cluster.life.controllers.services.endpoints import Endpoints
from moorage.cluster.life.controllers.volumes.claims import ClaimUsers
from moorage.cluster.life.controllers.volumes.ephemeral import EphemeralVolumes
from moorage.cluster.life.controllers.volumes.persistent_volumes import PersistentVolumes
from moorage.cluster.life.controllers.volumes.protection import VolumeProtection
from moorage.cluster.life.controllers.volumes.provisioner import Provisioner
from moorage.cluster.life.controllers.workloads.cron_jobs import CronJobs
from moorage.cluster.life.controllers.workloads.daemon_sets import DaemonSets
from moorage.cluster.life.controllers.workloads.deployments import Deployments
from moorage.cluster.life.controllers.workloads.jobs import Jobs
from moorage.cluster.life.controllers.workloads.replica_sets import ReplicaSets, ReplicationControllers
from moorage.cluster.life.controllers.workloads.stateful_sets import StatefulSets
from moorage.cluster.objects.writes import InternalWriter

_OF_WORKLOADS = (
    Deployments,
    ReplicaSets,
    ReplicationControllers,
    StatefulSets,
    DaemonSets,
    Jobs,
    CronJobs,
    Disruption,
)
_OF_VOLUMES = (PersistentVolumes, EphemeralVolumes, VolumeProtection)
_OF_DEVICES = (ClaimsOfGroups, GeneratedClaims, Reservations)
_OF_SERVICES = (EndpointSlices, Endpoints)
_OTHERS = (Namespaces, ClusterRoles, Garbage, Quotas, PodGroupProtection)


class Controllers:
    """All controllers, which work from `start` to `stop`, on what is there already too.

    `ca` is the certificate authority of the API server, which every namespace's pods are told. A cluster that
    `is_new` gets what its people may later change or delete. `gates` are the alpha features that are on.
    """

    def __init__(
        self,
        writer: InternalWriter,
        *,
        ca: str,
        is_new: bool = False,
        clock: Clock = time.time,
        gates: frozenset[str] = frozenset(),
    ) -> None:
        self._claim_users = ClaimUsers(writer.store)
        self._device_users = DeviceUsers(writer.store, heeds_groups="DRAWorkloadResourceClaims" in gates)
        self._controllers = (
            ServiceAccounts(writer, clock, ca),
            *(each(writer, clock) for each in (*_OTHERS, *_OF_WORKLOADS, *_OF_SERVICES)),
            *(each(writer, clock, self._claim_users) for each in _OF_VOLUMES),
            Provisioner(writer, clock, in_new_cluster=is_new),
            *(each(writer, clock, self._device_users) for each in _OF_DEVICES),
        )

    def start(self) -> None:
        """Needs a running event loop."""
        self._claim_users.start()
        self._device_users.start()
        for controller in self._controllers:
            controller.start()

    async def stop(self) -> None:
        for controller in reversed(self._controllers):
            await controller.stop()
        self._claim_users.stop()
        self._device_users.stop()
