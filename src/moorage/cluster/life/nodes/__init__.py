"""The kubelets of all nodes: nodes that are alive, and pods that run, for real or as if."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path

from moorage.cluster.base.times import Clock
from moorage.cluster.life.controllers.events import Recorder
from moorage.cluster.life.nodes.addresses import PodAddresses
from moorage.cluster.life.nodes.heartbeats import Heartbeats
from moorage.cluster.life.nodes.logs import Logs
from moorage.cluster.life.nodes.machine import BoundPods, Machine
from moorage.cluster.life.nodes.node_documents import default_nodes as default_nodes
from moorage.cluster.life.nodes.pods import Pods
from moorage.cluster.life.nodes.processes import Guard
from moorage.cluster.life.nodes.programs import Programs
from moorage.cluster.life.nodes.runner import Runner
from moorage.cluster.life.nodes.volumes import TokenFor
from moorage.cluster.objects.writes import InternalWriter


class Nodes:
    """All nodes, which live from `start` to `stop`, and the pods bound to them.

    A container of Moorage's own image, or of one in `run_images`, is run as a process below `folder`, with
    the address of the API server; every other one only looks as if it ran.
    """

    def __init__(
        self,
        writer: InternalWriter,
        *,
        folder: Path,
        server: tuple[str, int],
        token_for: TokenFor,
        run_images: Sequence[str] = (),
        clock: Clock = time.time,
    ) -> None:
        self.logs = Logs(clock)
        self._machine = Machine(
            writer,
            BoundPods(writer.store),
            folder,
            server,
            token_for,
            Programs(run_images),
            PodAddresses(),
            self.logs,
            Recorder(writer, "kubelet", clock),
            clock,
            Guard(),
        )
        self._heartbeats = Heartbeats(writer, clock, self._machine.bound)
        self._pods = Pods(self._machine)
        self._runner = Runner(self._machine)

    def start(self) -> None:
        """Needs a running event loop."""
        for part in (self._machine.bound, self._heartbeats, self._pods, self._runner):
            part.start()

    async def stop(self) -> None:
        """Ends all processes, too."""
        self._machine.bound.stop()
        await self._runner.stop()
        self._machine.guard.close()
        await self._pods.stop()
        await self._heartbeats.stop()
