"""VolumeBinding: what it says of claims and nodes, and what it promises."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

from moorage.api.meta import Object
from moorage.api.pods import Pod
from moorage.api.storage import PersistentVolumeClaim
from moorage.config import load
from moorage.framework.cycle_state import CycleState
from moorage.framework.events import (
    CSI_DRIVER,
    CSI_NODE,
    CSI_STORAGE_CAPACITY,
    NODE,
    PERSISTENT_VOLUME,
    PERSISTENT_VOLUME_CLAIM,
    STORAGE_CLASS,
    Action,
    Hint,
)
from moorage.framework.status import Code, Status
from moorage.plugins.catalog import in_tree_registry
from moorage.plugins.storage.binding import BindingFailed, is_bound
from moorage.plugins.storage.judging import Binding
from moorage.plugins.storage.reserving import Reserved
from moorage.plugins.storage.volume_binding import VolumeBinding
from moorage.scheduler.profiles import DEFAULT_CONFIGURATION
from moorage.testing import make_node, make_pod
from moorage.testing.fakes import FakeHandle
from moorage.what_if.scenario import Scenario
from moorage.what_if.simulation import Simulation
from tests.plugins.helpers import filtered, hint, registered
from tests.plugins.storage.volume_objects import (
    DRIVER,
    SELECTED,
    ZONE,
    in_zone,
    make_capacity,
    make_claim,
    make_class,
    make_csi_node,
    make_driver,
    make_volume,
    pod_with,
)

NODES = [make_node("n1", labels={ZONE: "a"}), make_node("n2", labels={ZONE: "b"})]
MADE = make_class("made", DRIVER)
EPHEMERAL = make_pod("p", volumes=[{"name": "v", "ephemeral": {"volumeClaimTemplate": {"spec": {}}}}])
UNBOUND = "node(s) didn't find available persistent volumes to bind"
NO_SPACE = "node(s) did not have enough free storage"
IMMEDIATE = "pod has unbound immediate PersistentVolumeClaims"


def plugin(*objects: Object) -> VolumeBinding:
    return VolumeBinding(None, FakeHandle([*NODES, *objects]))


def said(*objects: Object, pod: Pod | None = None) -> str:
    """The message of the pod's condition under the default profile."""
    scenario = Scenario([*NODES, *objects], in_tree_registry())
    return str(scenario.evaluate(pod or pod_with("c")).document().get("message", ""))


def rejections(made: VolumeBinding, *claims: str) -> dict[str, str]:
    found = filtered(made, pod_with(*claims))
    return {name: status.message for name, status in found.items() if status is not None}


def reserved_on(made: VolumeBinding, node: str, *claims: str) -> Reserved:
    cycle, pod = CycleState(), pod_with(*claims)
    assert made.pre_filter(cycle, pod) is None
    made.filter_nodes(cycle, pod, made.handle.nodes)
    assert made.reserve(cycle, pod, node) is None
    found = cycle.read("VolumeBinding").reserved
    assert isinstance(found, Reserved)
    return found


# PreFilter


@pytest.mark.parametrize(
    ("pod", "objects", "message"),
    [
        (pod_with("d"), [], 'persistentvolumeclaim "d" not found'),
        (
            EPHEMERAL,
            [],
            'waiting for ephemeral volume controller to create the persistentvolumeclaim "p-v"',
        ),
        (
            pod_with("c"),
            [make_claim("c", volume="gone", phase="Lost")],
            'persistentvolumeclaim "c" bound to non-existent persistentvolume "gone"',
        ),
        (pod_with("c"), [make_claim("c", deleting=True)], 'persistentvolumeclaim "c" is being deleted'),
        (
            EPHEMERAL,
            [make_claim("p-v")],
            "PVC default/p-v was not created for pod default/p (pod is not owner)",
        ),
        (pod_with("c"), [make_claim("c", storage_class=None)], IMMEDIATE),
        (pod_with("c"), [make_claim("c", storage_class="gone")], IMMEDIATE),
        (pod_with("c"), [make_claim("c", volume="v", completed=False), make_class()], IMMEDIATE),
        (pod_with("c"), [make_claim("c"), make_class(mode="Immediate")], IMMEDIATE),
    ],
)
def test_claims_for_which_no_node_will_do(pod: Pod, objects: Sequence[Object], message: str) -> None:
    answer = plugin(*objects).pre_filter(CycleState(), pod)
    assert answer == Status.unresolvable(message)


