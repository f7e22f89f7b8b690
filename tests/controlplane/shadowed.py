"""A cluster under kube-scheduler with pods of all kinds that come, go and push each other off."""

from __future__ import annotations

import contextlib
import random
import threading
from collections.abc import Iterator

from moorage.client.errors import NotFound
from tests.controlplane.schedulers import Api, Document, condition, node, pod
from tests.controlplane.servers import wait_for
from tests.controlplane.stages import PRIORITIES
from tests.controlplane.test_same_outcome import DEDICATED, HOST_NAME, ZONE, preferred, required
from tests.controlplane.volume_controller import claim, mount, storage_class, volume

STEP_SECONDS = 0.2
LOCAL, MADE = "local", "made"
DEVICE, DRIVER = "card", "card.example.com"
WAVE = 50


def priority_classes() -> list[Document]:
    return [
        {
            "apiVersion": "scheduling.k8s.io/v1",
            "kind": "PriorityClass",
            "metadata": {"name": name},
            "value": value,
        }
        for name, value in PRIORITIES.items()
        if name != "polite"
    ]


def storage(nodes: int) -> list[Document]:
    """Volumes that can be used on one node each, and a class of which volumes are made."""
    local = [volume(f"local-{number}", LOCAL, node=f"node-{number:03}") for number in range(0, nodes, 2)]
    return [storage_class(LOCAL), storage_class(MADE, "example.com/disks"), *local]


def devices(nodes: int) -> list[Document]:
    """A class of devices, and some on every fourth node: nobody frees those of pods that are gone."""
    made: list[Document] = [
        {
            "apiVersion": "resource.k8s.io/v1",
            "kind": "DeviceClass",
            "metadata": {"name": DEVICE},
            "spec": {"selectors": [{"cel": {"expression": f"device.driver == '{DRIVER}'"}}]},
        }
    ]
    for number in range(1, nodes, 4):
        name = f"node-{number:03}"
        spec = {
            "driver": DRIVER,
            "nodeName": name,
            "pool": {"name": name, "generation": 1, "resourceSliceCount": 1},
            "devices": [{"name": f"card-{card}"} for card in range(24)],
        }
        made.append(
            {
                "apiVersion": "resource.k8s.io/v1",
                "kind": "ResourceSlice",
                "metadata": {"name": f"{name}-cards"},
                "spec": spec,
            }
        )
    return made


def device_claim(name: str) -> Document:
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"devices": {"requests": [{"name": "card", "exactly": {"deviceClassName": DEVICE}}]}},
    }


def nodes(count: int) -> list[Document]:
    found = []
    for number in range(count):
        labels = {ZONE: "abc"[number % 3], "disk": "ssd" if number % 4 else "hdd"}
        taints = []
        if number % 12 == 5:
            labels["dedicated"] = "yes"
            taints.append({"key": "dedicated", "value": "yes", "effect": "NoSchedule"})
        if number % 10 == 3:
            taints.append({"key": "soft", "value": "yes", "effect": "PreferNoSchedule"})
        more = {"example.com/gpu": "4"} if number % 8 == 0 else {}
        name = f"node-{number:03}"
        cpu = str(random.Random(number).choice((8, 16, 24)))
        found.append(node(name, cpu=cpu, labels=labels, spec={"taints": taints}, more=more))
    return found


def spread(app: str, key: str, when: str) -> list[Document]:
    selector = {"matchLabels": {"app": app}}
    return [{"maxSkew": 1, "topologyKey": key, "whenUnsatisfiable": when, "labelSelector": selector}]


