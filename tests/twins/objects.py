"""What a cluster is made of, drawn by chance as documents: few names and values, so that things meet."""

from __future__ import annotations

from random import Random
from typing import Any

Document = dict[str, Any]

ZONE, REGION, HOST = "topology.kubernetes.io/zone", "topology.kubernetes.io/region", "kubernetes.io/hostname"
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
COMPLETED = "pv.kubernetes.io/bind-completed"
DRIVER, NO_PROVISIONER = "csi.example.com", "kubernetes.io/no-provisioner"

NAMESPACES = ("default", "other")
APPS = ("a", "b", "c")
TAINTS = (
    {"key": "dedicated", "value": "x", "effect": "NoSchedule"},
    {"key": "dedicated", "value": "y", "effect": "NoSchedule"},
    {"key": "bad", "value": "", "effect": "NoExecute"},
    {"key": "soft", "value": "x", "effect": "PreferNoSchedule"},
    {"key": "softer", "value": "", "effect": "PreferNoSchedule"},
)
IMAGES = {f"registry.example/app{number}:v1": 150_000_000 * (number + 1) for number in range(4)}
"""An image has one size: which of several counts depends on who reported it first."""
NUMBER = "number"
"""A label that tells pods of one template apart; hardly any selector asks for it."""
EXTREME = 0.004
"""Amounts that do not fit 64 bits when they are reckoned with: from the first on, shortcuts are not taken."""
PRIORITIES = (None, 0, 0, 10, 1000)


def named(kind: str, name: str, body: Document, namespace: str = "", **metadata: Any) -> Document:
    meta = {"name": name, "uid": f"{kind}-{namespace}-{name}", **metadata}
    if namespace:
        meta["namespace"] = namespace
    return {"kind": kind, "metadata": meta, **body}


def some(chance: Random, items: Any, share: float) -> list[Any]:
    return [item for item in items if chance.random() < share]


# Nodes


def node(chance: Random, name: str, *, is_small: bool = False) -> Document:
    labels = {HOST: name}
    if chance.random() < 0.9:
        labels[ZONE] = chance.choice(("z1", "z2", "z3"))
    if chance.random() < 0.5:
        labels["disk"] = chance.choice(("ssd", "hdd"))
    if chance.random() < 0.3:
        labels["size"] = chance.choice(("1", "5", "many"))
    return named(
        "Node",
        name,
        {
            "spec": {"unschedulable": chance.random() < 0.08, "taints": taints(chance)},
            "status": {**amounts(chance, is_small=is_small), "images": images(chance)},
        },
        labels=labels,
    )


def taints(chance: Random) -> list[Document]:
    return some(chance, TAINTS, 0.5) if chance.random() < 0.2 else []


def amounts(chance: Random, *, is_small: bool = False) -> Document:
    offered: Document = {
        "cpu": chance.choice(("1", "2") if is_small else ("2", "4", "7900m", "16")),
        "memory": chance.choice(("2Gi", "4Gi") if is_small else ("4Gi", "16Gi", "64Gi")),
        "pods": chance.choice((3, 5, 110, 110)),
    }
    if chance.random() < 0.3:
        offered["example.com/gpu"] = chance.choice((0, 1, 4))
    if chance.random() < 0.2:
        offered["ephemeral-storage"] = "10Gi"
    if chance.random() < 0.02:
        offered["cpu"] = "nonsense"
    if chance.random() < EXTREME:
        offered["memory"] = chance.choice((str(2**60), "9000000000000000000"))
    return {"allocatable": offered, "capacity": offered}


def images(chance: Random) -> list[Document]:
    held = some(chance, IMAGES, 0.4)
    return [{"names": [image, f"{image}-too"], "sizeBytes": IMAGES[image]} for image in held]


# Pods


def selector(chance: Random) -> Document:
    kind = chance.random()
    if kind < 0.7:
        return {"matchLabels": {"app": chance.choice(APPS)}}
    if kind < 0.8:
        return {}
    operator = chance.choice(("In", "NotIn", "Exists", "DoesNotExist"))
    values = {"values": some(chance, "0123", 0.6) or ["0"]} if operator in ("In", "NotIn") else {}
    key = chance.choice(("version", "version", "version", NUMBER))
    return {"matchExpressions": [{"key": key, "operator": operator, **values}]}


