import logging

import pytest

from examples.node_crd_resource_fit.api import ClusterScopedResource, ClusterScopedResourceSpec
from examples.node_crd_resource_fit.plugin import (
    NodeCRDResourceFit,
    NodeCRDResourceFitArgs,
    may_help,
    mean_score,
)
from moorage import CycleState, Hint, NodeInfo, ObjectMeta, PluginError, Pod, Status
from moorage.testing import Cluster, FakeHandle, NotInTime, make_node, make_pod, run

NODES = [make_node(name) for name in ("aaa", "bbb", "ccc")]


def resource(
    name: str, filters: dict[str, bool] | None = None, scores: dict[str, int] | None = None
) -> ClusterScopedResource:
    spec = ClusterScopedResourceSpec(resources_filter=filters or {}, resources_score=scores or {})
    return ClusterScopedResource(metadata=ObjectMeta(name=name), spec=spec)


def asking(*names: str) -> Pod:
    return make_pod(requests=dict.fromkeys(names, 1))


def plugin_on(handle: FakeHandle) -> NodeCRDResourceFit:
    return NodeCRDResourceFit(NodeCRDResourceFitArgs(), handle)


def node(handle: FakeHandle, name: str) -> NodeInfo:
    found = handle.node(name)
    assert found is not None
    return found


def test_a_pod_goes_where_the_resource_is_enabled_and_scores_best() -> None:
    objects = [
        resource("aaa", {"x": True}, {"x": 55}),
        resource("bbb", {"x": True}, {"x": 60}),
        resource("ccc", {"x": False}, {"x": 90}),
    ]
    result = run(NodeCRDResourceFit, asking("x"), [*NODES, make_node("ddd")], objects=objects)
    assert {name: status.message for name, status in result.statuses.items()} == {
        "ccc": "Node does not enable resource x",
        "ddd": "CRD for node not found",
    }
    scores = {name: by_plugin["NodeCRDResourceFit"] for name, by_plugin in result.scores.items()}
    assert scores == {"aaa": 55, "bbb": 60}
    assert result.node == "bbb"


@pytest.mark.parametrize(
    ("requests", "filters", "expected"),
    [
        ([], {}, None),
        (["x"], {"x": True}, None),
        (["x"], {"x": False}, "Node does not enable resource x"),
        (["x"], {}, "Node does not enable resource x"),
        (["y", "x"], {}, "Node does not enable resource x"),
        (["cpu", "x"], {"x": True}, "Node does not enable resource cpu"),
    ],
)
def test_every_requested_resource_must_be_enabled(
    requests: list[str], filters: dict[str, bool], expected: str | None
) -> None:
    handle = FakeHandle([*NODES, resource("aaa", filters)])
    answer = plugin_on(handle).filter(CycleState(), asking(*requests), node(handle, "aaa"))
    assert answer == (None if expected is None else Status.unschedulable(expected))


def test_a_node_without_a_resource_is_left_out() -> None:
    handle = FakeHandle(NODES)
    answer = plugin_on(handle).filter(CycleState(), asking(), node(handle, "aaa"))
    assert answer == Status.unschedulable("CRD for node not found")


def test_only_containers_count() -> None:
    init = {"name": "init", "image": "i", "resources": {"requests": {"y": "1"}}}
    pod = make_pod(requests={"x": 1}, initContainers=[init], overhead={"z": "1"})
    handle = FakeHandle([*NODES, resource("aaa", {"x": True})])
    assert plugin_on(handle).filter(CycleState(), pod, node(handle, "aaa")) is None


def test_a_node_that_is_not_there() -> None:
    handle = FakeHandle([removed := make_node("gone")])
    plugin, gone = plugin_on(handle), node(handle, "gone")
    handle.remove(removed)
    assert plugin.filter(CycleState(), asking(), gone) == Status.error("node not found")
    with pytest.raises(PluginError, match=r"^node not found$"):
        plugin.score(CycleState(), asking(), gone)


