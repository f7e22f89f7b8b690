"""What all pods share: the machine that they run on, or look as if they did."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from moorage.cluster.base.store import Stored
from moorage.cluster.base.times import Clock
from moorage.cluster.life.controllers.events import Recorder
from moorage.cluster.life.controllers.writer import Writer
from moorage.cluster.life.nodes.addresses import PodAddresses
from moorage.cluster.life.nodes.guard import Guard
from moorage.cluster.life.nodes.logs import Logs
from moorage.cluster.life.nodes.programs import Programs
from moorage.cluster.life.nodes.volumes import TokenFor


@dataclass(frozen=True)
class Machine:
    writer: Writer
    folder: Path
    server: tuple[str, int]
    token_for: TokenFor
    programs: Programs
    addresses: PodAddresses
    logs: Logs
    recorder: Recorder
    clock: Clock
    guard: Guard

    def tell(self, pod: Stored, reason: str, message: str, path: str = "", *, warning: bool = False) -> None:
        """Makes an event about a pod, or the part of it that the path names."""
        node = pod.spec.get("nodeName", "")
        self.recorder.tell(pod, reason, message, warning=warning, field_path=path, host=node)