def term(chance: Random) -> Document:
    made: Document = {"topologyKey": chance.choice((ZONE, ZONE, HOST, "disk"))}
    if chance.random() < 0.95:
        made["labelSelector"] = selector(chance)
    if chance.random() < 0.2:
        made["namespaces"] = some(chance, NAMESPACES, 0.7)
    if chance.random() < 0.2:
        made["namespaceSelector"] = chance.choice(({}, {"matchLabels": {"team": "x"}}))
    if chance.random() < 0.15:
        made["matchLabelKeys"] = ["version"]
    return made


def affinity(chance: Random) -> Document:
    made: Document = {}
    for kind in ("podAffinity", "podAntiAffinity"):
        if chance.random() < 0.5:
            made[kind] = {}
            if chance.random() < 0.6:
                made[kind][REQUIRED] = [term(chance) for _ in range(chance.choice((1, 1, 2)))]
            if chance.random() < 0.5:
                made[kind][PREFERRED] = [
                    {"weight": chance.choice((1, 50, 100)), "podAffinityTerm": term(chance)}
                    for _ in range(chance.choice((1, 2)))
                ]
    return made


def node_term(chance: Random) -> Document:
    expressions = (
        {"key": "disk", "operator": "In", "values": ["ssd"]},
        {"key": "disk", "operator": "NotIn", "values": ["ssd"]},
        {"key": ZONE, "operator": "In", "values": ["z1", "z2"]},
        {"key": "size", "operator": "Gt", "values": ["2"]},
        {"key": "size", "operator": "DoesNotExist"},
    )
    made: Document = {"matchExpressions": some(chance, expressions, 0.3)}
    if chance.random() < 0.15:
        named = {"key": "metadata.name", "operator": "In", "values": [f"n{chance.randrange(6)}"]}
        made["matchFields"] = [named]
    return made


def node_affinity(chance: Random) -> Document:
    made: Document = {}
    if chance.random() < 0.6:
        made[REQUIRED] = {"nodeSelectorTerms": [node_term(chance) for _ in range(chance.choice((1, 1, 2)))]}
    if chance.random() < 0.6:
        made[PREFERRED] = [
            {"weight": chance.choice((1, 40, 100)), "preference": node_term(chance)}
            for _ in range(chance.choice((1, 2)))
        ]
    return made


def spread(chance: Random, app: str) -> Document:
    made: Document = {
        "maxSkew": chance.choice((1, 1, 2)),
        "topologyKey": chance.choice((ZONE, ZONE, HOST, "disk")),
        "whenUnsatisfiable": chance.choice(("DoNotSchedule", "ScheduleAnyway")),
        "labelSelector": {"matchLabels": {"app": app}} if chance.random() < 0.8 else selector(chance),
    }
    if made["whenUnsatisfiable"] == "DoNotSchedule" and chance.random() < 0.3:
        made["minDomains"] = chance.choice((1, 3, 4))
    if chance.random() < 0.3:
        made["matchLabelKeys"] = ["version"]
    if chance.random() < 0.3:
        made["nodeAffinityPolicy"] = chance.choice(("Honor", "Ignore"))
    if chance.random() < 0.3:
        made["nodeTaintsPolicy"] = chance.choice(("Honor", "Ignore"))
    return made


def container(chance: Random, name: str = "main") -> Document:
    requests: Document = {}
    if chance.random() < 0.85:
        requests["cpu"] = chance.choice(("100m", "300m", "900m", "2"))
    if chance.random() < 0.7:
        requests["memory"] = chance.choice(("100Mi", "700Mi", "3Gi"))
    if chance.random() < 0.1:
        requests["example.com/gpu"] = chance.choice((1, 2))
    if chance.random() < 0.05:
        requests["ephemeral-storage"] = "4Gi"
    if chance.random() < 0.01:
        requests["memory"] = "much"
    if chance.random() < EXTREME:
        requests["memory"] = chance.choice((str(2**60), "8000000000000000000", "-1"))
    made: Document = {"name": name, "image": chance.choice(list(IMAGES)), "resources": {"requests": requests}}
    if chance.random() < 0.08:
        port = {"containerPort": 80, "hostPort": chance.choice((80, 81)), "protocol": "TCP"}
        made["ports"] = [port, *([{"hostPort": 80, "hostIP": "10.0.0.1"}] if chance.random() < 0.2 else [])]
    return made


