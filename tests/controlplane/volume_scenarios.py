"""What a scheduler owes pods with volumes, told as small stories; each is played in a world of its own."""

import time
from collections.abc import Callable

from tests.controlplane.schedulers import Document, condition
from tests.controlplane.servers import wait_for
from tests.controlplane.volume_worlds import HOST, ROOMS, SELECTED, STORAGE, WAIT, ZONE, World, affinity

SCENARIOS: dict[str, Callable[[World], None]] = {}
"""By name."""

SHORT, NO_ZONES = "-short", "-no-zones"
"""Profiles beside the default one: with a bind time-out of 3 s, and without VolumeZone."""

STATIC = {"provisioner": "kubernetes.io/no-provisioner"}
UNBOUND = "pod has unbound immediate PersistentVolumeClaims"
AFFINITY = "node(s) didn't match PersistentVolume's node affinity"
NO_VOLUME = "node(s) didn't find available persistent volumes to bind"
NO_SPACE = "node(s) did not have enough free storage"
GONE = "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)"
IN_USE = (
    "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode "
    "already in-use by another pod"
)
DISK = "node(s) had no available disk"
WRONG_ZONE = "node(s) had no available volume zone"
TOO_MANY = "node(s) exceed max volume count"
PRE_BIND = 'running PreBind plugin "VolumeBinding": '


def scenario(play: Callable[[World], None]) -> Callable[[World], None]:
    SCENARIOS[play.__name__.replace("_", "-")] = play
    return play


@scenario
def no_claims_and_no_room(world: World) -> None:
    world.two_nodes()
    world.pod("p", requests={"cpu": "100"})
    world.wait_message("p", "no new claims to deallocate, preemption: ")


@scenario
def missing_claim(world: World) -> None:
    world.two_nodes()
    world.pod("p", "d")
    message = world.wait_message("p", "nodes are available: ")
    assert message.split(": ", 1)[1] == 'persistentvolumeclaim "d" not found. not found'


@scenario
def half_bound_claim(world: World) -> None:
    world.two_nodes()
    world.storage_class("waits")
    world.claim("c", "waits", volumeName="elsewhere")
    world.pod("p", "c")
    world.wait_message("p", UNBOUND)


@scenario
def class_that_comes_later(world: World) -> None:
    world.two_nodes()
    world.claim("c", "gone")
    world.pod("p", "c", on="n1")
    world.wait_message("p", UNBOUND)
    world.storage_class("gone")
    assert world.wait_selected("c") == "n1"


@scenario
def ephemeral_volume(world: World) -> None:
    world.two_nodes()
    world.storage_class("waits")
    template = {
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "storageClassName": world.full("waits"),
            "resources": {"requests": {"storage": "1Gi"}},
        }
    }
    world.pod("p", volumes=[{"name": "v", "ephemeral": {"volumeClaimTemplate": template}}])
    world.wait_message(
        "p", 'waiting for ephemeral volume controller to create the persistentvolumeclaim "p-v"'
    )
    owner = {"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": world.get_pod("p")["metadata"]["uid"]}
    world.claim("p-v", "waits", metadata={"ownerReferences": [{**owner, "controller": True}]})
    chosen = world.wait_selected("p-v")
    world.volume("v", "waits", claim="p-v", nodeAffinity=affinity(HOST, world.full(chosen)))
    world.hand_over("p-v", "v")
    assert world.wait_where("p") == chosen


