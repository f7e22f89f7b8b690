"""What a node offers, as a custom resource that is named like the node."""

from typing import ClassVar

import msgspec

from moorage import Object


class ClusterScopedResourceSpec(msgspec.Struct, rename="camel"):
    resources_filter: dict[str, bool] = {}
    """Resource to whether pods that request it may run on the node."""
    resources_score: dict[str, int] = {}
    """Resource to how good the node is for it, 0 to 100."""


class ClusterScopedResource(Object, kw_only=True):
    """Which resources the node of the same name is good for."""

    group: ClassVar[str] = "scheduling.sigs.k8s.io"
    version: ClassVar[str] = "v1alpha1"
    resource: ClassVar[str] = "clusterscopedresources"
    kind: ClassVar[str] = "ClusterScopedResource"
    namespaced: ClassVar[bool] = False

    spec: ClusterScopedResourceSpec