def test_a_class_that_does_not_say_when_to_bind_is_an_error() -> None:
    answer = plugin(make_claim("c"), make_class(mode=None)).pre_filter(CycleState(), pod_with("c"))
    assert answer == Status.error('VolumeBindingMode not set for StorageClass "local"')


def test_the_claim_of_an_ephemeral_volume_counts_for_its_pod() -> None:
    made = plugin(make_claim("p-v", owner=EPHEMERAL), make_class())
    assert made.pre_filter(CycleState(), EPHEMERAL) is None


def test_the_old_annotation_names_the_class() -> None:
    claim = make_claim("c", annotations={"volume.beta.kubernetes.io/storage-class": "made"})
    made = plugin(claim, MADE, make_class("local", mode="Immediate"))
    assert made.pre_filter(CycleState(), pod_with("c")) is None


def test_pods_without_claims_are_skipped_and_go_through_every_later_point() -> None:
    made, cycle, pod = plugin(), CycleState(), make_pod("p", volumes=[{"name": "v", "emptyDir": {}}])
    assert made.pre_filter(cycle, pod) == Status.skip()
    assert made.pre_score(cycle, pod, made.handle.nodes) == Status.skip()
    assert made.score_nodes(cycle, pod, made.handle.nodes).tolist() == [0, 0]
    assert made.reserve(cycle, pod, "n1") is None
    assert made.pre_bind_pre_flight(cycle, pod, "n1") == Status.skip()
    made.unreserve(CycleState(), pod, "n1")


# The words that users see


def test_messages() -> None:
    missing = 'persistentvolumeclaim "c" not found'
    assert said() == f"0/2 nodes are available: {missing}. not found"
    waits = 'waiting for ephemeral volume controller to create the persistentvolumeclaim "p-v"'
    assert waits in said(pod=EPHEMERAL)
    bound, volume = make_claim("c", volume="v"), make_volume("v", node_affinity=in_zone("c"), phase="Bound")
    assert said(bound, volume, make_class()).startswith(
        "0/2 nodes are available: 2 node(s) didn't match PersistentVolume's node affinity."
    )
    assert said(bound, make_class()).startswith('0/2 nodes are available: persistentvolume "v" not found.')
    owned = make_claim("p-v", volume="v", owner=EPHEMERAL)
    gone = "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)"
    assert said(owned, make_class(), pod=EPHEMERAL).startswith(f"0/2 nodes are available: 2 {gone}.")


# Filter


def test_the_smallest_volume_goes_to_the_smallest_claim() -> None:
    made = plugin(
        make_class(),
        *(make_claim("small", "5Gi"), make_claim("large", "8Gi")),
        *(make_volume("v10", "10Gi"), make_volume("v6", "6Gi")),
    )
    bindings = reserved_on(made, "n1", "large", "small").bindings
    assert {claim.name: volume.name for volume, claim in bindings} == {"small": "v6", "large": "v10"}


@pytest.mark.parametrize(("provisioner", "rejected"), [(None, {"n2": UNBOUND}), (DRIVER, {})])
def test_a_volume_that_names_the_claim_keeps_others_away(
    provisioner: str | None, rejected: dict[str, str]
) -> None:
    storage_class = make_class() if provisioner is None else make_class("local", provisioner)
    named = make_volume(
        "v", node_affinity=in_zone("a"), claim={"namespace": "default", "name": "c"}, phase="Released"
    )
    made = plugin(storage_class, make_claim("c"), named, make_volume("other", node_affinity=in_zone("b")))
    assert rejections(made, "c") == rejected
    [binding] = reserved_on(made, "n1", "c").bindings
    assert binding.volume.name == "v"
    reference = binding.volume.spec.claim_ref
    assert reference is not None and reference.uid == "claim-c"
    assert "pv.kubernetes.io/bound-by-controller" not in binding.volume.annotations
    if provisioner:
        made.handle.services.shared.clear()
        again = plugin(storage_class, make_claim("c"), named)
        assert [claim.name for claim in reserved_on(again, "n2", "c").to_provision] == ["c"]


