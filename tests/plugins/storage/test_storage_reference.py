"""The fast filters say what the slow ones say, in clusters of any kind."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from moorage.api.nodes import Node
from moorage.api.pods import Pod
from moorage.framework.cycle_state import CycleState
from moorage.framework.extension_points import FilterPlugin, PreFilterPlugin
from moorage.framework.handle import Handle, Services
from moorage.framework.status import Code, Status
from moorage.plugins.storage.node_volume_limits import NodeVolumeLimits
from moorage.plugins.storage.volume_restrictions import VolumeRestrictions
from moorage.plugins.storage.volume_zone import VolumeZone
from tests.plugins.helpers import verdicts, views
from tests.plugins.storage import references
from tests.plugins.storage.references import Answer, World
from tests.state import volume_worlds

Reference = Callable[[World, Pod, Node], Answer]

FILTERS: list[tuple[type[VolumeRestrictions | VolumeZone | NodeVolumeLimits], Reference]] = [
    (VolumeRestrictions, references.restrictions),
    (VolumeZone, references.zone),
    (NodeVolumeLimits, references.limits),
]


def answer(status: Status | None) -> Answer:
    return None if status is None else (status.code.label, status.message)


def in_words(plugin: PreFilterPlugin, pod: Pod, handle: Handle) -> list[dict[str, Answer]]:
    """What the plugin says about every node, in several views of the nodes; PreFilter speaks for all."""
    cycle = CycleState()
    status = plugin.pre_filter(cycle, pod)
    assert not isinstance(status, set)
    found: list[dict[str, Answer]] = []
    for view in views(handle):
        if status is not None:
            said = None if status.code is Code.SKIP else answer(status)
            found.append(dict.fromkeys(view.names, said))
        else:
            assert isinstance(plugin, FilterPlugin)
            found.append({name: answer(each) for name, each in verdicts(plugin, cycle, pod, view).items()})
    return found


@pytest.mark.parametrize(("kind", "reference"), FILTERS)
@settings(max_examples=60)
@given(seed=st.integers(0, 2**32))
def test_fast_and_slow_agree(
    kind: type[VolumeRestrictions | VolumeZone | NodeVolumeLimits], reference: Reference, seed: int
) -> None:
    chance = Random(seed)
    objects = volume_worlds.cluster(chance)
    placed = [
        volume_worlds.pod(chance, f"p{i + 1}", chance.choice([*volume_worlds.NODE_NAMES, "gone"]))
        for i in range(chance.randrange(8))
    ]
    services = Services()
    handle = Handle(services)
    plugin = kind(None, handle)
    for item in chance.sample([*objects, *placed], len(objects) + len(placed)):
        services.door.put(item)
    handle.state.table.refresh()
    world = World(objects, [(each, each.spec.node_name) for each in placed])
    for _ in range(8):
        pod = volume_worlds.pod(chance, "p0")
        for said in in_words(plugin, pod, handle):
            for name, found in said.items():
                node = world.find(Node, name)
                assert node is not None
                expected = reference(world, pod, node)
                event(str(expected))
                assert found == expected
