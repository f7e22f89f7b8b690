"""What would become of a pod: the answer of `moorage evaluate`, and nothing is changed by asking."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import msgspec
import pytest

from moorage import CycleState, NodeStatuses, Nomination, Pod, PostFilterPlugin, Status
from moorage.config import load
from moorage.insight.live.comparing import CompareBody, read_compare
from moorage.insight.live.problems import Problem
from moorage.insight.live.trying import TryBody, read_try
from moorage.plugins.catalog import in_tree_registry
from moorage.testing import make_node, make_pod
from moorage.what_if.scenario import evaluate
from tests.insight.live.worlds import World, run

CONFIG = """
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- schedulerName: default-scheduler
  pluginConfig:
  - name: NodeResourcesFit
    args:
      scoringStrategy: {type: MostAllocated, resources: [{name: cpu, weight: 1}]}
"""


def tried(world: World, **asked: Any) -> dict[str, Any]:
    answer: dict[str, Any] = json.loads(run(lambda: world.questions.try_pod(TryBody(**asked))))
    return answer


def problem(world: World, **asked: Any) -> Problem:
    with pytest.raises(Problem) as raised:
        tried(world, **asked)
    return raised.value


def a_cluster() -> World:
    world = World(nodes=4)
    for number in range(6):
        world.pod(f"web-{number}", cpu="500m", labels={"app": "web"})
    world.schedule()
    world.pod("big", cpu="100")
    world.schedule()
    return world


def objects(world: World, *, without: str = "") -> list[dict[str, Any]]:
    scheduler = world.scheduler
    nodes = [{"kind": "Node", **info.node.raw} for info in scheduler.state.table.infos]
    pods = []
    for pod in scheduler.door.pods():
        placed = msgspec.json.decode(msgspec.json.encode(pod))
        if pod.key != without:
            pods.append({"apiVersion": "v1", "kind": "Pod", **placed})
    return [*nodes, *pods]


def test_it_agrees_with_evaluate() -> None:
    world = a_cluster()
    for pod in (
        make_pod("new", cpu="1", uid="new"),
        make_pod("huge", cpu="50", uid="huge"),
        make_pod("spread", labels={"app": "web"}, uid="s", nodeSelector={"zone": "z1"}),
    ):
        document = {**pod.raw, "kind": "Pod"}
        expected = evaluate({"objects": objects(world), "pod": document}, in_tree_registry())
        answer = tried(world, pod=document)
        assert {key: answer[key] for key in expected if key != "id"} == {
            key: value for key, value in expected.items() if key != "id"
        }
        assert answer["words"]


def test_a_placed_pod_is_tried_as_if_it_were_not_placed() -> None:
    world = a_cluster()
    answer = tried(world, pod={"namespace": "default", "name": "web-1"})
    document = {**world.client.pods["default/web-1"].raw, "kind": "Pod"}
    document["spec"] = {key: value for key, value in document["spec"].items() if key != "nodeName"}
    expected = evaluate(
        {"objects": objects(world, without="default/web-1"), "pod": document}, in_tree_registry()
    )
    assert answer["totals"] == expected["totals"]
    assert answer["onNode"] == world.client.pods["default/web-1"].spec.node_name
    assert "nodeName" not in answer["pod"]["spec"] and "status" not in answer["pod"]


def test_what_would_be_otherwise() -> None:
    world = a_cluster()
    big = {"name": "big"}
    assert tried(world, pod=big)["feasible"] == []
    assert len(tried(world, pod=big, set=["spec.containers[0].resources.requests.cpu=1"])["feasible"]) == 4
    extra = make_node("extra", cpu="200").raw
    assert tried(world, pod=big, extra_nodes=[extra])["feasible"] == ["extra"]
    world.put(make_node("gpu", cpu="200", taints=["gpu=true:NoSchedule"]))
    assert tried(world, pod=big, tolerate=["gpu=true:NoSchedule"])["feasible"] == ["gpu"]
    world.put(make_pod("full", node="node-0", cpu="2", uid="full"))
    three = make_pod("three", cpu="3", uid="three", nodeSelector={"kubernetes.io/hostname": "node-0"})
    assert tried(world, pod=three.raw)["feasible"] == []
    assert tried(world, pod=three.raw, without_pods=["default/full"])["feasible"] == ["node-0"]
    tiny = make_pod("tiny", cpu="1m", uid="tiny").raw
    assert tried(world, pod=tiny, config=CONFIG)["best"] == ["node-0"]
    assert "node-0" not in tried(world, pod=tiny)["best"]


def test_advice_for_what_does_not_fit() -> None:
    world = a_cluster()
    answer = tried(world, pod={"name": "big"}, advise=True)
    assert any("cpu request were" in each["text"] for each in answer["advice"])
    assert "It would fit if" in " ".join(answer["words"])
    assert "advice" not in tried(world, pod={"name": "big"})


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"pod": {"name": "nobody"}}, "pod: the scheduler knows no pod default/nobody"),
        ({"pod": {"kind": "Node", "spec": {}}}, "pod: its kind is 'Node', not Pod"),
        ({"pod": {"spec": {"containers": 7}}}, "pod: Pod default/tried: Expected `array`"),
        (
            {"pod": {"spec": {"schedulerName": "x"}}},
            "pod: no profile is called 'x'; spec.schedulerName may be",
        ),
        ({"pod": {"name": "big"}, "set": ["spec.x[3].y=1"]}, "set: 'spec.x[3].y=1': [3] is not there"),
        ({"pod": {"name": "big"}, "tolerate": ["=x"]}, "tolerate: '=x' is no taint"),
        ({"pod": {"name": "big"}, "without_pods": ["x/y"]}, "withoutPods: there is no pod 'x/y'"),
        (
            {"pod": {"name": "big"}, "extra_nodes": [{"kind": "Node"}]},
            "extraNodes[0]: it has no metadata.name",
        ),
        ({"pod": {"name": "big"}, "config": "kind: Pod"}, "config: "),
        ({"pod": {"name": "big"}, "config": "a: [" * 5}, "config: "),
    ],
)
def test_questions_that_cannot_be_understood(asked: dict[str, Any], message: str) -> None:
    found = problem(a_cluster(), **asked)
    assert found.code == 400
    assert found.message.startswith(message)
    assert "\n" not in found.message


@pytest.mark.parametrize(
    "body",
    [b"", b"{", b"[]", b'{"pod": 3}', b'{"pod": {}, "more": 1}', b'{"pod": {"a": "\xff"}}', b"[" * 10000],
)
def test_bodies_that_cannot_be_read(body: bytes) -> None:
    for read in (read_try, read_compare):
        with pytest.raises(Problem) as raised:
            read(body)
        assert raised.value.code == 400 and "\n" not in raised.value.message


def test_extenders_are_not_asked() -> None:
    """There is none at this address, which would make the attempt fail."""
    text = CONFIG + "extenders: [{urlPrefix: 'http://127.0.0.1:9', filterVerb: filter, weight: 1}]\n"
    world = World(config=load(text).config)
    answer = tried(world, pod=make_pod("new", cpu="1", uid="new").raw)
    assert len(answer["feasible"]) == 3 and "extenders are not asked here" in answer["notes"][0]
    assert "notes" in tried(World(), pod=make_pod("new", uid="new").raw, config=text)
    assert "notes" not in tried(World(), pod=make_pod("new", uid="new").raw)


class Busy(PostFilterPlugin):
    """Does in PostFilter all that must not happen for a pod that is only tried."""

    def post_filter(self, cycle: CycleState, pod: Pod, statuses: NodeStatuses) -> Nomination | Status:
        self.handle.recorder.event(pod, None, "Normal", "Told", "Trying", "told")
        self.handle.activate([pod])
        victim = next(iter(self.handle.pods))
        self.handle.evict(victim, by=pod)
        return Nomination(victim.spec.node_name)


def test_nothing_of_the_live_state_is_touched() -> None:
    world = World(Busy, nodes=4)
    for number in range(6):
        world.pod(f"web-{number}", cpu="500m")
    world.schedule()
    world.pod("low", cpu="3", priority=1)
    world.pod("waits", cpu="100", schedulingGates=[{"name": "a"}])
    before = world.fingerprint()
    answer = tried(
        world,
        pod=make_pod("big", cpu="100", priority=100).raw,
        extra_nodes=[make_node("extra", cpu="1").raw],
        without_pods=["default/web-1"],
        config=CONFIG,
        advise=True,
    )
    assert answer["feasible"] == []
    assert (
        tried(world, pod={"name": "waits"}, set=["spec.schedulingGates="])["postFilter"]["code"] == "Success"
    )
    run(lambda: world.questions.compare(CompareBody(CONFIG)))
    run(lambda: world.questions.pending(advise=True))
    run(lambda: world.questions.pod("default", "low", advise=True))
    assert world.fingerprint() == before


def test_scheduling_goes_on_meanwhile() -> None:
    world = a_cluster()
    for number in range(50):
        world.pod(f"more-{number}", cpu="1m")

    async def main() -> list[str]:
        asked = asyncio.create_task(world.questions.try_pod(TryBody(pod={"name": "big"}, advise=True)))
        await asyncio.sleep(0)
        await world.scheduler.drain()
        bound = [pod.key for pod in world.client.pods.values() if pod.spec.node_name]
        await asked
        return bound

    assert len(run(main)) == 56


def compared(world: World, config: str) -> dict[str, Any]:
    answer: dict[str, Any] = json.loads(run(lambda: world.questions.compare(CompareBody(config))))
    return answer


def test_which_placements_another_configuration_would_change() -> None:
    world = a_cluster()
    same = compared(world, CONFIG.partition("  pluginConfig")[0])
    assert same == {"pods": 7, "same": 7, "changes": []}
    packed = compared(world, CONFIG)
    assert packed["pods"] == 7 and packed["same"] + len(packed["changes"]) == 7
    assert packed["changes"]
    for change in packed["changes"]:
        assert change["now"] != change["then"] and change["why"] == "NodeResourcesFit"
    without_fit = CONFIG.partition("  pluginConfig")[0] + (
        "  plugins: {filter: {disabled: [{name: NodeResourcesFit}]}, multiPoint: {}}\n"
    )
    [change] = [each for each in compared(world, without_fit)["changes"] if each["pod"] == "default/big"]
    assert change["now"] is None and change["then"] is not None and change["why"] == "NodeResourcesFit"


def test_a_configuration_without_the_profile_of_a_pod() -> None:
    world = a_cluster()
    other = CONFIG.replace("schedulerName: default-scheduler", "schedulerName: other")
    answer = compared(world, other)
    assert {each["then"] for each in answer["changes"]} == {None}
    assert {each["why"] for each in answer["changes"]} == {"no profile of this name"}


def test_a_pod_may_be_given_as_text() -> None:
    world = a_cluster()
    document = {"metadata": {"name": "new"}, "spec": {"containers": [{"name": "app"}], "priority": 7}}
    text = "metadata: {name: new}\nspec:\n  priority: 7\n  containers:\n  - name: app\n"
    as_document = tried(world, pod=document)
    assert tried(world, pod=text) == as_document == tried(world, pod=json.dumps(document))
    assert as_document["pod"]["spec"]["priority"] == 7


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a: [", "pod: "),
        ("- a", "pod: the text is not that of a pod; write it as a manifest has it"),
        ("", "pod: the text is not that of a pod; write it as a manifest has it"),
        ("kind: Pod\n---\nkind: Pod\n", "pod: the text holds more than one document; give one pod"),
        ("x: " + "[" * 500, "pod: "),
    ],
)
def test_a_text_that_is_no_pod_is_refused_in_one_line(text: str, said: str) -> None:
    raised = problem(a_cluster(), pod=text)
    assert (raised.code, raised.message.splitlines()) == (400, [raised.message])
    assert raised.message.startswith(said)
