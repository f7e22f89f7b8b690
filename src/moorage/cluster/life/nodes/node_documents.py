"""What nodes say about themselves: addresses, resources, conditions and taints."""

from __future__ import annotations

import platform
import time

from moorage.cluster.base.parts import condition
from moorage.cluster.base.store import Document
from moorage.cluster.base.times import Clock, timestamp
from moorage.cluster.life.nodes.addresses import RANGES, node_address, pod_range
from moorage.cluster.serving.discovery import VERSION

ZONES = ("zone-a", "zone-b", "zone-c")
REGION = "region-1"
RESOURCES = {"cpu": "4", "memory": "16Gi", "ephemeral-storage": "100Gi", "pods": "110"}

_CONDITIONS = (
    ("MemoryPressure", "False", "KubeletHasSufficientMemory", "kubelet has sufficient memory available"),
    ("DiskPressure", "False", "KubeletHasNoDiskPressure", "kubelet has no disk pressure"),
    ("PIDPressure", "False", "KubeletHasSufficientPID", "kubelet has sufficient PID available"),
    ("Ready", "True", "KubeletReady", "kubelet is posting ready status"),
)
HEARTBEATS = frozenset(name for name, *_ in _CONDITIONS)
"""The conditions a kubelet renews."""

_UNSCHEDULABLE = ("node.kubernetes.io/unschedulable", "NoSchedule")
_TAINTS = (
    ("Ready", "False", ("node.kubernetes.io/not-ready", "NoSchedule")),
    ("Ready", "Unknown", ("node.kubernetes.io/unreachable", "NoSchedule")),
    ("MemoryPressure", "True", ("node.kubernetes.io/memory-pressure", "NoSchedule")),
    ("DiskPressure", "True", ("node.kubernetes.io/disk-pressure", "NoSchedule")),
    ("PIDPressure", "True", ("node.kubernetes.io/pid-pressure", "NoSchedule")),
    ("NetworkUnavailable", "True", ("node.kubernetes.io/network-unavailable", "NoSchedule")),
    ("Ready", "False", ("node.kubernetes.io/not-ready", "NoExecute")),
    ("Ready", "Unknown", ("node.kubernetes.io/unreachable", "NoExecute")),
)
"""Key and effect of the taint for a condition."""
_MANAGED_TAINTS = frozenset((_UNSCHEDULABLE, *(taint for *_, taint in _TAINTS)))


def default_nodes(count: int, clock: Clock = time.time) -> list[Document]:
    """Nodes called node-1, node-2 and so on, with as many digits as sorting needs, over three zones."""
    digits = len(str(count))
    now = clock()
    nodes = []
    for number in range(1, count + 1):
        name = f"node-{number:0{digits}d}"
        labels = {
            "kubernetes.io/hostname": name,
            "kubernetes.io/os": "linux",
            "kubernetes.io/arch": _architecture(),
            "topology.kubernetes.io/region": REGION,
            "topology.kubernetes.io/zone": ZONES[(number - 1) % len(ZONES)],
        }
        node: Document = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": labels}}
        complete_spec(node, number)
        complete_status(node, number, now)
        nodes.append(node)
    return nodes


def complete_spec(node: Document, number: int) -> None:
    spec = node.setdefault("spec", {})
    if not spec.get("podCIDR") and number < RANGES:
        spec["podCIDR"] = pod_range(number)
        spec["podCIDRs"] = [spec["podCIDR"]]


def complete_status(node: Document, number: int, now: float) -> None:
    """Fills in what a kubelet tells when it starts; what is there already stays."""
    status = node.setdefault("status", {})
    if not status.get("addresses"):
        status["addresses"] = [
            {"type": "InternalIP", "address": node_address(number)},
            {"type": "Hostname", "address": node["metadata"]["name"]},
        ]
    if not status.get("capacity"):
        status["capacity"] = dict(status.get("allocatable") or RESOURCES)
    if not status.get("allocatable"):
        status["allocatable"] = dict(status["capacity"])
    _offer_extended_resources(status)
    if not status.get("conditions"):
        times = {"lastHeartbeatTime": timestamp(now), "lastTransitionTime": timestamp(now)}
        status["conditions"] = [
            {"type": name, "status": value, **times, "reason": reason, "message": message}
            for name, value, reason, message in _CONDITIONS
        ]
    if not (status.get("nodeInfo") or {}).get("kubeletVersion"):
        status["nodeInfo"] = {
            "machineID": f"{number:032x}",
            "systemUUID": f"{number:032x}",
            "bootID": f"{number:032x}",
            "kernelVersion": platform.release(),
            "osImage": "Moorage (simulated)",
            "containerRuntimeVersion": "moorage://1",
            "kubeletVersion": VERSION["gitVersion"],
            "kubeProxyVersion": "",
            "operatingSystem": "linux",
            "architecture": _architecture(),
        }
    if not ((status.get("daemonEndpoints") or {}).get("kubeletEndpoint") or {}).get("Port"):
        status["daemonEndpoints"] = {"kubeletEndpoint": {"Port": 10250}}


def _offer_extended_resources(status: Document) -> None:
    """Makes what somebody added to the capacity allocatable, and no longer what was taken away there."""
    capacity, allocatable = status["capacity"], status["allocatable"]
    extended = {name for name in (*capacity, *allocatable) if "/" in name}
    changed = {name for name in extended if (name in capacity) != (name in allocatable)}
    if changed:
        kept = {name: amount for name, amount in allocatable.items() if name not in changed}
        status["allocatable"] = kept | {name: capacity[name] for name in capacity if name in changed}


def renew_conditions(node: Document, now: float) -> None:
    for each in (node.get("status") or {}).get("conditions") or ():
        if each.get("type") in HEARTBEATS:
            each["lastHeartbeatTime"] = timestamp(now)


def set_taints(node: Document, now: float) -> None:
    """Keeps pods away from a node that is cordoned or whose conditions are bad, and only then."""
    status = node.get("status") or {}
    spec = node.setdefault("spec", {})
    wanted = [_UNSCHEDULABLE] if spec.get("unschedulable") else []
    wanted += [
        taint for name, value, taint in _TAINTS if (condition(status, name) or {}).get("status") == value
    ]
    unwanted = _MANAGED_TAINTS.difference(wanted)
    taints = [
        each for each in spec.get("taints") or () if (each.get("key"), each.get("effect")) not in unwanted
    ]
    known = {(each.get("key"), each.get("effect")) for each in taints}
    taints += [
        {"key": key, "effect": effect, "timeAdded": timestamp(now)}
        for key, effect in wanted
        if (key, effect) not in known
    ]
    spec.pop("taints", None)
    if taints:
        spec["taints"] = taints


def _architecture() -> str:
    return {"x86_64": "amd64", "aarch64": "arm64"}.get(platform.machine(), platform.machine() or "amd64")
