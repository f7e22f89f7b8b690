"""The kubelets of all nodes: nodes that are alive, and pods that run, for real or as if."""

from __future__ import annotations

from moorage.api.simulated_devices import NO_DEVICES, SimulatedDevices
from moorage.cluster.base.store import Stored
from moorage.cluster.life.nodes.csi_nodes import CsiNodes
from moorage.cluster.life.nodes.device_slices import DeviceSlices
from moorage.cluster.life.nodes.finishing import Finishing
from moorage.cluster.life.nodes.heartbeats import Heartbeats
from moorage.cluster.life.nodes.machine import Machine as Machine
from moorage.cluster.life.nodes.node_documents import default_nodes as default_nodes
from moorage.cluster.life.nodes.pods import Pods
from moorage.cluster.life.nodes.programs import RUN_NAMESPACES as RUN_NAMESPACES
from moorage.cluster.life.nodes.real_pods import RealPods
from moorage.cluster.life.nodes.taint_eviction import TaintEviction


class Nodes:
    """All nodes, which live from `start` to `stop`, and the pods bound to them."""

    def __init__(self, machine: Machine, devices: SimulatedDevices = NO_DEVICES) -> None:
        self.logs = machine.logs
        self._machine = machine
        self._heartbeats = Heartbeats(machine.writer, machine.clock, machine.bound)
        self._csi_nodes = CsiNodes(machine.writer, machine.clock)
        self._device_slices = DeviceSlices(machine.writer, machine.clock, devices)
        self._evictions = TaintEviction(machine.writer, machine.clock, machine.bound)
        self._pods = Pods(machine)
        self._real_pods = RealPods(machine)
        self._finishing = Finishing(machine)

    def start(self) -> None:
        """Needs a running event loop."""
        machine, pods = self._machine, (self._pods, self._real_pods, self._finishing)
        published = (self._csi_nodes, self._device_slices)
        for part in (machine.bound, self._heartbeats, *published, self._evictions, *pods):
            part.start()

    def runs(self, pod: Stored) -> bool:
        """Whether the containers of a pod are run for real."""
        return self._machine.programs.runs_pod(pod)

    async def stop(self) -> None:
        """Ends all processes, too."""
        self._machine.bound.stop()
        await self._real_pods.stop()
        self._machine.guard.close()
        await self._finishing.stop()
        await self._pods.stop()
        await self._evictions.stop()
        await self._device_slices.stop()
        await self._csi_nodes.stop()
        await self._heartbeats.stop()
