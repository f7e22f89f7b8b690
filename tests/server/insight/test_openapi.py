"""The description of the API against what it really takes and answers."""

from __future__ import annotations

import asyncio
import json
import re
from typing import Any

import pytest

from moorage import CycleState, FilterPlugin, NodeInfo, Pod, Status
from moorage.insight.live.broadcast import Broadcast
from moorage.server.insight.api import InsightApi
from moorage.server.insight.openapi import openapi
from moorage.testing import make_node, make_pod
from tests.insight.live.worlds import World
from tests.server.insight.schema_checks import problems
from tests.server.insight.serving import Ask, Reply, answers, asked

CONFIG = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
PACKED = CONFIG + (
    "profiles: [{schedulerName: default-scheduler, pluginConfig: [{name: NodeResourcesFit, args: "
    "{scoringStrategy: {type: MostAllocated, resources: [{name: cpu, weight: 1}]}}}]}]"
)


class Failing(FilterPlugin):
    """Fails for some pods."""

    def filter(self, cycle: CycleState, pod: Pod, node: NodeInfo) -> Status | None:
        if pod.name == "fails":
            raise ValueError("no")
        return None


def a_cluster() -> World:
    """With pods in every state there is."""
    world = World(Failing, nodes=4)
    world.put(make_node("gpu", cpu="64", taints=["gpu=true:NoSchedule"]))
    for number in range(6):
        world.pod(f"web-{number}", cpu="500m", priority=0)
    world.schedule()
    owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "big", "uid": "1", "controller": True}
    world.pod("big", cpu="100", metadata={"ownerReferences": [owner]})
    world.pod("held", schedulingGates=[{"name": "quota"}])
    world.pod("far", nodeSelector={"zone": "mars"})
    world.pod("fails")
    world.pod("vip", cpu="3600m", priority=1000)
    world.schedule()
    world.pod("fresh")
    return world


ASKED: list[tuple[str, str, Any]] = [
    ("/summary", "summary", None),
    ("/nodes", "nodes?labels=zone,none&limit=2", None),
    ("/queue", "queue?limit=1", None),
    ("/queue", "queue", None),
    ("/pending", "pending", None),
    ("/pending", "pending?advise=true", None),
    ("/attempts", "attempts?limit=3", None),
    ("/attempts", "attempts?outcome=unschedulable&plugin=NodeResourcesFit", None),
    *(("/attempts/{number}", f"attempts/{number}", None) for number in range(1, 11)),
    *(("/attempts/{number}/nodes", f"attempts/{number}/nodes?limit=2", None) for number in range(1, 11)),
    *(
        ("/pods/{namespace}/{name}", f"pods/default/{name}", None)
        for name in ("big", "big?advise=true", "web-1", "held", "far", "fails", "vip", "fresh")
    ),
    ("/plugins", "plugins", None),
    ("/openapi", "openapi", None),
    ("/try", "try", {"pod": {"name": "big"}, "advise": True}),
    ("/try", "try", {"pod": {"name": "held"}}),
    ("/try", "try", {"pod": {"name": "web-1"}, "config": PACKED}),
    ("/try", "try", {"pod": {"name": "vip"}}),
    ("/try", "try", {"pod": {"name": "fails"}}),
    ("/try", "try", {"pod": {"name": "far"}, "extraNodes": [make_node("m", labels={"zone": "mars"}).raw]}),
    ("/compare", "compare", {"config": PACKED}),
]


def schema_of(path: str) -> Any:
    [operation] = openapi()["paths"][f"/insight/v1{path}"].values()
    return operation["responses"]["200"]["content"]["application/json"]["schema"]


def test_every_route_is_described_and_there_is_no_other() -> None:
    described = {(method.upper(), path) for path, methods in openapi()["paths"].items() for method in methods}
    routes = InsightApi(lambda: None).routes
    assert {(route.method, route.template) for route in routes} == described
    assert {path for path, _, _ in ASKED} | {"/stream"} == {
        path.removeprefix("/insight/v1") for _, path in described
    }


def test_every_answer_is_as_described() -> None:
    async def work(ask: Ask) -> list[Reply]:
        return [
            await (ask(path) if body is None else ask(path, "POST", data=json.dumps(body)))
            for _, path, body in ASKED
        ]

    schemas = openapi()["components"]["schemas"]
    for (template, path, body), reply in zip(ASKED, asked(a_cluster(), work), strict=True):
        assert reply.status == 200, f"{path} {body}: {reply.body!r}"
        assert reply.headers["Content-Type"].startswith("application/json")
        assert problems(reply.document, schema_of(template), schemas) == [], path


def test_every_event_is_as_described() -> None:
    world = a_cluster()
    schemas = openapi()["components"]["schemas"]
    expected = {
        "summary": "Summary",
        "attempts": "StreamAttempts",
        "outcomes": "StreamOutcomes",
        "usage": "StreamUsage",
    }

    async def main() -> bytes:
        broadcast = Broadcast(lambda: world.questions)
        reader = broadcast.join(3)
        broadcast.tick()
        broadcast._outcomes.append(1)
        world.put(make_pod("placed", node="node-1", uid="placed"))
        broadcast.tick()
        told = await reader.take(1) or b""
        broadcast.close()
        return told

    told = asyncio.run(main()).decode()
    seen = set()
    for name, data in re.findall(r"event: (\w+)\n(?:id: \d+\n)?data: (.*)\n", told):
        seen.add(name)
        assert problems(json.loads(data), {"$ref": f"#/{expected[name]}"}, schemas) == []
    assert seen == expected.keys()


def test_every_parameter_is_described_and_there_is_no_other() -> None:
    """A path names the parameters it has when it is given one that it has not."""
    world = a_cluster()
    for path, methods in openapi()["paths"].items():
        [(method, operation)] = methods.items()
        filled = path.format(number=1, namespace="default", name="big") if "{" in path else path

        async def work(ask: Ask, path: str = filled, method: str = method) -> Reply:
            return await ask(f"{path}?bogus=1", method.upper(), data="{}" if method == "post" else None)

        refused = asked(world, work)
        assert refused.status == 400
        [names] = re.findall("there are: (.*)", refused.document["message"])
        described = [each["name"] for each in operation["parameters"] if each["in"] == "query"]
        assert names.split(", ") == (described or ["none"]), path


def test_problems_are_as_described() -> None:
    schemas = openapi()["components"]["schemas"]
    for reply in answers(a_cluster(), "nothing", "nodes?limit=0", "attempts/999", "/other"):
        assert reply.status in (400, 404)
        assert problems(reply.document, {"$ref": "#/Status"}, schemas) == []


def test_the_document_itself() -> None:
    document = openapi()
    assert document["openapi"] == "3.1.0"
    names = set(re.findall(r"#/components/schemas/(\w+)", json.dumps(document)))
    assert names <= document["components"]["schemas"].keys()


@pytest.mark.parametrize("wrong", [{"number": "1"}, {"more": 1}, {}, [], None])
def test_the_check_finds_what_is_wrong(wrong: Any) -> None:
    schema = {"type": "object", "properties": {"number": {"type": "integer"}}, "required": ["number"]}
    assert problems(wrong, {**schema, "additionalProperties": False}, {})
    assert not problems({"number": 1}, schema, {})
