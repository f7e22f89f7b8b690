"""Small clusters made up by hypothesis, and slow, obvious answers to compare with."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hypothesis import strategies as st

from moorage.api.meta import Object
from moorage.api.nodes import Node
from moorage.api.pods import Pod
from moorage.plugins.catalog import in_tree_registry
from moorage.scheduler.profiles import default_configuration
from moorage.testing import make_node, make_pod
from moorage.what_if.capacity.world import Given

ZONE = "topology.kubernetes.io/zone"
HOSTNAME = "kubernetes.io/hostname"

_REGISTRY = in_tree_registry()
_CONFIG = default_configuration(_REGISTRY, [])

Document = dict[str, Any]


def given(*objects: Object) -> Given:
    return Given(list(objects), _CONFIG, _REGISTRY)


@st.composite
def nodes(draw: st.DrawFn, most: int = 3) -> list[Node]:
    """Up to so many nodes of one to three cpus in two zones, some of them tainted."""
    found = []
    for number in range(draw(st.integers(1, most))):
        zone = draw(st.sampled_from(["a", "b", ""]))
        found.append(
            make_node(
                f"n{number}",
                cpu=draw(st.integers(1, 3)),
                pods=draw(st.integers(2, 4)),
                labels={ZONE: zone} if zone else {},
                taints=["only=few:NoSchedule"] if draw(st.integers(0, 4)) == 0 else [],
            )
        )
    return found


@st.composite
def shapes(draw: st.DrawFn) -> Document:
    """What a pod asks for: cpu, and perhaps one thing that depends on others."""
    app = draw(st.sampled_from(["x", "y"]))
    shape: Document = {"cpu": draw(st.sampled_from(["300m", "500m", "1", "1500m"])), "labels": {"app": app}}
    wanted = draw(st.sampled_from(["", "", "spread", "hosts", "anti", "affinity", "port", "tolerates"]))
    key = draw(st.sampled_from([ZONE, HOSTNAME]))
    selector = {"matchLabels": {"app": app}}
    if wanted in ("spread", "hosts"):
        shape["topologySpreadConstraints"] = [
            {
                "maxSkew": draw(st.integers(1, 2)),
                "topologyKey": ZONE if wanted == "spread" else HOSTNAME,
                "whenUnsatisfiable": "DoNotSchedule",
                "labelSelector": selector,
            }
        ]
    elif wanted in ("anti", "affinity"):
        term = {"topologyKey": key, "labelSelector": selector}
        field = "podAntiAffinity" if wanted == "anti" else "podAffinity"
        shape["affinity"] = {field: {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    elif wanted == "port":
        shape["containers"] = [
            {
                "name": "main",
                "ports": [{"containerPort": 80, "hostPort": 80}],
                "resources": {"requests": {"cpu": shape.pop("cpu")}},
            }
        ]
    elif wanted == "tolerates":
        shape["tolerations"] = [{"operator": "Exists"}]
    return shape


def pod(name: str, shape: Document, **more: Any) -> Pod:
    return make_pod(name, **shape, **more)


@st.composite
def running(draw: st.DrawFn, on: Sequence[Node], most: int = 3) -> list[Pod]:
    """Pods that are on these nodes already."""
    found = []
    for number in range(draw(st.integers(0, most))):
        node = draw(st.sampled_from(list(on)))
        found.append(pod(f"r{number}", draw(shapes()), node=node.name))
    return found
