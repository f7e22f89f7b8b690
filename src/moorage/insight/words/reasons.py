"""What plugins say about nodes and pods, in plain words.

The texts of the in-tree plugins are known here. What other plugins say is quoted, with the plugin's name.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import NamedTuple

from moorage.insight.words.amounts import listed


class Verb(NamedTuple):
    """What is the matter with nodes: with one of them, and with several."""

    one: str
    many: str

    def of(self, count: int) -> str:
        return self.one if count == 1 else self.many


ABOUT_NODES: dict[str, Verb] = {
    "Too many pods": Verb("has as many pods as it may", "have as many pods as they may"),
    "node(s) were unschedulable": Verb("is cordoned", "are cordoned"),
    "node(s) didn't match the requested node name": Verb(
        "is not the node that it names", "are not the node that it names"
    ),
    "node(s) had untolerated taint(s)": Verb(
        "has a taint that it does not tolerate", "have taints that it does not tolerate"
    ),
    "node(s) didn't match Pod's node affinity/selector": Verb(
        "does not match its node selector or affinity", "do not match its node selector or affinity"
    ),
    "node(s) didn't match scheduler-enforced node affinity": Verb(
        "does not match the node affinity of the scheduler's configuration",
        "do not match the node affinity of the scheduler's configuration",
    ),
    "node(s) didn't have free ports for the requested pod ports": Verb(
        "has its host port in use", "have its host port in use"
    ),
    "node(s) had no available disk": Verb(
        "has its disk in use by another pod", "have its disk in use by another pod"
    ),
    "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already in-use by "
    "another pod": Verb(
        "has another pod that uses its ReadWriteOncePod claim",
        "have another pod that uses its ReadWriteOncePod claim",
    ),
    "node(s) exceed max volume count": Verb(
        "has as many volumes attached as it may", "have as many volumes attached as they may"
    ),
    "node(s) didn't match PersistentVolume's node affinity": Verb(
        "cannot reach its persistent volume", "cannot reach its persistent volume"
    ),
    "node(s) didn't find available persistent volumes to bind": Verb(
        "has no free persistent volume for its claim, and none can be made there",
        "have no free persistent volume for its claim, and none can be made there",
    ),
    "node(s) did not have enough free storage": Verb(
        "has too little storage for the volume to be made",
        "have too little storage for the volume to be made",
    ),
    "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)": Verb(
        "is out because its claim is bound to a persistent volume that is gone",
        "are out because its claim is bound to a persistent volume that is gone",
    ),
    "node(s) had no available volume zone": Verb(
        "is in another zone than its volume", "are in other zones than its volume"
    ),
    "node(s) didn't match pod topology spread constraints": Verb(
        "would make its pods too unevenly spread", "would make its pods too unevenly spread"
    ),
    "node(s) didn't match pod topology spread constraints (missing required label)": Verb(
        "lacks the label that its pods are spread over", "lack the label that its pods are spread over"
    ),
    "node(s) didn't match pod affinity rules": Verb(
        "is not near a pod that it must be near", "are not near a pod that it must be near"
    ),
    "node(s) didn't match pod anti-affinity rules": Verb(
        "is too near a pod that it must keep away from", "are too near a pod that it must keep away from"
    ),
    "node(s) didn't satisfy existing pods anti-affinity rules": Verb(
        "is too near a pod that keeps it away", "are too near a pod that keeps it away"
    ),
    "node(s) didn't match Pod's required features": Verb(
        "has a kubelet without a feature that it needs", "have kubelets without a feature that it needs"
    ),
    "cannot allocate all claims": Verb(
        "has no free devices for its resource claims", "have no free devices for its resource claims"
    ),
    "resourceclaim not available on the node": Verb(
        "cannot reach the devices of its resource claim", "cannot reach the devices of its resource claim"
    ),
    "cannot schedule extended resource claim": Verb(
        "is out because of a resource claim left from an earlier try",
        "are out because of a resource claim left from an earlier try",
    ),
    "cannot fit resource": Verb("lacks an extended resource", "lack an extended resource"),
}
"""By the reason of an in-tree plugin."""

_LACKS = "Insufficient "
_LEFT_OUT = re.compile(r"node\(s\) didn't satisfy plugin(?:\(s\) \[(.+)\]|\s(\S+))$")
_NO_DRIVER = re.compile(r"(\S+) CSI driver is not installed on the node")


def about_nodes(plugin: str, reason: str) -> Verb:
    """What a plugin's reason says about the nodes that it rejects."""
    if reason.startswith(_LACKS):
        resource = reason.removeprefix(_LACKS)
        return Verb(f"lacks {resource}", f"lack {resource}")
    if known := ABOUT_NODES.get(reason):
        return known
    if found := _LEFT_OUT.match(reason):
        plugins = (found[1] or found[2]).split(" ")
        if plugins == ["NodeAffinity"]:
            what = "among those that its node affinity names"
            return Verb(f"is not {what}", f"are not {what}")
        names = listed(plugins, 5)
        return Verb(f"is left out by {names}", f"are left out by {names}")
    if found := _NO_DRIVER.match(reason):
        return Verb(f"lacks the CSI driver {found[1]}", f"lack the CSI driver {found[1]}")
    by = plugin or "an extender"
    said = f' ("{reason}")' if reason else ""
    return Verb(f"is rejected by {by}{said}", f"are rejected by {by}{said}")


