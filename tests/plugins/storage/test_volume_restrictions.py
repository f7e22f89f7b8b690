from __future__ import annotations

import pytest

from moorage.api.pods import Pod
from moorage.framework.cycle_state import CycleState
from moorage.framework.events import ASSIGNED_POD, NODE, PERSISTENT_VOLUME_CLAIM, POD, Action, Hint
from moorage.framework.status import Code, Status
from moorage.plugins.catalog import in_tree_registry
from moorage.plugins.storage.volume_restrictions import VolumeRestrictions
from moorage.testing import make_node
from moorage.what_if.scenario import Scenario
from tests.plugins.helpers import filtered, hint, registered, verdicts
from tests.plugins.storage.storage_cases import ONCE, Document, claim, csi, plugin_of, pod, volume

NO_DISK = Status.unschedulable("node(s) had no available disk")
IN_USE = Status.unschedulable(
    "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already in-use by "
    "another pod"
)
NODES = (make_node("n1"), make_node("n2"))


def ebs(identity: str, *, read_only: bool = False) -> Document:
    return {"awsElasticBlockStore": {"volumeID": identity, "readOnly": read_only}}


def gce(name: str, *, read_only: bool = False) -> Document:
    return {"gcePersistentDisk": {"pdName": name, "readOnly": read_only}}


def iscsi(name: str, *, read_only: bool = False, portal: str = "p") -> Document:
    return {"iscsi": {"iqn": name, "targetPortal": portal, "lun": 0, "readOnly": read_only}}


def rbd(*monitors: str, pool: str = "p", image: str = "i", read_only: bool = False) -> Document:
    return {"rbd": {"monitors": list(monitors), "pool": pool, "image": image, "readOnly": read_only}}


@pytest.mark.parametrize(
    ("theirs", "mine", "conflict"),
    [
        (ebs("a"), ebs("a"), True),
        (ebs("a", read_only=True), ebs("a", read_only=True), True),
        (ebs("a"), ebs("b"), False),
        (gce("a"), gce("a"), True),
        (gce("a", read_only=True), gce("a"), True),
        (gce("a"), gce("a", read_only=True), True),
        (gce("a", read_only=True), gce("a", read_only=True), False),
        (gce("a"), ebs("a"), False),
        (iscsi("a", portal="x"), iscsi("a", portal="y"), True),
        (iscsi("a", read_only=True), iscsi("a", read_only=True), False),
        (rbd("m1", "m2"), rbd("m2", "m3"), True),
        (rbd("m1", read_only=True), rbd("m1", read_only=True), False),
        (rbd("m1"), rbd("m1", read_only=True), True),
        (rbd("m1"), rbd("m2"), False),
        (rbd("m1"), rbd("m1", pool="q"), False),
        (rbd("m1"), rbd("m1", image="j"), False),
    ],
)
def test_disks_that_a_node_cannot_have_twice(theirs: Document, mine: Document, conflict: bool) -> None:
    plugin = plugin_of(VolumeRestrictions, [*NODES, pod("other", theirs, node="n1")])
    assert filtered(plugin, pod("pod", mine)) == {"n1": NO_DISK if conflict else None, "n2": None}
    deleted = pod("other", theirs, node="n1")
    told = hint(plugin, ASSIGNED_POD, Action.DELETE, pod("pod", mine), deleted)
    assert told is (Hint.QUEUE if conflict else Hint.SKIP)


def test_a_claim_for_one_pod_is_taken_everywhere() -> None:
    objects = [*NODES, claim("c", accessModes=ONCE), pod("user", "c", node="n1")]
    assert filtered(plugin_of(VolumeRestrictions, objects), pod("pod", "c")) == {"n1": IN_USE, "n2": IN_USE}


def test_a_disk_conflict_is_told_before_a_claim() -> None:
    objects = [*NODES, claim("c", accessModes=ONCE), pod("user", "c", gce("g"), node="n1")]
    plugin = plugin_of(VolumeRestrictions, objects)
    assert filtered(plugin, pod("pod", "c", gce("g"))) == {"n1": NO_DISK, "n2": IN_USE}


def skips(plugin: VolumeRestrictions, other: Pod) -> bool:
    answer = plugin.pre_filter(CycleState(), other)
    return answer is not None and answer.code is Code.SKIP


def test_who_does_not_use_a_claim() -> None:
    everywhere = [*NODES, claim("c", accessModes=ONCE), claim("c", accessModes=ONCE, namespace="other")]
    ephemeral = {"name": "c", "ephemeral": {"volumeClaimTemplate": {}}}
    for other in (
        pod("user", "c", node="no such node"),
        pod("user", "c", node="n1", namespace="other"),
        pod("", ephemeral, node="n1"),
    ):
        assert skips(plugin_of(VolumeRestrictions, [*everywhere, other]), pod("pod", "c"))
    often = [*NODES, claim("c", accessModes=["ReadWriteOnce"]), pod("user", "c", node="n1")]
    assert skips(plugin_of(VolumeRestrictions, often), pod("pod", "c"))


