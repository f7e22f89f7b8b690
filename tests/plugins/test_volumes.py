from __future__ import annotations

from typing import Any

import pytest

from moorage.framework.cycle_state import CycleState
from moorage.framework.status import Code
from moorage.plugins.storage.claims import claims_of
from moorage.plugins.storage.node_volume_limits import NodeVolumeLimits
from moorage.plugins.storage.volume_binding import VolumeBinding
from moorage.plugins.storage.volume_restrictions import VolumeRestrictions
from moorage.plugins.storage.volume_zone import VolumeZone
from moorage.testing import make_node, make_pod
from tests.plugins.helpers import cluster, filtered

Document = dict[str, Any]

PLUGINS = (VolumeRestrictions, NodeVolumeLimits, VolumeBinding, VolumeZone)
CLAIM: Document = {"name": "v", "persistentVolumeClaim": {"claimName": "c"}}
EPHEMERAL: Document = {"name": "v", "ephemeral": {"volumeClaimTemplate": {"spec": {}}}}


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
    assert bool(claims_of(make_pod("p", volumes=volumes))) == claims


@pytest.mark.parametrize("plugin", PLUGINS)
def test_pods_without_claims_concern_no_storage_plugin(plugin: type[VolumeRestrictions]) -> None:
    made = plugin(None, cluster([make_node("n")]))
    pod = make_pod("p", volumes=[{"name": "v", "emptyDir": {}}])
    answer = made.pre_filter(CycleState(), pod)
    assert answer is not None and answer.code is Code.SKIP
    assert filtered(made, pod) == {"n": None}
