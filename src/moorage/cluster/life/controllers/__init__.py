"""The controllers of the cluster: what turns wishes in objects into other objects."""

from __future__ import annotations

import time

from moorage.cluster.base.times import Clock
from moorage.cluster.life.controllers.cluster_roles import ClusterRoles
from moorage.cluster.life.controllers.disruption import Disruption
from moorage.cluster.life.controllers.garbage import Garbage
from moorage.cluster.life.controllers.namespaces import Namespaces, ServiceAccounts
from moorage.cluster.life.controllers.volumes.protection import VolumeProtection
from moorage.cluster.life.controllers.workloads.cron_jobs import CronJobs
from moorage.cluster.life.controllers.workloads.daemon_sets import DaemonSets
from moorage.cluster.life.controllers.workloads.deployments import Deployments
from moorage.cluster.life.controllers.workloads.jobs import Jobs
from moorage.cluster.life.controllers.workloads.replica_sets import ReplicaSets, ReplicationControllers
from moorage.cluster.objects.writes import InternalWriter

_OTHERS = (Namespaces, ClusterRoles, Garbage, Deployments, ReplicaSets, Disruption, VolumeProtection)
_WORKLOADS = (ReplicationControllers, DaemonSets, Jobs, CronJobs)


class Controllers:
    """All controllers, which work from `start` to `stop`, on what is there already too.

    `ca` is the certificate authority of the API server, which every namespace's pods are told.
    """

    def __init__(self, writer: InternalWriter, *, ca: str, clock: Clock = time.time) -> None:
        accounts = ServiceAccounts(writer, clock, ca)
        self._controllers = (accounts, *(each(writer, clock) for each in (*_OTHERS, *_WORKLOADS)))

    def start(self) -> None:
        """Needs a running event loop."""
        for controller in self._controllers:
            controller.start()

    async def stop(self) -> None:
        for controller in reversed(self._controllers):
            await controller.stop()