def test_the_node_of_an_earlier_attempt_is_the_only_one() -> None:
    made = plugin(MADE, make_claim("c", storage_class="made", annotations={SELECTED: "n2"}))
    assert rejections(made, "c") == {"n1": UNBOUND}


def test_what_a_driver_has_left() -> None:
    zone_a = {"matchLabels": {ZONE: "a"}}
    claim = make_claim("c", "20Gi", storage_class="made")
    made = plugin(MADE, make_driver(), claim, make_capacity("k", "10Gi", topology=zone_a))
    assert rejections(made, "c") == {"n1": NO_SPACE, "n2": NO_SPACE}
    made.handle.services.door.put(make_capacity("k", "30Gi", topology=zone_a))
    assert rejections(made, "c") == {"n2": NO_SPACE}
    made.handle.services.door.put(make_capacity("k", "30Gi", topology=zone_a, largest="1Gi"))
    assert rejections(made, "c") == {"n1": NO_SPACE, "n2": NO_SPACE}


def test_what_cannot_be_read_is_not_used(caplog: pytest.LogCaptureFixture) -> None:
    made = plugin(make_class(), make_claim("c"), make_volume("v", "much"), MADE, make_driver())
    assert rejections(made, "c") == {"n1": UNBOUND, "n2": UNBOUND}
    assert "Persistent volume has an invalid capacity" in caplog.text
    wrong = {"matchExpressions": [{"key": ZONE, "operator": "Near"}]}
    made.handle.services.door.put(make_claim("c", storage_class="made"))
    for capacity in (make_capacity("k", "lots", topology={}), make_capacity("l", topology=wrong)):
        made.handle.services.door.put(capacity)
    assert rejections(made, "c") == {"n1": NO_SPACE, "n2": NO_SPACE}
    assert "Storage capacity cannot be used" in caplog.text


def test_a_selector_that_cannot_be_read_ends_the_attempt() -> None:
    wrong = {"matchExpressions": [{"key": ZONE, "operator": "Near"}]}
    made = plugin(make_class(), make_claim("c", selector=wrong))
    found = filtered(made, pod_with("c"))["n1"]
    assert found is not None and found.code is Code.ERROR
    assert found.message.startswith("error creating internal label selector for claim: default/c: ")


# Reserve


def test_what_is_promised_is_not_offered_again_until_it_is_given_back() -> None:
    claims = [make_claim("c"), make_claim("d")]
    made = plugin(make_class(), *claims, make_volume("v", node_affinity=in_zone("a")))
    cycle, pod = CycleState(), pod_with("c")
    made.pre_filter(cycle, pod)
    made.filter_nodes(cycle, pod, made.handle.nodes)
    assert made.reserve(cycle, pod, "n1") is None
    assert rejections(made, "d") == {"n1": UNBOUND, "n2": UNBOUND}
    assert rejections(made, "c") == {"n2": UNBOUND}
    made.unreserve(cycle, pod, "n1")
    made.unreserve(cycle, pod, "n1")
    assert rejections(made, "d") == {"n2": UNBOUND}


def test_a_promise_that_is_out_of_date_is_an_error_and_promises_nothing() -> None:
    made = plugin(make_class(), make_claim("c"), make_claim("d", "8Gi"), make_volume("v"), make_volume("w"))
    cycle, pod = CycleState(), pod_with("c", "d")
    made.pre_filter(cycle, pod)
    made.filter_nodes(cycle, pod, made.handle.nodes)
    judgement = cycle.read("VolumeBinding").judgement
    first, second = judgement.bindings(0)
    judgement.bindings = lambda row: [first, second]
    made.handle.services.door.put(make_volume(second.volume.name, version="2"))
    assert made.reserve(cycle, pod, "n1") == Status.error(
        f'"{second.volume.name}" is out of sync (stored: 2, assume: 1)'
    )
    assert rejections(made, "c", "d") == {}


def test_a_claim_that_two_volumes_of_a_pod_share_is_written_once() -> None:
    made = plugin(MADE, make_claim("c", storage_class="made"))
    assert len(reserved_on(made, "n1", "c", "c").to_provision) == 1


