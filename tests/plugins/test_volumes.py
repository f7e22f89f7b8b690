from __future__ import annotations

from typing import Any

import pytest

from moorage.api.meta import ObjectMeta
from moorage.api.storage import PersistentVolumeClaim
from moorage.framework.cycle_state import CycleState
from moorage.framework.status import Code
from moorage.plugins.catalog import in_tree_registry
from moorage.plugins.storage.claims import uses_claims
from moorage.plugins.storage.node_volume_limits import NodeVolumeLimits
from moorage.plugins.storage.volume_binding import VolumeBinding
from moorage.plugins.storage.volume_restrictions import VolumeRestrictions
from moorage.plugins.storage.volume_zone import VolumeZone
from moorage.testing import make_node, make_pod
from moorage.what_if.scenario import Scenario
from tests.plugins.helpers import cluster, filtered, scored

Document = dict[str, Any]

PLUGINS = (VolumeRestrictions, NodeVolumeLimits, VolumeBinding, VolumeZone)
CLAIM: Document = {"name": "v", "persistentVolumeClaim": {"claimName": "c"}}
EPHEMERAL: Document = {"name": "v", "ephemeral": {"volumeClaimTemplate": {"spec": {}}}}
REFUSED = (
    "pod uses persistentVolumeClaim or ephemeral volumes, which this version of Moorage does not support"
)


@pytest.mark.parametrize(
    ("volumes", "claims"),
    [
        ([], False),
        ([{"name": "v", "emptyDir": {}}, {"name": "w", "configMap": {"name": "c"}}], False),
        ([{"name": "v", "hostPath": {"path": "/"}}, {"name": "w", "csi": {"driver": "d"}}], False),
        ([CLAIM], True),
        ([EPHEMERAL], True),
        ([{"name": "a", "emptyDir": {}}, CLAIM], True),
        ([{"name": "v", "ephemeral": {}}], True),
    ],
)
def test_which_pods_have_claims(volumes: list[Document], claims: bool) -> None:
    assert uses_claims(make_pod("p", volumes=volumes)) == claims


@pytest.mark.parametrize("plugin", PLUGINS)
def test_pods_without_claims_concern_no_storage_plugin(plugin: type[VolumeRestrictions]) -> None:
    made = plugin(None, cluster([make_node("n")]))
    pod = make_pod("p", volumes=[{"name": "v", "emptyDir": {}}])
    answer = made.pre_filter(CycleState(), pod)
    assert answer is not None and answer.code is Code.SKIP
    assert filtered(made, pod) == {"n": None}


def test_binding_has_nothing_to_do_for_them() -> None:
    plugin, pod, cycle = VolumeBinding(None, cluster([make_node("n")])), make_pod("p"), CycleState()
    assert scored(plugin, pod) == {}
    assert plugin.score_nodes(cycle, pod, plugin.handle.nodes).tolist() == [0]
    assert plugin.reserve(cycle, pod, "n") is None
    plugin.unreserve(cycle, pod, "n")
    assert plugin.pre_bind_pre_flight(cycle, pod, "n").code is Code.SKIP
    assert plugin.pre_bind(cycle, pod, "n") is None


@pytest.mark.parametrize("volume", [CLAIM, EPHEMERAL])
def test_pods_with_claims_are_refused_with_the_reason(volume: Document) -> None:
    pod = make_pod("p", volumes=[volume])
    answer = VolumeBinding(None, cluster([make_node("n")])).pre_filter(CycleState(), pod)
    assert answer is not None
    assert (answer.code, answer.message) == (Code.UNSCHEDULABLE_AND_UNRESOLVABLE, REFUSED)
    claim = PersistentVolumeClaim(metadata=ObjectMeta(name="c", namespace="default"))
    told = Scenario([make_node("n"), claim], in_tree_registry()).evaluate(pod).document()
    assert told["feasible"] == []
    assert told["preFilter"]["plugin"] == "VolumeBinding"
    assert told["message"].startswith(f"0/1 nodes are available: {REFUSED}.")
