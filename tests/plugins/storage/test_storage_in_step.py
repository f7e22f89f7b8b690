"""However objects come, change and go and volumes are promised, what is known equals what is built anew."""

from __future__ import annotations

from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from moorage.api.meta import Object
from moorage.api.storage import PersistentVolume, PersistentVolumeClaim
from moorage.plugins.storage.judging import Binding, Judgement
from moorage.plugins.storage.reserving import Reserved, give_back, reserve
from moorage.plugins.storage.storage import Storage
from moorage.testing import make_node
from moorage.testing.fakes import FakeHandle
from tests.plugins.storage import binding_worlds as worlds
from tests.plugins.storage.volume_objects import ZONE, make_class, make_driver


class InStep(RuleBasedStateMachine):
    @initialize()
    def begin(self) -> None:
        self.handle = FakeHandle([make_node(name, labels={ZONE: "a"}) for name in worlds.NODES])
        self.storage = Storage(self.handle)
        self.objects: dict[tuple[str, str], Object] = {}
        self.reserved: list[Reserved] = []
        self.version = 1
        for item in (make_driver(), *(make_class(name) for name in sorted({*worlds.CLASSES}))):
            self.put(item)

    def put(self, item: Object) -> None:
        self.objects[item.kind, item.name] = item
        self.handle.add(item)

    @rule(data=st.data(), name=st.sampled_from(worlds.VOLUMES), again=st.booleans())
    def volume(self, data: st.DataObject, name: str, again: bool) -> None:
        """A new version of a volume, or the same once more, as a list that is read again brings it."""
        known = self.objects.get(("PersistentVolume", name))
        self.version += 1
        new = known if again and known else data.draw(worlds.volumes(name, str(self.version)))
        self.put(new)

    @rule(data=st.data(), name=st.sampled_from(worlds.CLAIMS))
    def claim(self, data: st.DataObject, name: str) -> None:
        self.version += 1
        self.put(data.draw(worlds.claims(name, str(self.version))))

    @rule(data=st.data(), name=st.sampled_from(worlds.NODES))
    def other(self, data: st.DataObject, name: str) -> None:
        """A class, a node, what a driver has left, or what it replaces."""
        kinds: list[Any] = [
            worlds.classes(data.draw(st.sampled_from(worlds.CLASSES))),
            worlds.nodes(name),
            worlds.capacities(name),
            worlds.csi_nodes(name),
        ]
        self.put(data.draw(st.one_of(kinds)))

    @precondition(lambda self: self.objects)
    @rule(data=st.data())
    def gone(self, data: st.DataObject) -> None:
        kinds = ("PersistentVolume", "PersistentVolumeClaim", "CSIStorageCapacity", "CSINode")
        present = sorted(key for key in self.objects if key[0] in kinds)
        if present:
            self.handle.remove(self.objects.pop(data.draw(st.sampled_from(present))))

    @rule(data=st.data(), node=st.sampled_from(worlds.NODES))
    def promise(self, data: st.DataObject, node: str) -> None:
        volumes = [item for item in self.objects.values() if isinstance(item, PersistentVolume)]
        claims = [item for item in self.objects.values() if isinstance(item, PersistentVolumeClaim)]
        if not volumes or not claims:
            return
        volume, claim = data.draw(st.sampled_from(volumes)), data.draw(st.sampled_from(claims))
        shown = self.storage.volumes.get(volume.name)
        assert shown is not None
        to_provision = [claim] if data.draw(st.booleans()) else []
        self.reserved.append(reserve(self.storage, [Binding(shown, claim)], to_provision, node))

    @precondition(lambda self: self.reserved)
    @rule(data=st.data())
    def end_promise(self, data: st.DataObject) -> None:
        place = data.draw(st.integers(0, len(self.reserved) - 1))
        ended = self.reserved.pop(place)
        give_back(self.storage, ended.bindings, ended.to_provision)

    @invariant()
    def equal_to_what_is_built_anew(self) -> None:
        if not hasattr(self, "storage"):
            return
        nodes = [info.node for info in self.handle.nodes]
        handle = FakeHandle([*nodes, *self.objects.values()])
        anew = Storage(handle)
        for (kind, name), item in self.objects.items():
            if kind == "PersistentVolume":
                self.same_promise(self.storage.volumes, anew.volumes, name, "")
            elif kind == "PersistentVolumeClaim":
                self.same_promise(self.storage.claims, anew.claims, name, item.namespace)
        for claim in [item for item in self.objects.values() if isinstance(item, PersistentVolumeClaim)]:
            shown = self.storage.claims.get(claim.name, namespace=claim.namespace)
            assert shown is not None
            bound, delayed = ([shown], []) if claim.spec.volume_name else ([], [shown])
            ours, theirs = Judgement(self.storage, bound, delayed), Judgement(anew, bound, delayed)
            for node in nodes:
                assert self.told(self.handle, ours, node.name) == self.told(handle, theirs, node.name)

    def same_promise(self, ours: Any, anew: Any, name: str, namespace: str) -> None:
        """What is still promised is promised there, too; a promise ends with the version it was made of."""
        shown, stored = ours.get(name, namespace=namespace), ours.stored(name, namespace=namespace)
        assert stored is self.objects[stored.kind, name]
        assert shown.metadata.resource_version == stored.metadata.resource_version
        if shown is not stored:
            anew.assume(shown)

    def told(self, handle: FakeHandle, judgement: Judgement, node: str) -> Any:
        place = handle.nodes.index(node)
        info = handle.node(node)
        assert place is not None and info is not None
        status = judgement.verdicts(handle.nodes).at(place)
        if status is not None:
            return status
        bindings = [(claim.name, volume.name) for volume, claim in judgement.bindings(info.row)]
        return bindings, [claim.name for claim in judgement.to_provision(info.row)]


InStep.TestCase.settings = settings(max_examples=25, stateful_step_count=25)
TestInStep = InStep.TestCase


def test_a_promise_is_seen_by_all_profiles() -> None:
    handle = FakeHandle([make_node("n")])
    assert handle.shared(Storage) is handle.shared(Storage)
