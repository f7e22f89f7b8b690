"""VolumeBinding's filter on columns says the same as the obvious one, for all nodes of random clusters."""

from __future__ import annotations

from typing import Any, TypeVar

from hypothesis import given, settings
from hypothesis import strategies as st

from moorage.api.meta import Object
from moorage.api.storage import (
    CSIDriver,
    CSINode,
    CSIStorageCapacity,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
)
from moorage.framework.status import Code
from moorage.plugins.storage.judging import Judgement
from moorage.plugins.storage.storage import Storage
from moorage.testing.fakes import FakeHandle
from tests.plugins.helpers import views
from tests.plugins.storage.binding_reference import Answer, World, judge
from tests.plugins.storage.binding_worlds import CLAIMS, crowded, everything

T = TypeVar("T", bound=Object)


def listed(objects: list[Object], kind: type[T]) -> dict[str, T]:
    return {item.name: item for item in objects if isinstance(item, kind)}


def world_of(objects: list[Object]) -> World:
    return World(
        listed(objects, PersistentVolume),
        listed(objects, StorageClass),
        listed(objects, CSIDriver),
        listed(objects, CSINode),
        listed(objects, CSIStorageCapacity).values(),
    )


def sorted_claims(
    objects: list[Object], names: list[str]
) -> tuple[list[PersistentVolumeClaim], list[PersistentVolumeClaim]]:
    claims = listed(objects, PersistentVolumeClaim)
    used = [claims[name] for name in names]
    return [each for each in used if each.spec.volume_name], [
        each for each in used if not each.spec.volume_name
    ]


def compare(handle: FakeHandle, storage: Storage, world: World, bound: Any, delayed: Any) -> None:
    judgement = Judgement(storage, bound, delayed)
    for nodes in views(handle):
        verdicts = judgement.verdicts(nodes)
        for place, info in enumerate(nodes):
            expected = judge(world, bound, delayed, info.node)
            status = verdicts.at(place)
            if status is not None:
                failed = status.code is Code.ERROR
                assert failed or status.code is Code.UNSCHEDULABLE_AND_UNRESOLVABLE
                found = Answer(failed=True) if failed else Answer(status.reasons)
            else:
                bindings = tuple((claim.name, volume.name) for volume, claim in judgement.bindings(info.row))
                provisions = tuple(claim.name for claim in judgement.to_provision(info.row))
                found = Answer((), bindings, provisions)
            assert found == expected, info.name


@settings(max_examples=100)
@given(everything(), st.lists(st.sampled_from(CLAIMS), min_size=1, max_size=4))
def test_the_same_for_every_node(objects: list[Object], names: list[str]) -> None:
    handle = FakeHandle(objects)
    compare(handle, Storage(handle), world_of(objects), *sorted_claims(objects, names))


@settings(max_examples=60)
@given(crowded(), st.lists(st.sampled_from(CLAIMS), min_size=2, max_size=4))
def test_claims_of_one_pod_that_want_the_same_volumes(objects: list[Object], names: list[str]) -> None:
    handle = FakeHandle(objects)
    compare(handle, Storage(handle), world_of(objects), *sorted_claims(objects, names))