def template(chance: Random, schedulers: tuple[str, ...]) -> Document:
    """What the pods of one controller have in common: most want little, some a lot."""
    app = chance.choice(APPS)
    spec: Document = {"schedulerName": chance.choice(schedulers), "containers": [container(chance)]}
    for wish in chance.sample(WISHES, chance.choice((0, 0, 1, 1, 1, 2, 2, 4))):
        for field, value in wish(chance, app).items():
            spec[field] = {**spec.get(field, {}), **value} if field == "affinity" else value
    priority = chance.choice(PRIORITIES)
    if priority is not None:
        spec["priority"] = priority
    labels = {"app": app} if chance.random() < 0.9 else {}
    if chance.random() < 0.5:
        labels["version"] = chance.choice("012")
    metadata: Document = {"namespace": chance.choice(("default", "default", "other")), "labels": labels}
    if chance.random() < 0.4:
        owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": f"rs-{app}", "uid": f"rs-{app}"}
        metadata["ownerReferences"] = [{**owner, "controller": True}]
    return {"kind": "Pod", "metadata": metadata, "spec": spec, "status": {}}


def _plain(scheduler: str, cpu: str, priority: int) -> Document:
    """Pods of which nothing counts but the room that they take."""
    main = {"name": "main", "image": next(iter(IMAGES)), "resources": {"requests": {"cpu": cpu}}}
    spec = {"schedulerName": scheduler, "containers": [main], "priority": priority}
    metadata: Document = {"namespace": "default", "labels": {"app": "a"}}
    return {"kind": "Pod", "metadata": metadata, "spec": spec, "status": {}}


def crowd(scheduler: str) -> list[Document]:
    """Templates whose pods push each other off."""
    return [_plain(scheduler, "300m", 0), _plain(scheduler, "400m", 10), _plain(scheduler, "900m", 1000)]


def _beside(chance: Random, app: str) -> Document:
    return {"containers": [container(chance), container(chance, "beside")]}


def _first(chance: Random, app: str) -> Document:
    first = container(chance, "first")
    first.pop("ports", None)
    return {"initContainers": [{**first, **chance.choice(({}, {"restartPolicy": "Always"}))}]}


def _overhead(chance: Random, app: str) -> Document:
    return {"overhead": {"cpu": "50m", "memory": "64Mi"}}


def _selects(chance: Random, app: str) -> Document:
    return {"nodeSelector": {"disk": "ssd"}}


def _likes_nodes(chance: Random, app: str) -> Document:
    return {"affinity": {"nodeAffinity": node_affinity(chance)}}


def _likes_pods(chance: Random, app: str) -> Document:
    return {"affinity": affinity(chance)}


def _spreads(chance: Random, app: str) -> Document:
    return {"topologySpreadConstraints": [spread(chance, app) for _ in range(chance.choice((1, 1, 2)))]}


def _tolerates(chance: Random, app: str) -> Document:
    tolerations = (
        {"key": "dedicated", "operator": "Exists"},
        {"key": "dedicated", "operator": "Equal", "value": "x", "effect": "NoSchedule"},
        {"key": "soft", "operator": "Exists", "effect": "PreferNoSchedule"},
        {"operator": "Exists"},
    )
    return {"tolerations": some(chance, tolerations, 0.4)}


def _never_preempts(chance: Random, app: str) -> Document:
    return {"preemptionPolicy": "Never"}


def _gated(chance: Random, app: str) -> Document:
    return {"schedulingGates": [{"name": "example.com/gate"}]}


def _volumes(chance: Random, app: str) -> Document:
    return {"volumes": [volume(chance)]}


WISHES = (
    *(_likes_pods, _spreads) * 3,
    *(_likes_nodes, _tolerates, _volumes) * 2,
    *(_selects, _first, _beside, _overhead, _never_preempts, _gated),
)
"""What makes a pod special, as often as it should."""


