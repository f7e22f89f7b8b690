from __future__ import annotations

import pytest

from moorage.api.meta import Object
from moorage.api.pods import Pod
from moorage.api.storage import CSINode
from moorage.framework.cycle_state import CycleState
from moorage.framework.events import (
    ASSIGNED_POD,
    CSI_NODE,
    PERSISTENT_VOLUME_CLAIM,
    POD,
    VOLUME_ATTACHMENT,
    Action,
    Hint,
)
from moorage.framework.status import Code, Status
from moorage.plugins.storage.node_volume_limits import NodeVolumeLimits
from moorage.testing import make_node
from tests.plugins.helpers import filtered, hint, registered
from tests.plugins.storage.storage_cases import (
    Document,
    attachment,
    claim,
    csi,
    csi_node,
    plugin_of,
    pod,
    storage_class,
    volume,
)

FULL = Status.unschedulable("node(s) exceed max volume count")
NODE = make_node("n")
EBS_DRIVER = "ebs.csi.aws.com"
EPHEMERAL: Document = {"ephemeral": {"volumeClaimTemplate": {}}}


def bound(*names: str) -> list[Object]:
    """A claim and a volume of driver d for each name."""
    return [item for name in names for item in (claim(name, f"pv-{name}"), volume(f"pv-{name}", **csi(name)))]


def status(objects: list[Object], mine: Pod) -> Status | None:
    return filtered(plugin_of(NodeVolumeLimits, [NODE, *objects]), mine)["n"]


@pytest.mark.parametrize(("count", "expected"), [(0, FULL), (1, FULL), (2, FULL), (3, None), (None, None)])
def test_volumes_of_pods_count(count: int | None, expected: Status | None) -> None:
    objects = [*bound("a", "b", "c"), csi_node("n", d=count), pod("one", "a", "b", node="n")]
    assert status(objects, pod("pod", "c")) == expected


def test_other_drivers_and_nodes_do_not_count() -> None:
    objects = [*bound("a", "b"), csi_node("n", d=1, e=0), csi_node("other", d=0), pod("one", "a", node="m")]
    assert status([*objects, make_node("m")], pod("pod", "b")) is None


def test_a_volume_that_is_there_costs_nothing() -> None:
    objects = [*bound("a"), csi_node("n", d=1), pod("one", "a", node="n"), pod("two", "a", node="n")]
    assert status(objects, pod("pod", "a")) is None
    assert status([*objects, *bound("b")], pod("pod", "a", "b")) == FULL
    assert status([*objects, csi_node("n", d=0)], pod("pod", "a")) is None


def test_one_volume_twice_in_a_pod_counts_once() -> None:
    objects = [*bound("a"), claim("b", "pv-a"), csi_node("n", d=1)]
    assert status(objects, pod("pod", "a", "b")) is None


def test_what_is_still_attached_takes_a_place() -> None:
    objects = [*bound("a", "b", "c"), csi_node("n", d=2), pod("one", "a", node="n")]
    both = [attachment("va", "n", "pv-a"), attachment("vb", "n", "pv-b")]
    plugin = plugin_of(NodeVolumeLimits, [NODE, *objects, *both])
    assert filtered(plugin, pod("pod", "c")) == {"n": FULL}
    # As with kube-scheduler, what is attached and used by no pod counts twice when a pod wants it.
    assert filtered(plugin, pod("pod", "b")) == {"n": FULL}
    plugin.handle.services.door.remove(both[1])
    assert filtered(plugin, pod("pod", "c")) == {"n": None}


@pytest.mark.parametrize(
    "idle",
    [
        attachment("v", "other", "pv-b"),
        attachment("v", "n", "gone"),
        attachment("v", "n", "pv-b", attacher=""),
        attachment("v", "n", "pv-b", attacher="e"),
        attachment("v", "n", "in-tree"),
    ],
)
def test_attachments_that_take_no_place(idle: Object) -> None:
    in_tree = volume("in-tree", awsElasticBlockStore={"volumeID": "v"})
    objects = [*bound("a", "b"), in_tree, csi_node("n", d=1), idle]
    assert status(objects, pod("pod", "a")) is None


