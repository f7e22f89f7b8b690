"""What `--with` turns on: plugins that come with Moorage, the kinds they need, and what they replace."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import NamedTuple

from moorage.api.meta import Object
from moorage.contrib.objects import ElasticQuota, PodGroup


class Feature(NamedTuple):
    name: str
    """As `--with` takes it."""
    plugin: str
    """Enabled at every point that it implements."""
    replaces: Mapping[str, str]
    """By extension point, the default plugin that makes room for it there, in every profile."""
    kinds: tuple[type[Object], ...]
    """The custom resources that it reads, and whose status its controller writes."""


FEATURES: tuple[Feature, ...] = (
    # Quotas come first: a gang is turned down after preemption was tried, not before.
    Feature("capacity", "CapacityScheduling", {"postFilter": "DefaultPreemption"}, (ElasticQuota,)),
    Feature("coscheduling", "Coscheduling", {"queueSort": "PrioritySort"}, (PodGroup,)),
)
"""In the order in which their plugins run."""


def of_plugins(names: Collection[str]) -> list[Feature]:
    """The features that belong to some of these plugins."""
    return [feature for feature in FEATURES if feature.plugin in names]
