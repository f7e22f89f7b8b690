"""What a scheduler owes pods with devices, as a table: what there is, which pods come, what must follow.

HERE stands for the name of the stage; a device is named by its driver, its pool and its own name.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import NamedTuple

from tests.controlplane.devices.device_documents import (
    all_of,
    attributes,
    cel,
    claim,
    device_class,
    devices,
    everywhere,
    exactly,
    first_of,
    resource_slice,
    result,
)
from tests.controlplane.devices.device_stages import DeviceStage
from tests.controlplane.schedulers import Document

D = "gpu.HERE/n1.HERE"
"""The pool of node n1, where there is no other."""
CANNOT = "cannot allocate all claims"
READY: Document = {"bindingConditions": ["Ready"], "bindingFailureConditions": ["Broken"]}


class Turn(NamedTuple):
    """A pod comes. It goes `to` a node, or `says` why it waits; then its claims have these devices."""

    claims: Sequence[str] = ("c",)
    to: str = ""
    says: str = ""
    gets: Mapping[str, Sequence[str]] = {}
    pod: str = "p"
    form: Document = {}


class Scenario(NamedTuple):
    slices: Sequence[Document]
    turns: Sequence[Turn]
    claims: Sequence[Document] = (claim("c"),)
    classes: Sequence[Document] = ()
    held: Mapping[str, Sequence[Document]] = {}
    """What claims have from the start: devices, and configuration for them."""
    where: Mapping[str, str] = {}
    """The nodes that these claims are held to."""
    nodes: Sequence[str] = ("n1",)
    plugins: Mapping[str, Document] = {}
    """What device plugins have on nodes."""


def gets(*found: str, to: str = "n1") -> list[Turn]:
    """The pod goes to a node, and its claim gets these devices."""
    return [Turn(to=to, gets={"c": found})]


def says(text: str) -> list[Turn]:
    return [Turn(says=text)]


TWO = ("n1", "n2")
MODEL = 'device.attributes["gpu.HERE"].model == "x"'
BOTH_CLAIMS = [claim("held"), claim("c")]
TAINT = {"key": "broken", "value": "yes"}
TOLERATED: Document = {"tolerations": [{"key": "broken", "operator": "Exists"}]}
SHARED: Document = {"allowMultipleAllocations": True, "capacity": {"memory": {"value": "10Gi"}}}
SHARE: Document = {"shareID": "6a1f6cbe-6a5a-4e2c-a7c0-7e7d2c5a0f10", "consumedCapacity": {"memory": "8Gi"}}

ODD = {"second": "<é> & more", "first": [1.50, {}]}
"""Parameters whose bytes are not those that JSON shows of them: they are written with blanks."""


def memory(amount: str) -> Document:
    return exactly(capacity={"requests": {"memory": amount}})


def partition(name: str, amount: int, **fields: object) -> Document:
    counters = {"memory": {"value": str(amount)}}
    return {"name": name, "consumesCounters": [{"counterSet": "card", "counters": counters}], **fields}


def counted(amount: int, *slices: Sequence[Document]) -> list[Document]:
    """A pool whose partitions share a counter; the first slice is on n1, the second on n2."""
    sets = [{"name": "card", "counters": {"memory": {"value": str(amount)}}}]
    of = len(slices) + 1
    return [
        resource_slice(
            name="counters", pool="card.HERE", of=of, nodeSelector=everywhere(), sharedCounters=sets
        ),
        *(
            resource_slice(each, name=f"part-{place}", pool="card.HERE", of=of, on=f"n{place}")
            for place, each in enumerate(slices, 1)
        ),
    ]


SCENARIOS: dict[str, Scenario] = {
    # What nodes have
    "one-device": Scenario([resource_slice(devices("d1"))], gets(f"{D}/d1")),
    "no-device": Scenario([], says(CANNOT), nodes=TWO),
    "device-on-the-other-node": Scenario(
        [resource_slice(devices("d1"), on="n2")], gets("gpu.HERE/n2.HERE/d1", to="n2"), nodes=TWO
    ),
    "device-of-several-nodes": Scenario(
        [resource_slice(devices("d1"), pool="net.HERE", nodeSelector=everywhere())],
        gets("gpu.HERE/net.HERE/d1"),
    ),
    "broken-selector-meets-a-device-of-another-node": Scenario(
        [
            resource_slice(devices("d1", **attributes(model="x"))),
            resource_slice(devices("d2", **attributes(serial="1")), on="n2"),
        ],
        [Turn(says="CEL runtime error: no such key: model")],
        claims=[claim("c", exactly(deviceClassName="picky.HERE"))],
        classes=[device_class("picky.HERE", MODEL)],
        nodes=TWO,
    ),
    "class-that-is-missing": Scenario(
        [resource_slice(devices("d1"))],
        says("request r: device class nobodys.HERE does not exist"),
        claims=[claim("c", exactly(deviceClassName="nobodys.HERE"))],
    ),
    # Pools
    "pools-in-order-of-driver-and-name": Scenario(
        [
            resource_slice(devices("d"), driver="b.HERE", pool="x"),
            resource_slice(devices("d"), driver="a.HERE", pool="y"),
            resource_slice(devices("d"), driver="a.HERE", pool="x"),
        ],
        gets("a.HERE/x/d"),
    ),
    "devices-that-take-time-come-last": Scenario(
        [
            resource_slice(devices("d", **READY), driver="a.HERE"),
            resource_slice(devices("d"), driver="b.HERE"),
        ],
        gets("b.HERE/n1.HERE/d"),
    ),
    "half-published-pool": Scenario(
        [
            resource_slice(devices("d"), driver="a.HERE", of=2),
            resource_slice(devices("d"), driver="b.HERE"),
        ],
        gets("b.HERE/n1.HERE/d"),
    ),
    "half-published-pool-and-all-devices": Scenario(
        [
            resource_slice(devices("d"), driver="a.HERE", of=2),
            resource_slice(devices("d"), driver="b.HERE"),
        ],
        says("resource pool a.HERE/n1.HERE is currently being updated"),
        claims=[claim("c", all_of())],
    ),
    "pool-with-a-name-twice": Scenario(
        [
            resource_slice(devices("d"), name="one", of=2),
            resource_slice(devices("d"), name="two", of=2),
        ],
        says("invalid resource pools were encountered"),
    ),
    "newest-generation-of-a-pool": Scenario(
        [
            resource_slice(devices("old"), name="a"),
            resource_slice(devices("new"), name="b", generation=2),
        ],
        gets(f"{D}/new"),
    ),
    "all-devices": Scenario(
        [resource_slice(devices("d1", "d2", "d3"))],
        gets(f"{D}/d1", f"{D}/d2", f"{D}/d3"),
        claims=[claim("c", all_of())],
    ),
    # Choosing
    "second-choice-for-the-sake-of-another-request": Scenario(
        [resource_slice([*devices("a", **attributes(kind="a")), *devices("b", **attributes(kind="b"))])],
        gets(f"{D}/b", f"{D}/a"),
        claims=[
            claim(
                "c",
                first_of(
                    "either",
                    {"name": "a", "selectors": cel('device.attributes["gpu.HERE"].kind == "a"')},
                    {"name": "b", "selectors": cel('device.attributes["gpu.HERE"].kind == "b"')},
                ),
                exactly("only-a", selectors=cel('device.attributes["gpu.HERE"].kind == "a"')),
            )
        ],
    ),
    "node-of-the-first-choice": Scenario(
        [
            resource_slice(devices("b", **attributes(kind="b"))),
            resource_slice(devices("a", **attributes(kind="a")), on="n2"),
        ],
        gets("gpu.HERE/n2.HERE/a", to="n2"),
        claims=[
            claim(
                "c",
                first_of(
                    "r",
                    {"name": "a", "selectors": cel('device.attributes["gpu.HERE"].kind == "a"')},
                    {"name": "b", "selectors": cel('device.attributes["gpu.HERE"].kind == "b"')},
                ),
            )
        ],
        nodes=TWO,
    ),
    "same-attribute": Scenario(
        [
            resource_slice(
                [
                    *devices("d1", **attributes(numa=0)),
                    *devices("d2", **attributes(numa=1)),
                    *devices("d3", **attributes(numa=1)),
                ]
            )
        ],
        gets(f"{D}/d2", f"{D}/d3"),
        claims=[claim("c", exactly(count=2), constraints=[{"matchAttribute": "gpu.HERE/numa"}])],
    ),
    "another-attribute": Scenario(
        [
            resource_slice(
                [
                    *devices("d1", **attributes(numa=0)),
                    *devices("d2", **attributes(numa=0)),
                    *devices("d3", **attributes(numa=1)),
                ]
            )
        ],
        gets(f"{D}/d1", f"{D}/d3"),
        claims=[claim("c", exactly(count=2), constraints=[{"distinctAttribute": "gpu.HERE/numa"}])],
    ),
    "configuration-of-class-and-claim": Scenario(
        [resource_slice(devices("d1", "d2"))],
        gets(f"{D}/d1", f"{D}/d2"),
        claims=[
            claim(
                "c",
                exactly("one", deviceClassName="set.HERE"),
                exactly("two", deviceClassName="set.HERE"),
                config=[
                    {"opaque": {"driver": "gpu.HERE", "parameters": {"mode": "all"}}},
                    {"requests": ["two"], "opaque": {"driver": "gpu.HERE", "parameters": ODD}},
                ],
            )
        ],
        classes=[
            device_class(
                "set.HERE", config=[{"opaque": {"driver": "gpu.HERE", "parameters": {"from": "class"}}}]
            )
        ],
    ),
    # Devices that somebody has
    "device-of-another": Scenario(
        [resource_slice(devices("d1"))],
        says(CANNOT),
        claims=BOTH_CLAIMS,
        held={"held": [result(f"{D}/d1")]},
    ),
    "one-device-for-two-pods": Scenario(
        [resource_slice(devices("d1"))],
        [
            Turn(["a"], pod="first", to="n1", gets={"a": [f"{D}/d1"]}),
            Turn(["b"], pod="second", says=CANNOT),
        ],
        claims=[claim("a"), claim("b")],
    ),
    "administrator": Scenario(
        [resource_slice(devices("d1"))],
        gets(f"{D}/d1"),
        claims=[claim("held"), claim("c", exactly(adminAccess=True))],
        held={"held": [result(f"{D}/d1")]},
    ),
    "administrators-leave-devices-to-others": Scenario(
        [resource_slice(devices("d1"))],
        [
            Turn(["admin"], pod="watcher", to="n1", gets={"admin": [f"{D}/d1"]}),
            Turn(["c"], to="n1", gets={"c": [f"{D}/d1"]}),
        ],
        claims=[claim("admin", exactly(adminAccess=True)), claim("c")],
    ),
    "tainted-device": Scenario(
        [resource_slice([*devices("d1", taints=[{**TAINT, "effect": "NoSchedule"}]), *devices("d2")])],
        gets(f"{D}/d2"),
    ),
    "tolerated-device": Scenario(
        [resource_slice([*devices("d1", taints=[{**TAINT, "effect": "NoExecute"}]), *devices("d2")])],
        gets(f"{D}/d1"),
        claims=[claim("c", exactly(**TOLERATED))],
    ),
    "taint-without-effect": Scenario(
        [resource_slice([*devices("d1", taints=[{**TAINT, "effect": "None"}]), *devices("d2")])],
        gets(f"{D}/d1"),
    ),
    "share-that-is-too-large": Scenario(
        [resource_slice(devices("d1", **SHARED))],
        says(CANNOT),
        claims=[claim("held", memory("8Gi")), claim("c", memory("4Gi"))],
        held={"held": [result(f"{D}/d1", **SHARE)]},
    ),
    "share-of-what-is-left": Scenario(
        [resource_slice(devices("d1", **SHARED))],
        gets(f"{D}/d1"),
        claims=[claim("held", memory("8Gi")), claim("c", memory("2Gi"))],
        held={"held": [result(f"{D}/d1", **SHARE)]},
    ),
    "counters-that-another-node-uses": Scenario(
        counted(4, [partition("two", 2)], [partition("three", 3)]),
        [Turn(says=CANNOT, form={"nodeSelector": {"stage": "HERE", "name": "n1"}})],
        claims=BOTH_CLAIMS,
        held={"held": [result("gpu.HERE/card.HERE/three")]},
        nodes=TWO,
    ),
    "counters-that-suffice": Scenario(
        counted(5, [partition("two", 2)], [partition("three", 3)]),
        gets("gpu.HERE/card.HERE/two"),
        claims=BOTH_CLAIMS,
        held={"held": [result("gpu.HERE/card.HERE/three")]},
        nodes=TWO,
    ),
    # Claims that are allocated
    "claim-that-is-allocated": Scenario(
        [resource_slice(devices("d1", "d2"), on="n2")],
        [Turn(to="n2", gets={"c": ["gpu.HERE/n2.HERE/d2"]})],
        held={"c": [result("gpu.HERE/n2.HERE/d2")]},
        where={"c": "n2"},
        nodes=TWO,
    ),
    "parameters-of-a-claim-that-is-allocated": Scenario(
        [resource_slice(devices("d1"))],
        gets(f"{D}/d1"),
        claims=[claim("c", config=[{"opaque": {"driver": "gpu.HERE", "parameters": ODD}}])],
        held={
            "c": [
                result(f"{D}/d1"),
                {"source": "FromClaim", "opaque": {"driver": "gpu.HERE", "parameters": ODD}},
            ]
        },
    ),
    "two-claims-of-a-pod": Scenario(
        [resource_slice(devices("d1", "d2", "d3"))],
        [Turn(["b", "a"], to="n1", gets={"b": [f"{D}/d1"], "a": [f"{D}/d2", f"{D}/d3"]})],
        claims=[claim("a", exactly(count=2)), claim("b")],
    ),
    "two-pods-with-one-claim": Scenario(
        [resource_slice(devices("d1"))],
        [
            Turn(pod="first", to="n1", gets={"c": [f"{D}/d1"]}),
            Turn(pod="second", to="n1", gets={"c": [f"{D}/d1"]}),
        ],
    ),
}


def case(scenario: Scenario) -> Callable[[DeviceStage], Awaitable[None]]:
    async def play(it: DeviceStage) -> None:
        for name in scenario.nodes:
            await it.node(name, more=scenario.plugins.get(name))
        await it.make(*scenario.classes, *scenario.slices, *scenario.claims)
        for name, held in scenario.held.items():
            await it.allocate(name, *held, on=scenario.where.get(name, ""))
        await it.set()
        for turn in scenario.turns:
            await it.comes(turn.pod, *turn.claims, **turn.form)
            if turn.to:
                await it.bound(turn.pod, turn.to)
            else:
                await it.says(turn.pod, turn.says.replace("HERE", it.name))
            for name, found in turn.gets.items():
                await it.has(name, *found)

    return play