def test_runs_in_memory_write_nothing() -> None:
    made = plugin(MADE, make_claim("c", storage_class="made"))
    cycle, pod = CycleState(), pod_with("c")
    made.pre_filter(cycle, pod)
    made.filter_nodes(cycle, pod, made.handle.nodes)
    made.reserve(cycle, pod, "n1")
    made.handle.services.client = None
    assert made.pre_bind_pre_flight(cycle, pod, "n1") == Status.skip()


def test_a_simulation_gives_a_volume_to_one_pod_of_all_profiles() -> None:
    config = load(DEFAULT_CONFIGURATION + "profiles: [{schedulerName: one}, {schedulerName: two}]\n").config
    simulation = Simulation(config, in_tree_registry())
    for item in (*NODES, make_class(), make_claim("c"), make_claim("d"), make_volume("v")):
        simulation.add(item)
    pods = [pod_with("c", name="p", scheduler="one"), pod_with("d", name="q", scheduler="two")]
    result = asyncio.run(simulation.run(pods))
    assert (len(result.placed), len(result.pending)) == (1, 1)
    assert UNBOUND in next(iter(result.pending.values()))


# The wait


VOLUME, CLAIM = make_volume("v"), make_claim("c")
OURS = {"namespace": "default", "name": "c", "uid": "claim-c"}


def bound_volume(version: str = "2", **more: Any) -> Object:
    return make_volume("v", **{"claim": OURS, "version": version, "node_affinity": in_zone("a"), **more})


def selected(node: str = "n1", **more: Any) -> PersistentVolumeClaim:
    return make_claim("c", **{"annotations": {SELECTED: node}, "version": "2", **more})


def checked(node: str, *objects: Object, static: bool) -> bool | str:
    """What the check says once the watches have brought these; version 2 is what was written."""
    handle = FakeHandle([*NODES, pod_with("c"), *objects])
    made = VolumeBinding(None, handle)
    reserved = Reserved([], [selected()])
    if static:
        reserved = Reserved([Binding(make_volume("v", version="2"), CLAIM)], [])
    try:
        return is_bound(handle, made._storage, pod_with("c"), node, reserved)
    except BindingFailed as error:
        return str(error)


@pytest.mark.parametrize(
    ("objects", "outcome"),
    [
        ([make_claim("c", volume="v")], 'failed to check binding: persistentvolumes "v" not found'),
        ([bound_volume()], 'failed to check binding: persistentvolumeclaims "default/c" not found'),
        ([VOLUME, make_claim("c", volume="v")], False),
        (
            [bound_volume(node_affinity=in_zone("b")), make_claim("c", volume="v")],
            'pv "v" node affinity doesn\'t match node "n1": no matching NodeSelectorTerms',
        ),
        ([make_volume("v", version="3"), CLAIM], 'ClaimRef got reset for pv "v"'),
        ([bound_volume(claim={"namespace": "default", "name": "c"}), CLAIM], 'ClaimRef got reset for pv "v"'),
        ([bound_volume(), make_claim("c", volume="v", completed=False)], False),
        ([bound_volume(), make_claim("c", volume="v")], True),
        ([bound_volume("10"), make_claim("c", volume="v")], True),
    ],
)
def test_the_wait_for_a_volume(objects: list[Object], outcome: bool | str) -> None:
    assert checked("n1", *objects, static=True) == outcome


@pytest.mark.parametrize(
    ("objects", "outcome"),
    [
        ([], 'failed to check provisioning pvc: persistentvolumeclaims "default/c" not found'),
        ([make_claim("c")], False),
        ([make_claim("c", version="3")], 'selectedNode annotation reset for PVC "c"'),
        ([selected("n2")], 'provisioning failed for PVC "c"'),
        ([selected()], False),
        ([selected(volume="v")], False),
        (
            [selected(volume="v"), bound_volume(node_affinity=in_zone("b"))],
            'pv "v" node affinity doesn\'t match node "n1": no matching NodeSelectorTerms',
        ),
        ([selected(volume="v", completed=False), bound_volume()], False),
        ([selected(volume="v"), bound_volume()], True),
    ],
)
def test_the_wait_for_a_provisioner(objects: list[Object], outcome: bool | str) -> None:
    assert checked("n1", *objects, static=False) == outcome