@scenario
def ephemeral_claim_of_another(world: World) -> None:
    world.two_nodes()
    world.storage_class("waits")
    world.claim("p-v", "waits")
    template = {"spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}}
    world.pod("p", volumes=[{"name": "v", "ephemeral": {"volumeClaimTemplate": template}}])
    world.wait_message("p", f"PVC {world.name}/p-v was not created for pod {world.name}/p (pod is not owner)")


@scenario
def bound_volume_in_a_zone(world: World) -> None:
    world.two_nodes()
    world.volume("v", claim="c", nodeAffinity=affinity(ZONE, "a"))
    world.claim("c", bound_to="v")
    world.pod("there", "c", on="n2")
    world.wait_message("there", f"1 {AFFINITY}")
    world.pod("p", "c")
    assert world.wait_where("p") == "n1"


@scenario
def bound_volume_that_is_gone(world: World) -> None:
    world.two_nodes()
    world.claim("c", bound_to="v")
    world.pod("plain", "c")
    world.wait_message("plain", f'persistentvolume "{world.full("v")}" not found')
    world.pod("without-zones", "c", profile=NO_ZONES)
    world.wait_message("without-zones", f"2 {GONE}")


@scenario
def smallest_volumes_that_fit(world: World) -> None:
    world.node("n1", "a")
    world.storage_class("static", **STATIC)
    world.volume("large", "static", size="10Gi")
    world.volume("small", "static", size="6Gi")
    world.claim("five", "static", size="5Gi")
    world.claim("eight", "static", size="8Gi")
    world.pod("p", "eight", "five")
    assert (world.wait_owned("small"), world.wait_owned("large")) == ("five", "eight")
    world.hand_over("five", "small")
    world.hand_over("eight", "large")
    assert world.wait_where("p") == "n1"


@scenario
def volume_kept_for_the_claim(world: World) -> None:
    world.two_nodes()
    world.storage_class("static", **STATIC)
    world.volume("kept", "static", claim="c", nodeAffinity=affinity(ZONE, "a"))
    world.volume("free", "static", nodeAffinity=affinity(ZONE, "b"))
    world.claim("c", "static")
    world.pod("there", "c", on="n2")
    world.wait_message("there", f"1 {NO_VOLUME}")
    world.pod("p", "c")
    wait_for(
        "the uid of the claim",
        lambda: world.get_volume("kept")["spec"]["claimRef"].get("uid"),
        seconds=WAIT,
    )
    world.hand_over("c", "kept")
    assert world.wait_where("p") == "n1"
    assert world.owner("free") == ""


@scenario
def volume_kept_elsewhere_may_be_made_anew(world: World) -> None:
    world.two_nodes()
    world.storage_class("waits")
    world.volume("kept", "waits", claim="c", nodeAffinity=affinity(ZONE, "a"))
    world.claim("c", "waits")
    world.pod("p", "c", on="n2")
    assert world.wait_selected("c") == "n2"


@scenario
def node_selected_before(world: World) -> None:
    world.two_nodes()
    world.storage_class("waits")
    world.claim("c", "waits", metadata={"annotations": {SELECTED: world.full("n2")}})
    world.pod("p", "c", on="n1")
    world.wait_message("p", f"1 {NO_VOLUME}")


@scenario
def allowed_topologies(world: World) -> None:
    world.two_nodes()
    terms = [{"matchLabelExpressions": [{"key": ZONE, "values": ["b"]}]}]
    world.storage_class("in-b", allowedTopologies=terms)
    world.claim("c", "in-b")
    world.pod("there", "c", on="n1")
    world.wait_message("there", f"1 {NO_VOLUME}")
    world.pod("p", "c")
    assert world.wait_selected("c") == "n2"


@scenario
def storage_capacity(world: World) -> None:
    world.two_nodes()
    world.storage_class("waits")
    driver = {"metadata": {"name": f"{world.name}.example"}, "spec": {"storageCapacity": True}}
    world.api.request("POST", f"{STORAGE}/csidrivers", driver)
    capacities = f"{STORAGE}/namespaces/{world.name}/csistoragecapacities"
    capacity = world.api.request(
        "POST",
        capacities,
        {
            "metadata": {"name": "in-a"},
            "storageClassName": world.full("waits"),
            "nodeTopology": {"matchLabels": {ZONE: "a"}},
            "capacity": "10Gi",
        },
    )
    world.claim("c", "waits", size="20Gi")
    world.pod("p", "c")
    world.wait_message("p", f"2 {NO_SPACE}")
    world.api.request("PUT", f"{capacities}/in-a", {**capacity, "capacity": "30Gi"})
    assert world.wait_selected("c") == "n1"


@scenario
def writing_a_static_volume(world: World) -> None:
    world.node("n1", "a")
    world.storage_class("static", **STATIC)
    world.volume(
        "v",
        "static",
        labels={"mine": "kept"},
        annotations={"example.com/note": "kept"},
        mountOptions=["noatime"],
        source={"nfs": {"server": "nfs.example", "path": "/v", "readOnly": True}},
    )
    before = world.get_volume("v")
    world.claim("c", "static")
    world.pod("p", "c")
    world.wait_owned("v")
    after = world.get_volume("v")
    claim = world.get_claim("c")
    assert after["spec"].pop("claimRef") == {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "namespace": world.name,
        "name": "c",
        "uid": claim["metadata"]["uid"],
        "resourceVersion": claim["metadata"]["resourceVersion"],
    }
    assert after["metadata"]["annotations"].pop("pv.kubernetes.io/bound-by-controller") == "yes"
    assert after["spec"] == before["spec"]
    for field in ("labels", "annotations", "finalizers"):
        assert after["metadata"].get(field) == before["metadata"].get(field)
    assert world.where("p") == ""
    world.hand_over("c", "v")
    assert world.wait_where("p") == "n1"


@scenario
def provisioner_gives_up(world: World) -> None:
    world.node("n1", "a")
    world.storage_class("waits")
    world.claim("c", "waits", metadata={"annotations": {"example.com/note": "kept"}})
    world.pod("p", "c")
    world.wait_selected("c")
    world.annotate_claim("c", **{SELECTED: None})
    world.wait_event("p", PRE_BIND + 'binding volumes: provisioning failed for PVC "c"')
    assert world.wait_selected("c") == "n1"


@scenario
def first_look_after_a_second(world: World) -> None:
    world.node("n1", "a")
    world.storage_class("waits")
    world.volume("v", "made", claim="c")
    world.claim("c", "waits")
    began = time.monotonic()
    world.pod("p", "c")
    world.wait_selected("c")
    world.hand_over("c", "v")
    world.wait_where("p")
    assert time.monotonic() - began >= 1.0


@scenario
def time_out(world: World) -> None:
    world.two_nodes()
    world.storage_class("waits")
    world.claim("c", "waits")
    world.pod("p", "c", profile=SHORT)
    chosen = world.wait_selected("c")
    world.wait_event("p", PRE_BIND + "binding volumes: context deadline exceeded")
    assert condition(world.get_pod("p"))["reason"] == "SchedulerError"
    assert world.selected("c") == chosen
    world.volume("v", "waits", claim="c")
    world.hand_over("c", "v")
    world.wait_where("p")


@scenario
def preempted_while_it_waits(world: World) -> None:
    world.node("n1", "a", cpu="4")
    world.storage_class("waits")
    world.claim("c", "waits")
    world.pod("low", "c", requests={"cpu": "3"})
    world.wait_selected("c")
    world.pod("high", requests={"cpu": "3"}, priorityClassName="high")
    assert world.wait_where("high") == "n1"
    world.wait_event("low", PRE_BIND + "preempted by DefaultPreemption")
    low = world.get_pod("low")
    assert "deletionTimestamp" not in low["metadata"]
    assert not low["spec"].get("nodeName")


@scenario
def two_pods_and_one_volume(world: World) -> None:
    world.node("n1", "a")
    world.storage_class("static", **STATIC)
    world.volume("v", "static")
    for name in ("a", "b"):
        world.claim(f"claim-{name}", "static")
    for name in ("a", "b"):
        world.pod(f"pod-{name}", f"claim-{name}")
    winner = world.wait_owned("v").removeprefix("claim-")
    loser = {"a": "b", "b": "a"}[winner]
    world.wait_message(f"pod-{loser}", f"1 {NO_VOLUME}")
    world.hand_over(f"claim-{winner}", "v")
    assert world.wait_where(f"pod-{winner}") == "n1"
    assert world.owner("v") == f"claim-{winner}"


@scenario
def one_pod_at_a_time(world: World) -> None:
    world.two_nodes()
    world.volume("v", claim="c", accessModes=["ReadWriteOncePod"])
    world.claim("c", bound_to="v", accessModes=["ReadWriteOncePod"])
    world.running("user", "n1", "c", priorityClassName="low")
    world.pod("equal", "c", priorityClassName="low")
    world.wait_message("equal", f"2 {IN_USE}")
    world.pod("better", "c", priorityClassName="high")

    def preempted() -> bool:
        user = world.get_pod("user")
        return "deletionTimestamp" in user["metadata"]

    wait_for("the user of the volume to be removed", preempted, seconds=WAIT)
    assert condition(world.get_pod("user"), "DisruptionTarget")["reason"] == "PreemptionByScheduler"
    world.api.delete(f"{ROOMS}/{world.name}/pods/user", f"{ROOMS}/{world.name}/pods/equal")
    world.wait_where("better")


@scenario
def same_disk(world: World) -> None:
    world.node("n1", "a")
    disk = {"name": "v", "awsElasticBlockStore": {"volumeID": f"{world.name}-disk", "readOnly": True}}
    world.running("user", "n1", volumes=[disk])
    world.pod("p", volumes=[disk])
    world.wait_message("p", f"1 {DISK}")
    world.api.delete(f"{ROOMS}/{world.name}/pods/user")
    assert world.wait_where("p") == "n1"


@scenario
def zones_of_a_volume(world: World) -> None:
    for name in ("a", "b", "c"):
        world.node(name, name)
    world.volume("v", claim="claim", labels={ZONE: "a__b"})
    world.claim("claim", bound_to="v")
    for name in ("a", "b", "c"):
        world.pod(f"pod-{name}", "claim", on=name)
    world.wait_message("pod-c", f"1 {WRONG_ZONE}")
    assert [world.wait_where(f"pod-{name}") for name in ("a", "b")] == ["a", "b"]


@scenario
def node_without_zones(world: World) -> None:
    world.node("n1")
    world.volume("v", claim="c", labels={ZONE: "a"})
    world.claim("c", bound_to="v")
    world.pod("p", "c")
    assert world.wait_where("p") == "n1"


@scenario
def volume_limit(world: World) -> None:
    world.node("n1", "a")
    world.csi_node("n1", count=2)
    for name in ("one", "two", "three"):
        world.volume(name, claim=name)
        world.claim(name, bound_to=name)
    world.running("first", "n1", "one")
    world.running("second", "n1", "two")
    world.pod("sharing", "two")
    assert world.wait_where("sharing") == "n1"
    world.pod("p", "three")
    world.wait_message("p", f"1 {TOO_MANY}")
    world.allow("n1", 3)
    assert world.wait_where("p") == "n1"


@scenario
def volume_that_is_still_attached(world: World) -> None:
    world.node("n1", "a")
    world.csi_node("n1", count=2)
    for name in ("one", "leaving", "new"):
        world.volume(name, claim=name)
        world.claim(name, bound_to=name)
    world.running("first", "n1", "one")
    attachment: Document = {
        "metadata": {"name": world.full("leaving")},
        "spec": {
            "attacher": f"{world.name}.example",
            "nodeName": world.full("n1"),
            "source": {"persistentVolumeName": world.full("leaving")},
        },
    }
    world.api.request("POST", f"{STORAGE}/volumeattachments", attachment)
    world.pod("p", "new")
    world.wait_message("p", f"1 {TOO_MANY}")
    world.api.delete(f"{STORAGE}/volumeattachments/{world.full('leaving')}")
    assert world.wait_where("p") == "n1"


@scenario
def migrated_disk(world: World) -> None:
    driver, key = "ebs.csi.aws.com", "topology.ebs.csi.aws.com/zone"
    world.node("old", "a")
    world.node("migrated", "a")
    world.node("migrated-there", "a", labels={key: "a"})
    world.csi_node("migrated", migrated="kubernetes.io/aws-ebs", driver=driver)
    world.csi_node("migrated-there", migrated="kubernetes.io/aws-ebs", driver=driver)
    world.volume(
        "v",
        claim="c",
        labels={ZONE: "a"},
        source={"awsElasticBlockStore": {"volumeID": "vol-1"}},
        nodeAffinity=affinity(ZONE, "a"),
    )
    world.claim("c", bound_to="v")
    for name in ("old", "migrated", "migrated-there"):
        world.pod(f"pod-{name}", "c", on=name)
    world.wait_message("pod-migrated", f"1 {AFFINITY}")
    assert world.wait_where("pod-old") == "old"
    assert world.wait_where("pod-migrated-there") == "migrated-there"


@scenario
def local_volumes(world: World) -> None:
    world.two_nodes()
    world.storage_class("local", **STATIC)
    for name in ("n1", "n2"):
        world.volume(
            f"on-{name}",
            "local",
            source={"local": {"path": "/disk"}},
            nodeAffinity=affinity(HOST, world.full(name)),
        )
    for number in ("1", "2", "3"):
        world.claim(f"claim-{number}", "local")
    for number in ("1", "2"):
        world.pod(f"pod-{number}", f"claim-{number}")
    owners = {name: world.wait_owned(f"on-{name}") for name in ("n1", "n2")}
    assert set(owners.values()) == {"claim-1", "claim-2"}
    for name, claim in owners.items():
        world.hand_over(claim, f"on-{name}")
    for name, claim in owners.items():
        assert world.wait_where(claim.replace("claim", "pod")) == name
    world.pod("pod-3", "claim-3")
    world.wait_message("pod-3", f"2 {NO_VOLUME}")