def resource_of(reason: str) -> str:
    """The resource that a reason says is lacking, or an empty text."""
    return reason.removeprefix(_LACKS) if reason.startswith(_LACKS) else ""


_GANG = "its pod group"

_ABOUT_PODS: list[tuple[str, Callable[[re.Match[str]], str]]] = [
    (
        r"pod has unbound immediate PersistentVolumeClaims",
        lambda found: (
            "a claim of it has no persistent volume yet, and its storage class does not wait for the "
            "pod: a volume must be made or bound first"
        ),
    ),
    (
        r'(?:looking up PVC \S+: )?persistentvolumeclaim "(.+)" not found',
        lambda found: f'its persistent volume claim "{found[1]}" does not exist',
    ),
    (
        r'persistentvolumeclaim "(.+)" is being deleted',
        lambda found: f'its persistent volume claim "{found[1]}" is being deleted',
    ),
    (
        r'persistentvolumeclaim "(.+)" bound to non-existent persistentvolume "(.*)"',
        lambda found: f'its claim "{found[1]}" is bound to the persistent volume "{found[2]}", which is gone',
    ),
    (
        r'waiting for ephemeral volume controller to create the persistentvolumeclaim "(.+)"',
        lambda found: f'the claim "{found[1]}" of its ephemeral volume has not been made yet',
    ),
    (
        r"PVC (\S+) was not created for pod (\S+) \(pod is not owner\)",
        lambda found: f"the claim {found[1]} has the name of its ephemeral volume's, but is not its own",
    ),
    (
        r'persistentvolume "(.+)" not found',
        lambda found: f'its persistent volume "{found[1]}" does not exist',
    ),
    (
        r'storageclass\.storage\.k8s\.io "(.+)" not found',
        lambda found: f'the storage class "{found[1]}" of its claim does not exist',
    ),
    (
        r'VolumeBindingMode not set for StorageClass "(.+)"',
        lambda found: f'the storage class "{found[1]}" of its claim has no volumeBindingMode',
    ),
    (r"PersistentVolumeClaim had no name", lambda found: "a volume of it names no claim"),
    (
        r"PersistentVolumeClaim had no pv name and storageClass name",
        lambda found: "its claim has neither a persistent volume nor a storage class",
    ),
    (r"PersistentVolume had no name", lambda found: "its claim is not bound to a persistent volume yet"),
    (
        r"pod affinity terms conflict",
        lambda found: "the node names in its node affinity contradict one another",
    ),
    (
        r"node\(s\) didn't satisfy plugin(?:\(s\))? \[?([^\]]+)\]? simultaneously",
        lambda found: f"no node is left by all of {listed(found[1].split(' '), 5)} together",
    ),
    (r"node\(s\) didn't satisfy plugin (\S+)", lambda found: f"{found[1]} leaves no node that exists"),
    (
        r"parsing pod: (.+)",
        lambda found: f"its pod affinity cannot be read: {found[1]}",
    ),
    (
        r'could not find ResourceClaim "(.+)"',
        lambda found: f'its resource claim "{found[1]}" does not exist',
    ),
    (
        r'resourceclaim "(.+)" is being deleted',
        lambda found: f'its resource claim "{found[1]}" is being deleted',
    ),
    (
        r'pod ".+": ResourceClaim not created yet',
        lambda found: "a resource claim has yet to be made for it from its template",
    ),
    (
        r"ResourceClaim (\S+) was not created for Pod \S+ \(Pod is not owner\)",
        lambda found: f"the resource claim {found[1]} was made for another pod",
    ),
    (
        r"resource claim (\S+) is in the process of being allocated",
        lambda found: f"its resource claim {found[1]} is just being allocated for another pod",
    ),
    (
        r"request (\S+): device class (\S+) does not exist",
        lambda found: f"the device class {found[2]} of its resource claim does not exist",
    ),
    (
        r"waiting for scheduling gates: \[(.+)\]",
        lambda found: (
            f"held back by its scheduling gates {listed(found[1].split(' '), 5)}: "
            "it is tried when they are removed"
        ),
    ),
    (
        r"waiting for the preemption for this pod to be finished",
        lambda found: "waiting until the pods that it preempts are evicted",
    ),
    (
        r"waiting for pods's pod group \"(.+)\" to appear in scheduling queue",
        lambda found: f'{_GANG} "{found[1]}" does not exist yet',
    ),
    (r"no nodes available to schedule pods", lambda found: "there are no nodes"),
    (r"no feasible placements found", lambda found: f"no placement fits {_GANG}"),
    (r"pod group is unschedulable.*", lambda found: f"{_GANG} does not fit as a whole"),
]
_ABOUT_PODS_COMPILED = [(re.compile(pattern), words) for pattern, words in _ABOUT_PODS]


