"""Which public names stand on which page of docs/reference/."""

from __future__ import annotations

from typing import NamedTuple


class Page(NamedTuple):
    file: str
    title: str
    about: str
    homes: tuple[str, ...]
    """The modules whose public names stand here."""
    given: tuple[str, ...] = ()
    """What authors are given and never import, as `module:Name`."""


PAGES = (
    Page(
        "extension-points.md",
        "Extension points",
        "The base classes of plugins, in the order in which a pod meets them. [../plugins.md]"
        "(../plugins.md#the-extension-points) has a page for each, with examples and pitfalls.",
        ("moorage.framework.extension_points",),
        ("moorage.framework.extension_points:Plugin",),
    ),
    Page(
        "answers.md",
        "Answers and what plugins remember",
        "What plugins return, what they are told about each node, and where they keep what they found out.",
        (
            "moorage.framework.status",
            "moorage.framework.verdicts",
            "moorage.framework.node_statuses",
            "moorage.framework.cycle_state",
            "moorage.framework.queued_pod",
        ),
    ),
    Page(
        "handle.md",
        "The handle",
        "The scheduler around a plugin, which has it as `self.handle`, and what is reached through it.",
        ("moorage.framework.handle", "moorage.framework.listers", "moorage.client"),
        (
            "moorage.framework.listers:ResourceName",
            "moorage.framework.runtime.waiting_pods:WaitingPods",
            "moorage.framework.runtime.waiting_pods:WaitingPod",
            "moorage.state.nominations:Nominations",
            "moorage.framework.handle:Recorder",
            "moorage.framework.metrics:Metrics",
            "moorage.client:Client",
        ),
    ),
    Page(
        "nodes.md",
        "Nodes as plugins see them",
        "One node for `filter` and `score`, all of them in columns for `filter_nodes` and `score_nodes`.",
        ("moorage.state",),
        (
            "moorage.state.nodes:ResourceView",
            "moorage.state.nodes:LabelView",
            "moorage.state.images:ImageState",
        ),
    ),
    Page(
        "events.md",
        "Events",
        "What has a rejected pod tried again: `events()` of a plugin returns a list of `ClusterEvent`.",
        ("moorage.framework.events",),
    ),
    Page(
        "objects.md",
        "Kubernetes objects",
        "Pods, nodes and the base of your own resources, with the fields that a scheduler uses. They are "
        "named as in a manifest, in Python's spelling (`nodeName` is `node_name`); `raw` has everything.",
        ("moorage.api.meta", "moorage.api.pods", "moorage.api.nodes", "moorage.api.taints"),
        (
            "moorage.api.pods:PodSpec",
            "moorage.api.pods:PodStatus",
            "moorage.api.nodes:NodeSpec",
            "moorage.api.nodes:NodeStatus",
            "moorage.api.pods:Condition",
            "moorage.api.meta:OwnerReference",
        ),
    ),
    Page(
        "helpers.md",
        "Quantities, selectors, requests",
        "The arithmetic of the in-tree plugins, for yours.",
        ("moorage.api",),
    ),
    Page(
        "testing.md",
        "moorage.testing",
        "[../testing.md](../testing.md) shows how it is used.",
        ("moorage.testing",),
        ("moorage.testing.fakes:RecordedEvent",),
    ),
    Page("more.md", "Everything else", "Programs, permissions and whatever else is public.", ("moorage",)),
)
