"""Host ports that are taken: the pod could do without."""

from __future__ import annotations

from collections.abc import Iterator

from moorage.api.pods import Pod
from moorage.insight.advice.drafts import Draft, items, part
from moorage.insight.advice.remedy import Remedy, Sight, joined
from moorage.state.node_info import HostPort, NodeInfo
from moorage.state.ports import ANY_ADDRESS, conflicts

PLUGIN = "NodePorts"


def holders(sight: Sight, node: NodeInfo) -> list[Pod]:
    """The pods on a node that hold a port the pod wants."""
    wanted = sight.pod.host_ports
    return [pod for pod in node.pods if pod.host_ports and conflicts(wanted, set(pod.host_ports))]


def remedies(sight: Sight, node: NodeInfo) -> Iterator[Remedy]:
    taken = [port for port in sight.pod.host_ports if conflicts([port], node.used_ports)]
    for rival in sight.services.nominations.on(node.name):
        taken += [port for port in sight.pod.host_ports if conflicts([port], set(rival.host_ports))]
    taken = list(dict.fromkeys(taken)) or list(dict.fromkeys(sight.pod.host_ports))
    if not taken:
        return

    def edit(draft: Draft) -> None:
        spec = part(draft.edit(sight.pod), "spec")
        on_host = spec.get("hostNetwork") is True
        for group in ("containers", "initContainers"):
            for container in items(spec, group):
                kept = []
                for port in items(container, "ports"):
                    triple = (
                        port.get("hostIP") or ANY_ADDRESS,
                        port.get("protocol") or "TCP",
                        port.get("hostPort"),
                    )
                    if triple in taken:
                        if on_host:
                            # There, the port of the container is that of the host.
                            continue
                        port.pop("hostPort")
                        port.pop("hostIP", None)
                    kept.append(port)
                if len(kept) < len(items(container, "ports")):
                    container["ports"] = kept

    text = f"it did not need host port {joined(map(told, taken))}"
    yield Remedy("host ports", text, 38 + 2 * len(taken), edit, fixes=frozenset({PLUGIN}))


def told(port: HostPort) -> str:
    address, protocol, number = port
    place = "" if address == ANY_ADDRESS else f" on {address}"
    return f"{number}/{protocol}{place}"