def form(chance: random.Random, number: int) -> tuple[Document, list[Document]]:
    """What a pod asks for, and the claims that it needs."""
    group = f"g{number % 7}"
    made: Document = {"labels": {"app": group}}
    claims: list[Document] = []
    kind = chance.choice(
        (
            *("plain",) * 4,
            *("preferred", "away", "alone", "near", "choosy", "likes", "dedicated", "gpu", "port"),
            *("spread", "hard spread", "local", "made", "devices", "high", "high", "low"),
        )
    )
    if kind == "preferred":
        made["affinity"] = preferred(group, ZONE)
    elif kind == "away":
        term = {"labelSelector": {"matchLabels": {"app": group}}, "topologyKey": HOST_NAME}
        rule = [{"weight": 30, "podAffinityTerm": term}]
        made["affinity"] = {"podAntiAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": rule}}
    elif kind == "alone":
        made["labels"] = {"app": f"alone-{number % 9}"}
        made["affinity"] = required("podAntiAffinity", f"alone-{number % 9}", HOST_NAME)
    elif kind == "near":
        made["affinity"] = required("podAffinity", group, ZONE)
    elif kind == "choosy":
        made["nodeSelector"] = {"disk": "hdd"}
    elif kind == "likes":
        match = {"matchExpressions": [{"key": "disk", "operator": "In", "values": ["ssd"]}]}
        rule = [{"weight": 10, "preference": match}]
        made["affinity"] = {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": rule}}
    elif kind == "dedicated":
        made |= {"nodeSelector": {"dedicated": "yes"}, "tolerations": DEDICATED}
    elif kind == "gpu":
        made["requests"] = {"cpu": "100m", "example.com/gpu": "1"}
    elif kind == "port":
        made["ports"] = [8000 + number % 11]
    elif kind == "spread":
        made["topologySpreadConstraints"] = spread(group, HOST_NAME, "ScheduleAnyway")
    elif kind == "hard spread":
        made["labels"] = {"app": f"spread-{number % 5}"}
        made["topologySpreadConstraints"] = spread(f"spread-{number % 5}", ZONE, "DoNotSchedule")
    elif kind in (LOCAL, MADE):
        claims.append(claim(f"claim-{number}", kind))
        made["volumes"] = mount(f"claim-{number}")
    elif kind == "devices":
        name = f"card-{number}-{chance.randrange(10**6)}"
        claims.append(device_claim(name))
        made["resourceClaims"] = [{"name": "card", "resourceClaimName": name}]
    elif kind in ("high", "low"):
        made["priorityClassName"] = kind
    if kind == "high":
        made["requests"] = {"cpu": "2"}
    if kind != "gpu" and "requests" not in made:
        cpu, memory = chance.choice(("100m", "300m", "700m", "1")), chance.choice(("64Mi", "200Mi", "1Gi"))
        made["requests"] = {"cpu": cpu, "memory": memory}
    return made, claims


def are_decided(api: Api) -> bool:
    """Whether each pod has a node, or was told why it has none; and those that had to go are gone."""
    pods = api.items("pods")
    waiting = [each for each in pods if not each["spec"].get("nodeName")]
    going = [each for each in pods if each["metadata"].get("deletionTimestamp")]
    return not going and all(
        condition(each) and not each["status"].get("nominatedNodeName") for each in waiting
    )


def play(api: Api, count: int, seed: int) -> None:
    """Pods come in waves; some of them go again, and nodes are closed and opened."""
    chance = random.Random(seed)
    for begin in range(0, count, WAVE):
        made, claims = [], list[Document]()
        for number in range(begin, min(begin + WAVE, count)):
            asked, needed = form(chance, number)
            claims += needed
            grace = chance.choice((0, 30))
            made.append(
                pod(
                    f"pod-{number:05}",
                    scheduler="default-scheduler",
                    terminationGracePeriodSeconds=grace,
                    **asked,
                )
            )
        api.create(claims)
        api.create(made)
        wait_for("the decisions of a wave", lambda: are_decided(api), seconds=120)
        if begin and begin % (3 * WAVE) == 0:
            gone = [f"pod-{chance.randrange(begin):05}" for _ in range(5)]
            for name in gone:
                with contextlib.suppress(NotFound):
                    api.delete(f"/api/v1/namespaces/default/pods/{name}")


@contextlib.contextmanager
def kubelets(api: Api) -> Iterator[None]:
    """Pods that were told to go are gone a moment later, for the length of a `with` block."""
    ended = threading.Event()

    def work() -> None:
        while not ended.wait(STEP_SECONDS):
            for each in api.items("pods"):
                if each["metadata"].get("deletionTimestamp"):
                    with contextlib.suppress(NotFound):
                        api.delete(f"/api/v1/namespaces/default/pods/{each['metadata']['name']}")

    thread = threading.Thread(target=work)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