def about_pod(plugin: str, reasons: Iterable[str]) -> str:
    """What a plugin says against a pod as a whole, whatever the node."""
    parts = [_about_pod(reason) for reason in reasons]
    known = [part for part in parts if part]
    if known and len(known) == len(parts):
        return ", and ".join(known)
    quoted = ", ".join(f'"{reason}"' for reason in reasons)
    by = plugin or "the scheduler"
    return f"{by} says {quoted}" if quoted else f"{by} rejects it"


def _about_pod(reason: str) -> str:
    for pattern, words in _ABOUT_PODS_COMPILED:
        if found := pattern.fullmatch(reason):
            return words(found)
    return ""


_PREEMPTION = "preemption: "
_NO_VICTIMS = "No preemption victims found for incoming pod"
_NOT_HELPFUL = "Preemption is not helpful for scheduling"
_UNSAID = ("no new claims to deallocate", "still not schedulable", "not found")


def about_preemption(message: str) -> str:
    """Why nobody makes room for the pod, from the end of the message of its condition; empty if unsaid."""
    _, found, said = message.partition(_PREEMPTION)
    if not found:
        return ""
    if "preemptionPolicy=Never" in said:
        return "it may not preempt others (preemptionPolicy: Never)"
    if "a terminating pod on the nominated node" in said:
        return "pods that it has preempted are still ending on its nominated node"
    if "no candidate node" in said:
        return "the extenders leave no node for preemption"
    if re.search(r": \d+ No preemption victims", said) and _NOT_HELPFUL not in said and said.count(",") == 0:
        return "no pod is less important than it, so none is preempted"
    return ""