def volume(chance: Random) -> Document:
    kind = chance.random()
    if kind < 0.25:
        return {"name": "v", "configMap": {"name": "c"}}
    if kind < 0.4:
        return {"name": "v", "gcePersistentDisk": {"pdName": "g", "readOnly": chance.random() < 0.3}}
    return {"name": "v", "persistentVolumeClaim": {"claimName": f"c{chance.randrange(4)}"}}


# Everything else


def namespace(chance: Random, name: str) -> Document:
    return named("Namespace", name, {}, labels=chance.choice(({}, {"team": "x"}, {"team": "y"})))


def other(chance: Random) -> Document:
    """Some object that is neither a node nor a pod; it may replace one of the same name."""
    kind, where = chance.randrange(11), chance.choice(NAMESPACES)
    app = chance.choice(APPS)
    if kind == 0:
        return namespace(chance, where)
    if kind == 1:
        return named("Service", app, {"spec": {"selector": {"app": app}}}, where)
    if kind == 2:
        chosen = {"matchLabels": {"app": app}}
        return named("ReplicaSet", f"rs-{app}", {"spec": {"selector": chosen}}, where)
    if kind == 3:
        allowed = {"disruptionsAllowed": chance.choice((0, 0, 1))}
        body = {"spec": {"selector": {"matchLabels": {"app": app}}}, "status": allowed}
        return named("PodDisruptionBudget", app, body, where)
    if kind in (4, 5):
        return claim(chance, f"c{chance.randrange(4)}", where)
    if kind in (6, 7):
        return persistent_volume(chance, f"pv{chance.randrange(5)}")
    if kind == 8:
        drivers = [{"name": DRIVER, "nodeID": "x", "allocatable": {"count": chance.choice((0, 1, 2))}}]
        return named("CSINode", f"n{chance.randrange(8)}", {"spec": {"drivers": drivers}})
    if kind == 9:
        spec = {
            "attacher": DRIVER,
            "nodeName": f"n{chance.randrange(8)}",
            "source": {"persistentVolumeName": f"pv{chance.randrange(5)}"},
        }
        return named("VolumeAttachment", f"va{chance.randrange(3)}", {"spec": spec})
    return storage_class(chance, chance.choice(("local", "made", "now")))


def storage_class(chance: Random, name: str) -> Document:
    mode = "Immediate" if name == "now" else "WaitForFirstConsumer"
    provisioner = NO_PROVISIONER if name == "local" else DRIVER
    body: Document = {"provisioner": provisioner, "volumeBindingMode": mode}
    if chance.random() < 0.3:
        zones = {"key": ZONE, "values": ["z1", chance.choice(("z2", "z3"))]}
        body["allowedTopologies"] = [{"matchLabelExpressions": [zones]}]
    return named("StorageClass", name, body)


def claim(chance: Random, name: str, where: str) -> Document:
    bound = chance.random() < 0.4
    spec = {
        "accessModes": ["ReadWriteOncePod" if chance.random() < 0.2 else "ReadWriteOnce"],
        "resources": {"requests": {"storage": chance.choice(("1Gi", "5Gi"))}},
        "storageClassName": chance.choice(("local", "local", "made", "now")),
        **({"volumeName": f"pv{chance.randrange(5)}"} if bound else {}),
    }
    marks = {COMPLETED: "yes"} if bound else {}
    status = {"phase": "Bound" if bound else "Pending"}
    return named("PersistentVolumeClaim", name, {"spec": spec, "status": status}, where, annotations=marks)


def persistent_volume(chance: Random, name: str) -> Document:
    spec: Document = {
        "capacity": {"storage": chance.choice(("2Gi", "10Gi"))},
        "accessModes": ["ReadWriteOnce", "ReadWriteOncePod"],
        "storageClassName": chance.choice(("local", "local", "made")),
        "csi": {"driver": DRIVER, "volumeHandle": name},
    }
    labels = {}
    reach = chance.random()
    if reach < 0.4:
        line = {"key": ZONE, "operator": "In", "values": [chance.choice(("z1", "z2"))]}
        spec["nodeAffinity"] = {"required": {"nodeSelectorTerms": [{"matchExpressions": [line]}]}}
    elif reach < 0.6:
        labels[ZONE] = chance.choice(("z1", "z2"))
    body = {"spec": spec, "status": {"phase": "Available"}}
    return named("PersistentVolume", name, body, labels=labels)