def test_an_assumed_pod_uses_its_claim_until_it_is_forgotten() -> None:
    plugin = plugin_of(VolumeRestrictions, [*NODES, claim("c", accessModes=ONCE)])
    assumed = plugin.handle.state.assume(pod("user", "c"), "n1")
    assert set(filtered(plugin, pod("pod", "c")).values()) == {IN_USE}
    plugin.handle.state.forget(assumed)
    assert skips(plugin, pod("pod", "c"))


def test_a_missing_claim_is_named() -> None:
    answer = plugin_of(VolumeRestrictions, NODES).pre_filter(CycleState(), pod("pod", "c"))
    assert answer == Status.unresolvable('persistentvolumeclaim "c" not found')


def test_pods_that_come_and_go_are_counted_by_the_names_of_their_claims() -> None:
    plugin = plugin_of(
        VolumeRestrictions, [*NODES, claim("c", accessModes=ONCE), pod("user", "c", node="n1")]
    )
    cycle, mine = CycleState(), pod("pod", "c")
    assert plugin.pre_filter(cycle, mine) is None
    node = plugin.handle.state.table.by_name["n1"]
    what_if = cycle.clone()
    assert plugin.remove_pod(what_if, mine, pod("user", "c"), node) is None
    assert set(verdicts(plugin, what_if, mine).values()) == {None}
    # As with kube-scheduler, a pod of another namespace counts as well.
    assert plugin.add_pod(what_if, mine, pod("stranger", "c", namespace="other"), node) is None
    assert set(verdicts(plugin, what_if, mine).values()) == {IN_USE}
    assert plugin.remove_pod(what_if, mine, pod("stranger", "x"), node) is None
    assert set(verdicts(plugin, what_if, mine).values()) == {IN_USE}
    assert set(verdicts(plugin, cycle, mine).values()) == {IN_USE}


def test_without_pre_filter_the_filter_fails_where_no_disk_decides() -> None:
    plugin = plugin_of(VolumeRestrictions, [*NODES, pod("other", gce("g"), node="n1")])
    missing = Status.error('cannot read "PreFilterVolumeRestrictions" from cycleState')
    cycle, mine = CycleState(), pod("pod", gce("g"))
    assert verdicts(plugin, cycle, mine) == {"n1": NO_DISK, "n2": missing}
    node = plugin.handle.state.table.by_name["n1"]
    assert plugin.add_pod(cycle, mine, mine, node) == missing
    assert plugin.remove_pod(cycle, mine, mine, node) == missing


def test_the_user_of_a_claim_is_preempted() -> None:
    bound = {"pv.kubernetes.io/bind-completed": "yes"}
    taken = claim("c", "pv", accessModes=ONCE)
    taken.metadata.annotations = bound
    objects = [*NODES, taken, volume("pv", **csi("h")), pod("user", "c", node="n1", priority=1)]
    important = pod("pod", "c", priority=100)
    told = Scenario(objects, in_tree_registry()).evaluate(important).document()
    assert told["postFilter"]["candidates"] == {"n1": {"victims": ["default/user"], "numPDBViolations": 0}}
    told = Scenario(objects, in_tree_registry()).evaluate(pod("pod", "c", priority=1)).document()
    assert told["postFilter"]["candidates"] == {}
    assert told["message"].startswith(f"0/2 nodes are available: 2 {IN_USE.message}. ")


def test_registered_events() -> None:
    assert registered(plugin_of(VolumeRestrictions, ())) == [
        (POD, Action.DELETE, True),
        (NODE, Action.ADD, False),
        (PERSISTENT_VOLUME_CLAIM, Action.ADD, True),
    ]


@pytest.mark.parametrize(
    ("deleted", "expected"),
    [
        (pod("other", "c", node="n1"), Hint.QUEUE),
        (pod("other", "x", node="n1"), Hint.SKIP),
        (pod("other", "c", node="n1", namespace="other"), Hint.SKIP),
        (pod("other", gce("g"), node="n1", namespace="other"), Hint.SKIP),
    ],
)
def test_pod_deleted_hint(deleted: Pod, expected: Hint) -> None:
    plugin = plugin_of(VolumeRestrictions, ())
    assert hint(plugin, ASSIGNED_POD, Action.DELETE, pod("pod", "c", gce("g")), deleted) is expected


def test_claim_added_hint() -> None:
    plugin = plugin_of(VolumeRestrictions, ())

    def told(added: str, namespace: str = "default") -> Hint:
        new = claim(added, namespace=namespace)
        mine = pod("pod", "c", {"ephemeral": {}})
        return hint(plugin, PERSISTENT_VOLUME_CLAIM, Action.ADD, mine, None, new)

    assert told("c") is Hint.QUEUE
    assert told("x") is Hint.SKIP
    assert told("c", "other") is Hint.SKIP
    assert told("pod-v1") is Hint.SKIP