@pytest.mark.parametrize(
    ("scores", "expected"),
    [
        ([55], 55),
        ([55, 60], 58),
        ([1, 2, 2], 2),
        ([0, 1], 1),
        ([-7], 0),
        ([250], 100),
        ([250, 0], 50),
        ([2**62, 2**62], 100),
        ([], 0),
    ],
)
def test_the_score_is_the_mean_rounded_up(scores: list[int], expected: int) -> None:
    names = [f"r{place}" for place in range(len(scores))]
    assert (
        mean_score(asking(*names), resource("aaa", scores=dict(zip(names, scores, strict=True)))) == expected
    )


def test_a_resource_without_a_score_counts_as_zero() -> None:
    assert mean_score(asking("x", "y"), resource("aaa", scores={"x": 10})) == 5


def test_a_resource_that_vanished_after_the_filter_is_an_error() -> None:
    class LateRemoval(NodeCRDResourceFit):
        name = "NodeCRDResourceFit"

        def score(self, cycle: CycleState, pod: Pod, node: NodeInfo) -> int:
            self.resources.remove(resource("bbb"))
            return super().score(cycle, pod, node)

    objects = [resource(name) for name in ("aaa", "bbb", "ccc")]
    result = run(LateRemoval, make_pod(), NODES, objects=objects, raises=False)
    assert result.error == (
        'running Score plugins: plugin "NodeCRDResourceFit" failed with: CRD for node not found'
    )


def test_log_lines(caplog: pytest.LogCaptureFixture) -> None:
    handle = FakeHandle([*NODES, resource("aaa", {"x": False}), resource("bbb", {"x": True}, {"x": 55})])
    plugin, cycle, pod = plugin_on(handle), CycleState(), asking("x")
    with caplog.at_level(logging.DEBUG):
        for name in ("aaa", "bbb", "ccc"):
            plugin.filter(cycle, pod, node(handle, name))
        plugin.score(cycle, pod, node(handle, "bbb"))
    keys = ("podName", "nodeName", "resource", "score")
    told = [
        (record.message, {key: record.__dict__[key] for key in keys if key in record.__dict__})
        for record in caplog.records
    ]
    assert told == [
        ("Node does not enable resource", {"nodeName": "aaa", "resource": "x"}),
        ("CRD for node not found", {"nodeName": "ccc"}),
        ("Scoring node", {"nodeName": "bbb"}),
        ("Resources and score", {"podName": "pod", "nodeName": "bbb", "score": 55}),
    ]


def test_only_a_resource_that_lets_the_pod_in_wakes_it() -> None:
    pod = asking("x")
    assert may_help(pod, None, resource("aaa", {"x": True})) is Hint.QUEUE
    assert may_help(pod, resource("aaa", {"x": True}), resource("aaa", {"x": False})) is Hint.SKIP
    assert may_help(pod, resource("aaa", {"x": True}), None) is Hint.SKIP
    assert [event.label for event in plugin_on(FakeHandle()).events()][:2] == ["NodeAdd", "PodUpdate"]


@pytest.mark.moorage(plugins=[NodeCRDResourceFit], args={"cacheSyncTimeoutSeconds": 0.1})
def test_without_the_definition_the_scheduler_gives_up(cluster: Cluster) -> None:
    with pytest.raises(NotInTime, match='initializing plugin "NodeCRDResourceFit": WaitForCacheSync failed'):
        cluster.schedule(make_pod(), timeout=0.5)


GPU = "example.com/gpu"


@pytest.mark.moorage(
    plugins=[NodeCRDResourceFit],
    nodes=[make_node(name, allocatable={GPU: 4}) for name in ("aaa", "bbb")],
    objects=[ClusterScopedResource, resource("aaa", {GPU: True}, {GPU: 10}), resource("bbb")],
)
def test_decisions_follow_the_resources_of_a_cluster(cluster: Cluster) -> None:
    assert cluster.schedule(asking(GPU)).node == "aaa"
    cluster.delete(ClusterScopedResource, "aaa")
    waiting = cluster.schedule(make_pod("later", requests={GPU: 1}))
    assert waiting.message.startswith(
        f"0/2 nodes are available: 1 CRD for node not found, 1 Node does not enable resource {GPU}."
    )
    cluster.patch(ClusterScopedResource, {"spec": {"resourcesFilter": {GPU: True}}}, "bbb")
    assert cluster.wait_bound(waiting.pod).spec.node_name == "bbb"