def test_the_wait_ends_with_node_and_pod() -> None:
    assert checked("n3", selected(), static=False) == 'failed to get node "n3": node "n3" not found'
    made = plugin(selected())
    with pytest.raises(BindingFailed, match='pod does not exist any more: pod "p" not found'):
        is_bound(made.handle, made._storage, pod_with("c"), "n1", Reserved([], [selected()]))


# Events


def test_events() -> None:
    both = Action.ADD | Action.UPDATE
    assert registered(plugin()) == [
        (STORAGE_CLASS, both, True),
        (PERSISTENT_VOLUME_CLAIM, both, True),
        (PERSISTENT_VOLUME, both, False),
        (NODE, Action.ADD | Action.UPDATE_NODE_LABEL, False),
        (CSI_NODE, both, True),
        (CSI_DRIVER, Action.UPDATE, True),
        (CSI_STORAGE_CAPACITY, both, True),
    ]


INLINE = make_pod("p", volumes=[{"name": "v", "csi": {"driver": DRIVER}}])
PLUGIN = "kubernetes.io/aws-ebs"


@pytest.mark.parametrize(
    ("resource", "pod", "old", "new", "queued"),
    [
        (STORAGE_CLASS, pod_with("c"), None, MADE, True),
        (STORAGE_CLASS, pod_with("c"), MADE, make_class("made", "other"), False),
        (STORAGE_CLASS, pod_with("c"), MADE, make_class("made", topologies=[{ZONE: ["a"]}]), True),
        (PERSISTENT_VOLUME_CLAIM, pod_with("c"), None, make_claim("c"), True),
        (PERSISTENT_VOLUME_CLAIM, pod_with("c"), make_claim("c"), make_claim("c"), True),
        (PERSISTENT_VOLUME_CLAIM, pod_with("c"), None, make_claim("d"), False),
        (PERSISTENT_VOLUME_CLAIM, pod_with("c", namespace="other"), None, make_claim("c"), False),
        (PERSISTENT_VOLUME_CLAIM, EPHEMERAL, None, make_claim("p-v"), True),
        (PERSISTENT_VOLUME, pod_with("c"), None, make_volume("v"), True),
        (CSI_NODE, pod_with("c"), None, make_csi_node("n1"), True),
        (CSI_NODE, pod_with("c"), make_csi_node("n1"), make_csi_node("n1"), False),
        (CSI_NODE, pod_with("c"), make_csi_node("n1"), make_csi_node("n1", PLUGIN), True),
        (CSI_DRIVER, INLINE, make_driver(), make_driver(capacity=False), True),
        (CSI_DRIVER, INLINE, make_driver(), make_driver(capacity=None), True),
        (CSI_DRIVER, INLINE, make_driver(capacity=False), make_driver(), False),
        (CSI_DRIVER, INLINE, make_driver("x"), make_driver("x", capacity=False), False),
        (CSI_DRIVER, pod_with("c"), make_driver(), make_driver(capacity=False), False),
        (CSI_STORAGE_CAPACITY, pod_with("c"), None, make_capacity("k"), True),
        (CSI_STORAGE_CAPACITY, pod_with("c"), make_capacity("k"), make_capacity("k", "11Gi"), True),
        (CSI_STORAGE_CAPACITY, pod_with("c"), make_capacity("k"), make_capacity("k", "9Gi"), False),
        (CSI_STORAGE_CAPACITY, pod_with("c"), make_capacity("k", None), make_capacity("k"), True),
        (CSI_STORAGE_CAPACITY, pod_with("c"), make_capacity("k"), make_capacity("k", None), False),
        (CSI_STORAGE_CAPACITY, pod_with("c"), make_capacity("k", "x"), make_capacity("k"), True),
    ],
)
def test_what_wakes_a_pod(resource: str, pod: Pod, old: Any, new: Any, queued: bool) -> None:
    action = Action.ADD if old is None else Action.UPDATE
    expected = Hint.QUEUE if queued else Hint.SKIP
    assert hint(plugin(), resource, action, pod, old, new) is expected