def test_claims_without_a_volume_count_by_their_class() -> None:
    objects: list[Object] = [
        csi_node("n", d=1),
        storage_class("s"),
        claim("a", storageClassName="s"),
        claim("b", "not made yet", storageClassName="s"),
        claim("c", storageClassName="none"),
        claim("e"),
    ]
    assert status(objects, pod("pod", "a")) is None
    assert status(objects, pod("pod", "a", "b")) == FULL
    assert status(objects, pod("pod", "a", "c", "e")) is None
    used = [*objects, pod("one", "a", node="n")]
    assert status(used, pod("pod", "a")) is None
    assert status(used, pod("pod", "b")) == FULL


@pytest.mark.parametrize("name", ["kubernetes.io/aws-ebs", EBS_DRIVER])
def test_drivers_that_were_built_in_are_their_successors(name: str) -> None:
    objects: list[Object] = [
        csi_node("n", **{EBS_DRIVER: 2}),
        storage_class("s", name),
        claim("a", storageClassName="s"),
        claim("b", "pv"),
        volume("pv", awsElasticBlockStore={"volumeID": "aws://z/vol-1"}),
        pod("one", "a", {"awsElasticBlockStore": {"volumeID": "vol-1"}}, node="n"),
    ]
    assert status(objects, pod("pod", "b")) is None
    assert status(objects, pod("pod", {"awsElasticBlockStore": {"volumeID": "vol-2"}})) == FULL
    assert status([*objects[1:]], pod("pod", {"awsElasticBlockStore": {"volumeID": "vol-2"}})) is None


def test_drivers_that_are_known_and_not_followed_do_not_count() -> None:
    objects: list[Object] = [
        csi_node("n", **{"file.csi.azure.com": 0, "kubernetes.io/azure-file": 0}),
        storage_class("s", "kubernetes.io/azure-file"),
        claim("a", storageClassName="s"),
    ]
    assert status(objects, pod("pod", "a", {"azureFile": {"shareName": "s"}})) is None


def test_a_missing_claim_is_named() -> None:
    told = 'looking up PVC default/c: persistentvolumeclaim "c" not found'
    assert status([], pod("pod", "c")) == Status.unresolvable(told)
    told = 'looking up PVC default/pod-v0: persistentvolumeclaim "pod-v0" not found'
    assert status([], pod("pod", EPHEMERAL)) == Status.unresolvable(told)


def test_an_ephemeral_claim_must_be_the_pods_own() -> None:
    told = "PVC default/pod-v0 was not created for pod default/pod (pod is not owner)"
    assert status([claim("pod-v0")], pod("pod", EPHEMERAL)) == Status.error(told)
    # A pod that is there already does no harm with it.
    assert status([claim("one-v0"), *bound("a"), pod("one", EPHEMERAL, node="n")], pod("pod", "a")) is None


def test_a_volume_without_a_name_fails_where_drivers_are_known() -> None:
    disk: Document = {"azureDisk": {"diskURI": "u", "kind": "Dedicated"}}
    plugin = plugin_of(NodeVolumeLimits, [NODE, make_node("m"), csi_node("n", d=1)])
    reason = "kind(Dedicated) is not supported in csi migration"
    failed = Status.error(f"converting volume(v0) from inline to csi: {reason}")
    assert filtered(plugin, pod("pod", disk)) == {"n": failed, "m": None}
    missing = Status.unresolvable('looking up PVC default/c: persistentvolumeclaim "c" not found')
    assert filtered(plugin, pod("pod", disk, "c")) == {"n": failed, "m": missing}
    assert filtered(plugin, pod("pod", "c", disk)) == {"n": missing, "m": missing}


def test_what_if_changes_are_seen_and_undone() -> None:
    other = pod("one", "a", node="n")
    plugin = plugin_of(NodeVolumeLimits, [NODE, *bound("a", "b"), csi_node("n", d=1), other])
    state = plugin.handle.state
    (known,) = state.table.by_name["n"].pod_infos
    with state.what_if(state.table.by_name["n"]) as trial:
        trial.remove(known)
        assert filtered(plugin, pod("pod", "b")) == {"n": None}
    assert filtered(plugin, pod("pod", "b")) == {"n": FULL}


