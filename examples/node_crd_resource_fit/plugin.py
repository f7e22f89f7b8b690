"""Places pods by custom resources that say what each node is good for."""

from collections.abc import Sequence
from typing import Any

import msgspec

from moorage import (
    Action,
    ClusterEvent,
    CycleState,
    FilterPlugin,
    Handle,
    Hint,
    NodeInfo,
    PluginError,
    Pod,
    ScorePlugin,
    Status,
)

from .api import ClusterScopedResource

MAX_SCORE = 100
NODE_NOT_FOUND = "node not found"
RESOURCE_NOT_FOUND = "CRD for node not found"


class NodeCRDResourceFitArgs(msgspec.Struct, rename="camel"):
    cache_sync_timeout_seconds: float = 30.0


class NodeCRDResourceFit(FilterPlugin, ScorePlugin):
    """Filters and scores nodes by the ClusterScopedResource that is named like the node."""

    args_type = NodeCRDResourceFitArgs

    def __init__(self, args: NodeCRDResourceFitArgs, handle: Handle) -> None:
        super().__init__(args, handle)
        self.resources = handle.lister_of(ClusterScopedResource, sync_timeout=args.cache_sync_timeout_seconds)

    def filter(self, cycle: CycleState, pod: Pod, node: NodeInfo) -> Status | None:
        if not node.exists:
            return Status.error(NODE_NOT_FOUND)
        found = self.resources.get(node.name)
        if found is None:
            self.handle.log.debug(RESOURCE_NOT_FOUND, extra={"nodeName": node.name})
            return Status.unschedulable(RESOURCE_NOT_FOUND)
        missing = first_disabled(pod, found)
        if missing is not None:
            keys = {"nodeName": node.name, "resource": missing}
            self.handle.log.debug("Node does not enable resource", extra=keys)
            return Status.unschedulable(f"Node does not enable resource {missing}")
        return None

    def score(self, cycle: CycleState, pod: Pod, node: NodeInfo) -> int:
        self.handle.log.debug("Scoring node", extra={"nodeName": node.name})
        if not node.exists:
            raise PluginError(NODE_NOT_FOUND)
        found = self.resources.get(node.name)
        if found is None:
            # A score cannot reject a node: the attempt fails, and the pod is tried again.
            self.handle.log.debug(RESOURCE_NOT_FOUND, extra={"nodeName": node.name})
            raise PluginError(RESOURCE_NOT_FOUND)
        score = mean_score(pod, found)
        keys = {"podName": pod.name, "nodeName": node.name, "score": score}
        self.handle.log.debug("Resources and score", extra=keys)
        return score

    def events(self) -> Sequence[ClusterEvent]:
        return [
            ClusterEvent("Node", Action.ADD),
            ClusterEvent("Pod", Action.UPDATE),
            ClusterEvent(
                "clusterscopedresources.v1alpha1.scheduling.sigs.k8s.io",
                Action.ADD | Action.UPDATE | Action.DELETE,
                may_help,
            ),
        ]


def requested(pod: Pod) -> list[str]:
    """The names of the resources that a pod's containers request, in order."""
    return sorted({name for container in pod.spec.containers for name in container.resources.requests})


def first_disabled(pod: Pod, found: ClusterScopedResource) -> str | None:
    """The first resource the pod requests that the node does not enable."""
    enabled = found.spec.resources_filter
    return next((name for name in requested(pod) if not enabled.get(name, False)), None)


def mean_score(pod: Pod, found: ClusterScopedResource) -> int:
    """The mean of what the node scores for each resource the pod requests, rounded up."""
    scores = [found.spec.resources_score.get(name, 0) for name in requested(pod)]
    if not scores:
        return 0
    return -(-sum(min(max(score, 0), MAX_SCORE) for score in scores) // len(scores))


def may_help(pod: Pod, old: Any, new: ClusterScopedResource | None) -> Hint:
    """Only a resource that appears or changes, and then lets the pod in, is worth another try."""
    return Hint.QUEUE if new is not None and first_disabled(pod, new) is None else Hint.SKIP
