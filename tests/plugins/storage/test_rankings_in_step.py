"""However volumes come, go, are taken and brought back, and nodes and their labels change: the volumes that
are found for claims are those that a look at each of them finds."""

from __future__ import annotations

from collections.abc import Collection

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from moorage.api.nodes import Node
from moorage.api.selectors import parse_selector
from moorage.api.storage import PersistentVolume, PersistentVolumeClaim
from moorage.plugins.storage.first_of_groups import NONE
from moorage.plugins.storage.free_volumes import (
    FreeVolumes,
    Ranking,
    Traits,
    affinity_of,
    capacity_of,
    request_of,
)
from moorage.state.columns import Int32s
from moorage.state.nodes import Nodes
from moorage.testing import make_node
from tests.plugins.helpers import cluster, views
from tests.plugins.storage.binding_worlds import AFFINITIES, SIZES
from tests.plugins.storage.volume_objects import HOST, ZONE, make_claim, make_volume

NODES = tuple(f"n{number}" for number in range(6))
VOLUMES = tuple(f"v{number:02d}" for number in range(14))
SELECTOR = {"matchLabels": {"tier": "fast"}}
CLAIMS = (
    make_claim("small", "1Gi"),
    make_claim("large", "10Gi"),
    make_claim("larger", "100Gi"),
    make_claim("selecting", "1Gi", selector=SELECTOR),
    make_claim("block", "1Gi", volumeMode="Block"),
)


class InStep(RuleBasedStateMachine):
    @initialize()
    def begin(self) -> None:
        self.handle = cluster([self.node(name, "a") for name in NODES[:4]])
        self.free = FreeVolumes(self.handle.state.table)
        self.volumes: dict[str, PersistentVolume] = {}
        self.taken: dict[str, PersistentVolume] = {}

    def node(self, name: str, zone: str | None) -> Node:
        return make_node(name, labels={HOST: name, **({ZONE: zone} if zone else {})})

    @rule(
        name=st.sampled_from(VOLUMES),
        size=st.sampled_from(SIZES),
        place=st.sampled_from(AFFINITIES),
        tier=st.sampled_from(("fast", "slow")),
        mode=st.sampled_from(("Filesystem", "Filesystem", "Block")),
    )
    def comes(self, name: str, size: str, place: dict[str, object] | None, tier: str, mode: str) -> None:
        """A new one, or another of that name."""
        volume = make_volume(name, size, node_affinity=place, labels={"tier": tier}, volumeMode=mode)
        self.taken.pop(name, None)
        self.volumes[name] = volume
        self.free.discard(name)
        self.free.put(volume)

    @precondition(lambda self: self.volumes)
    @rule(data=st.data(), stays=st.booleans())
    def is_taken(self, data: st.DataObject, stays: bool) -> None:
        for name in data.draw(st.lists(st.sampled_from(sorted(self.volumes)), unique=True, min_size=1)):
            volume = self.volumes.pop(name)
            self.free.discard(name)
            if stays:
                self.taken[name] = volume

    @precondition(lambda self: self.taken)
    @rule(data=st.data())
    def comes_back(self, data: st.DataObject) -> None:
        name = data.draw(st.sampled_from(sorted(self.taken)))
        self.volumes[name] = self.taken.pop(name)
        self.free.put(self.volumes[name])

    @rule(name=st.sampled_from(NODES), zone=st.sampled_from(("a", "b", None)))
    def node_changes(self, name: str, zone: str | None) -> None:
        self.handle.state.put_node(self.node(name, zone))
        self.handle.state.table.refresh()

    @rule(name=st.sampled_from(NODES[1:]))
    def node_goes(self, name: str) -> None:
        self.handle.state.remove_node(name)
        self.handle.state.table.refresh()

    @rule(claims=st.lists(st.sampled_from(CLAIMS), min_size=1, max_size=3))
    def look(self, claims: list[PersistentVolumeClaim]) -> None:
        """As for a pod with these claims, each of which gets what those before it leave."""
        ranking = self.free.ranking()
        for nodes in views(self.handle):
            picked: list[Int32s] = []
            for claim in claims:
                found = ranking.best(claim, nodes.rows, picked)
                taken = [self.names(ranking, picked, place) for place in range(len(nodes))]
                expected = [
                    self.smallest(claim, info.node, names) for info, names in zip(nodes, taken, strict=True)
                ]
                assert [self.name(ranking, pick) for pick in found.tolist()] == expected
                at_each = [
                    ranking.best_at(claim, info.row, names) for info, names in zip(nodes, taken, strict=True)
                ]
                assert at_each == expected
                picked.append(found)
            self.look_where_there_is_none(ranking, claims[0], nodes)

    def look_where_there_is_none(self, ranking: Ranking, claim: PersistentVolumeClaim, nodes: Nodes) -> None:
        lacking = ranking.lacking(claim, nodes.rows)
        found = [lacking] * len(nodes) if isinstance(lacking, bool) else lacking.tolist()
        assert found == [self.smallest(claim, info.node, ()) is None for info in nodes]

    def name(self, ranking: Ranking, pick: int) -> str | None:
        return None if pick == NONE else ranking.entries[pick].name

    def names(self, ranking: Ranking, picked: list[Int32s], place: int) -> list[str]:
        return [ranking.entries[pick].name for picks in picked if (pick := picks.item(place)) != NONE]

    def smallest(self, claim: PersistentVolumeClaim, node: Node, taken: Collection[str]) -> str | None:
        fitting = [volume for volume in self.volumes.values() if volume.name not in taken]
        fitting = [volume for volume in fitting if serves(volume, claim, node)]
        fitting.sort(key=lambda volume: (capacity_of(volume), volume.name))
        return fitting[0].name if fitting else None


def serves(volume: PersistentVolume, claim: PersistentVolumeClaim, node: Node) -> bool:
    affinity, selector = affinity_of(volume), claim.spec.selector
    return (
        Traits.of(volume).serve(Traits.of(claim))
        and capacity_of(volume) >= request_of(claim)
        and (selector is None or parse_selector(selector).matches(volume.metadata.labels))
        and (affinity is None or affinity.matches(node.labels, node.name))
    )


InStep.TestCase.settings = settings(max_examples=60, stateful_step_count=30)
TestInStep = InStep.TestCase