@pytest.mark.parametrize(
    ("source", "asked"),
    [
        ("c", True),
        (EPHEMERAL, True),
        ({"awsElasticBlockStore": {"volumeID": "v"}}, True),
        ({"vsphereVolume": {"volumePath": "v"}}, True),
        ({"emptyDir": {}}, False),
        ({"csi": {"driver": "d"}}, False),
        ({"rbd": {"monitors": ["m"]}}, False),
    ],
)
def test_pods_that_are_looked_at(source: str | Document, asked: bool) -> None:
    answer = plugin_of(NodeVolumeLimits, [NODE]).pre_filter(CycleState(), pod("pod", source))
    assert (answer is None) == asked
    assert answer is None or answer.code is Code.SKIP
    deleted = pod("other", source, node="n")
    told = hint(plugin_of(NodeVolumeLimits, ()), ASSIGNED_POD, Action.DELETE, pod("pod", "c"), deleted)
    assert told is (Hint.QUEUE if asked else Hint.SKIP)


def test_a_deleted_pod_without_a_node_frees_nothing() -> None:
    plugin, mine = plugin_of(NodeVolumeLimits, ()), pod("pod", "c")
    assert hint(plugin, ASSIGNED_POD, Action.DELETE, mine, pod("other", "c")) is Hint.SKIP
    nominated = pod("other", "c", status={"nominatedNodeName": "n"})
    assert hint(plugin, ASSIGNED_POD, Action.DELETE, mine, nominated) is Hint.QUEUE


def test_registered_events() -> None:
    assert registered(plugin_of(NodeVolumeLimits, ())) == [
        (CSI_NODE, Action.ADD, False),
        (CSI_NODE, Action.UPDATE, True),
        (POD, Action.DELETE, True),
        (PERSISTENT_VOLUME_CLAIM, Action.ADD, True),
        (VOLUME_ATTACHMENT, Action.DELETE, True),
    ]


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        (csi_node("n", d=1), csi_node("n", d=2), Hint.QUEUE),
        (csi_node("n", d=2), csi_node("n", d=1), Hint.SKIP),
        (csi_node("n", d=1), csi_node("n", d=1, e=1), Hint.QUEUE),
        (csi_node("n", d=1), csi_node("n", d=1, e=0), Hint.SKIP),
        (csi_node("n", d=1), csi_node("n", d=None), Hint.SKIP),
        (csi_node("n", d=None), csi_node("n", d=1), Hint.QUEUE),
        (csi_node("n", d=1), csi_node("n"), Hint.SKIP),
    ],
)
def test_csi_node_updated_hint(old: CSINode, new: CSINode, expected: Hint) -> None:
    plugin = plugin_of(NodeVolumeLimits, ())
    assert hint(plugin, CSI_NODE, Action.UPDATE, pod("pod", "c"), old, new) is expected


def test_claim_added_hint() -> None:
    plugin, mine = plugin_of(NodeVolumeLimits, ()), pod("pod", "c", EPHEMERAL)
    for new, expected in (
        (claim("c"), Hint.QUEUE),
        (claim("pod-v1"), Hint.QUEUE),
        (claim("d"), Hint.SKIP),
        (claim("c", namespace="other"), Hint.SKIP),
    ):
        assert hint(plugin, PERSISTENT_VOLUME_CLAIM, Action.ADD, mine, None, new) is expected


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("c", Hint.QUEUE),
        (EPHEMERAL, Hint.SKIP),
        ({"awsElasticBlockStore": {"volumeID": "v"}}, Hint.QUEUE),
        ({"cinder": {"volumeID": "v"}}, Hint.SKIP),
        ({"azureDisk": {"diskURI": "u", "kind": "Dedicated"}}, Hint.QUEUE),
    ],
)
def test_attachment_deleted_hint(source: str | Document, expected: Hint) -> None:
    plugin, gone = plugin_of(NodeVolumeLimits, ()), attachment("v", "n", "pv", attacher=EBS_DRIVER)
    assert hint(plugin, VOLUME_ATTACHMENT, Action.DELETE, pod("pod", source), gone) is expected
