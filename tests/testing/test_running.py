from __future__ import annotations

import subprocess
import sys
import traceback
from pathlib import Path
from types import MappingProxyType
from typing import Any, ClassVar

import msgspec
import pytest

from moorage import (
    CycleState,
    FilterPlugin,
    Handle,
    NodeInfo,
    NodeStatuses,
    Nomination,
    Object,
    Pod,
    PostFilterPlugin,
    PreEnqueuePlugin,
    PreFilterPlugin,
    ScorePlugin,
    Status,
)
from moorage.config import ConfigError, load
from moorage.framework.extension_points import Plugin
from moorage.testing import PluginFailed, make_node, make_pod, run

CONFIG = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"


class Args(msgspec.Struct):
    limit: int = 1


class Few(FilterPlugin, ScorePlugin):
    """Allows so many pods per node, and likes the fuller ones."""

    args_type = Args

    def filter(self, cycle: CycleState, pod: Pod, node: NodeInfo) -> Status | None:
        return None if len(node.pods) < self.args.limit else Status.unschedulable("enough pods")

    def score(self, cycle: CycleState, pod: Pod, node: NodeInfo) -> int:
        return len(node.pods)


class Likes(ScorePlugin):
    def score(self, cycle: CycleState, pod: Pod, node: NodeInfo) -> int:
        return 100 if node.name == "b" else 0


NODES = [make_node("a"), make_node("b")]
ON_A = make_pod("one", node="a")


def test_a_filter_and_a_score() -> None:
    result = run(Few, make_pod(), NODES, pods=[ON_A])
    assert (result.node, result.feasible, result.message, result.error) == ("b", ["b"], "", "")
    assert {name: status.message for name, status in result.statuses.items()} == {"a": "enough pods"}
    assert result.statuses["a"].plugin == "Few"
    assert result.scores["b"]["Few"] == 0
    assert isinstance(result.plugins["Few"], Few)
    assert "NodeResourcesFit" in result.plugins


@pytest.mark.parametrize("args", [Args(limit=2), {"limit": 2}, MappingProxyType({"limit": 2})])
def test_args_as_a_struct_and_as_a_mapping(args: Any) -> None:
    result = run(Few, make_pod(), NODES, pods=[ON_A], args=args)
    assert result.feasible == ["a", "b"]
    assert result.scores["a"]["Few"] == 1
    assert result.plugins["Few"].args == Args(limit=2)


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ({"limit": "many"}, "args.limit: Expected `int`, got `str`"),
        ({"most": 1}, "args.most: unknown field; known are limit"),
        (5, "args: expected a mapping, got int"),
    ],
)
def test_args_that_cannot_be_read(args: Any, message: str) -> None:
    with pytest.raises(ConfigError, match=f'initializing plugin "Few": {message}'):
        run(Few, make_pod(), NODES, args=args)


def test_several_plugins() -> None:
    result = run([Few, Likes], make_pod(), NODES, args={"Few": {"limit": 3}})
    assert result.node == "b"
    assert result.scores["b"] == {**result.scores["b"], "Few": 0, "Likes": 100}
    assert result.totals["b"] - result.totals["a"] == 100
    wrong: list[Any] = [{"Nope": {}}, Args(), 5]
    for args in wrong:
        with pytest.raises(TypeError, match="mapping of plugin name to args; the plugins are Few, Likes"):
            run([Few, Likes], make_pod(), NODES, args=args)


def test_no_plugin_at_all_is_the_default_scheduler() -> None:
    assert run([], make_pod(cpu=8), [make_node("a"), make_node("b", cpu=16)]).node == "b"


def test_a_configuration_of_ones_own() -> None:
    profile = """
profiles:
- plugins:
    score: {disabled: [{name: "*"}], enabled: [{name: Few, weight: 5}]}
    filter: {enabled: [{name: Few}]}
  pluginConfig: [{name: Few, args: {limit: 2}}]
"""
    config = load(CONFIG + profile).config
    result = run(Few, make_pod(), NODES, pods=[ON_A], config=config)
    assert (result.node, result.totals) == ("a", {"a": 5, "b": 0})
    assert result.scores == {"a": {"Few": 1}, "b": {"Few": 0}}
    with pytest.raises(TypeError, match="put them into the pluginConfig"):
        run(Few, make_pod(), NODES, config=config, args={"limit": 1})


class Price(Object, kw_only=True):
    group: ClassVar[str] = "example.com"
    resource: ClassVar[str] = "prices"
    kind: ClassVar[str] = "Price"
    namespaced: ClassVar[bool] = False

    amount: int = 0


class Cheap(ScorePlugin):
    typed: ClassVar[bool] = True

    def __init__(self, args: Any, handle: Any) -> None:
        super().__init__(args, handle)
        self.prices = handle.lister("example.com", "v1", "prices", Price if self.typed else None)
        self.told: list[str] = []
        self.prices.on_change(added=lambda price: self.told.append(price.name))

    def score(self, cycle: CycleState, pod: Pod, node: NodeInfo) -> int:
        assert self.prices.has_synced
        found = self.prices.get(node.name)
        return 0 if found is None else 100 - found.amount


class CheapUntyped(Cheap):
    typed = False


def price(name: str, amount: int) -> Price:
    made = Price(amount=amount)
    made.metadata.name = name
    return made


@pytest.mark.parametrize("plugin", [Cheap, CheapUntyped])
def test_objects_that_the_plugin_reads(plugin: type[Cheap]) -> None:
    result = run(plugin, make_pod(), NODES, objects=[price("a", 90), price("b", 10)])
    assert result.node == "b"
    assert {name: scores[plugin.name] for name, scores in result.scores.items()} == {"a": 10, "b": 90}
    made = result.plugins[plugin.name]
    assert isinstance(made, Cheap)
    assert made.told == ["a", "b"]


def test_a_gated_pod() -> None:
    result = run(Likes, make_pod(schedulingGates=[{"name": "example.com/wait"}]), NODES)
    assert (result.node, result.feasible, result.statuses, result.error) == ("", [], {}, "")
    assert "example.com/wait" in result.message


class Shut(PreEnqueuePlugin):
    def pre_enqueue(self, pod: Pod) -> Status | None:
        if "raise" in pod.labels:
            raise ValueError("no idea")
        return Status.unschedulable("shut")


def test_a_gate_of_ones_own() -> None:
    assert run(Shut, make_pod(), NODES).message == "shut"
    failed = run(Shut, make_pod(labels={"raise": ""}), NODES, raises=False)
    assert (failed.message, failed.error) == ("", "ValueError: no idea")


class Narrows(PreFilterPlugin):
    def pre_filter(self, cycle: CycleState, pod: Pod) -> Status | set[str] | None:
        if "reject" in pod.labels:
            return Status.unresolvable("not this pod")
        return {"b"}


def test_a_narrowed_search() -> None:
    result = run(Narrows, make_pod(), NODES)
    assert (result.node, result.feasible) == ("b", ["b"])
    assert result.statuses["a"].message == "node(s) didn't satisfy plugin(s) [Narrows]"


def test_a_pending_pod() -> None:
    result = run(Likes, make_pod(cpu=64), NODES)
    assert (result.node, result.feasible, result.scores, result.error) == ("", [], {}, "")
    assert result.message.startswith("0/2 nodes are available: 2 Insufficient cpu.")
    assert {name: status.plugin for name, status in result.statuses.items()} == {
        "a": "NodeResourcesFit",
        "b": "NodeResourcesFit",
    }
    rejected = run(Narrows, make_pod(labels={"reject": ""}), NODES)
    assert rejected.message.startswith("0/2 nodes are available: not this pod.")
    assert [status.message for status in rejected.statuses.values()] == ["not this pod", "not this pod"]


def test_no_nodes() -> None:
    result = run(Likes, make_pod(), [])
    assert (result.node, result.message) == ("", "no nodes available to schedule pods")


class Fails(FilterPlugin):
    def filter(self, cycle: CycleState, pod: Pod, node: NodeInfo) -> Status | None:
        raise ValueError("no idea")


class FailsToScore(ScorePlugin):
    def score(self, cycle: CycleState, pod: Pod, node: NodeInfo) -> int:
        raise ValueError("no idea")


class FailsToNormalize(Likes):
    def normalize_scores(self, cycle: CycleState, pod: Pod, scores: Any) -> Any:
        raise ValueError("no idea")


class FailsToHelp(PostFilterPlugin):
    def post_filter(self, cycle: CycleState, pod: Pod, statuses: NodeStatuses) -> Nomination | Status:
        raise ValueError("no idea")


class ScoresTooHigh(ScorePlugin):
    def score(self, cycle: CycleState, pod: Pod, node: NodeInfo) -> int:
        return 101


class AnswersNonsense(FilterPlugin):
    def filter(self, cycle: CycleState, pod: Pod, node: NodeInfo) -> Any:
        return True


class SaysThatItFailed(FilterPlugin):
    def filter(self, cycle: CycleState, pod: Pod, node: NodeInfo) -> Status | None:
        return Status.error("price service is down")


def test_a_plugin_that_fails_raises() -> None:
    with pytest.raises(PluginFailed, match=r"^Fails failed at Filter: ValueError: no idea$") as raised:
        run(Fails, make_pod(), NODES)
    assert (raised.value.plugin, raised.value.point) == ("Fails", "Filter")
    cause = raised.value.__cause__
    assert isinstance(cause, ValueError)
    assert traceback.extract_tb(cause.__traceback__)[-1].line == 'raise ValueError("no idea")'


@pytest.mark.parametrize("nodes", [1, 2])
@pytest.mark.parametrize("plugin", [FailsToScore, FailsToNormalize])
def test_a_score_that_fails_raises_even_for_a_single_node(plugin: type[ScorePlugin], nodes: int) -> None:
    with pytest.raises(PluginFailed, match="failed at Score: ValueError: no idea") as raised:
        run(plugin, make_pod(), NODES[:nodes])
    assert isinstance(raised.value.__cause__, ValueError)


@pytest.mark.parametrize(
    ("plugin", "told"),
    [
        (ScoresTooHigh, "ScoresTooHigh failed at Score: .*returns an invalid score 101"),
        (AnswersNonsense, "AnswersNonsense failed at Filter: .*bool True.* use None or a Status"),
    ],
)
def test_a_wrong_answer_raises(plugin: type[Plugin], told: str) -> None:
    with pytest.raises(PluginFailed, match=told):
        run(plugin, make_pod(), NODES)


def test_a_failure_that_the_scheduler_would_survive_raises_too() -> None:
    with pytest.raises(PluginFailed, match="FailsToHelp failed at PostFilter: ValueError: no idea"):
        run(FailsToHelp, make_pod(cpu=64), NODES)
    with pytest.raises(PluginFailed, match="Shut failed at PreEnqueue: ValueError: no idea"):
        run(Shut, make_pod(labels={"raise": ""}), NODES)


def test_an_error_as_an_answer_does_not_raise() -> None:
    result = run(SaysThatItFailed, make_pod(), NODES)
    assert result.error == 'running "SaysThatItFailed" filter plugin: price service is down'


def test_a_plugin_that_fails_is_told_on_request() -> None:
    result = run(Fails, make_pod(), NODES, raises=False)
    assert (result.node, result.message) == ("", "")
    assert result.error.startswith('running "Fails" filter plugin: ')
    assert "no idea" in result.error


@pytest.mark.parametrize("nodes", [1, 2])
def test_a_score_that_fails_is_told_even_for_a_single_node(nodes: int) -> None:
    result = run(FailsToScore, make_pod(), NODES[:nodes], raises=False)
    assert "FailsToScore" in result.error
    assert "no idea" in result.error
    assert result.node == ("a" if nodes == 1 else "")


def test_what_preemption_would_do() -> None:
    victim = make_pod("victim", node="a", cpu="3", priority=0)
    important = make_pod("important", cpu="3", priority=10)
    result = run([], important, [make_node("a", cpu="4")], pods=[victim])
    assert (result.node, result.nominated) == ("", "a")
    [evicted] = result.evicted
    assert (evicted.pod.name, evicted.by) == ("victim", important)
    assert evicted.message == "default-scheduler: preempting to accommodate a higher priority pod"
    assert run([], important, [make_node("a", cpu="4")]).evicted == []


class CountsPods(FilterPlugin):
    """Remembers what the listers and the handle held while it was asked."""

    def __init__(self, args: Any, handle: Handle) -> None:
        super().__init__(args, handle)
        self.by_name = handle.lister("", "v1", "pods")
        self.by_type = handle.lister_of(Pod)
        self.seen: list[tuple[list[str], list[str], list[str]]] = []

    def filter(self, cycle: CycleState, pod: Pod, node: NodeInfo) -> Status | None:
        listed, typed = self.by_name.list(), self.by_type.list()
        self.seen.append(
            (
                sorted(each.name for each in listed),
                sorted(each.name for each in typed),
                sorted(each.name for each in self.handle.pods),
            )
        )
        return None


@pytest.mark.parametrize("whole", [False, True])
def test_the_pod_is_in_the_listers_as_on_a_cluster(whole: bool) -> None:
    others = [ON_A, make_pod("waits", cpu=64)]
    result = run(CountsPods, make_pod("mine"), NODES[:1], pods=others, whole=whole)
    everything = ["mine", "one", "waits"]
    assert result.plugin(CountsPods).seen[0] == (everything, everything, ["one"])


def test_a_filter_is_asked_once_per_node() -> None:
    assert len(run(CountsPods, make_pod(), NODES).plugin(CountsPods).seen) == 2


def test_two_pods_of_one_name() -> None:
    with pytest.raises(ValueError, match=r"^there are two pods default/pod: give one of them another name$"):
        run(Likes, make_pod(), NODES, pods=[make_pod(node="a")])


def test_a_plugin_by_its_class() -> None:
    result = run([Few, Likes], make_pod(), NODES)
    assert result.plugin(Few).args.limit == 1
    with pytest.raises(KeyError, match="Fails took no part; the plugins are "):
        result.plugin(Fails)


def test_a_test_that_fails_shows_its_runs(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text(
        "from moorage.testing import Cycles, make_node, make_pod, run\n"
        "def test_one():\n"
        "    assert run([], make_pod('one'), [make_node('a')]).node == 'b'\n"
        "def test_two():\n"
        "    with Cycles([], [make_node('a')]) as cycles:\n"
        "        cycles.run(make_pod('two'))\n"
        "        assert cycles.run(make_pod('three', cpu=64)).node == 'b'\n"
    )
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(tmp_path)]
    shown = subprocess.run(
        command, capture_output=True, text=True, cwd=tmp_path, timeout=60, check=False
    ).stdout
    assert "<Run default/one: node a>" in shown
    assert "<Run default/two: bound to a>" in shown
    assert "<Run default/three: no node: 0/1 nodes are available: 1 Insufficient cpu." in shown


def test_a_run_in_one_line() -> None:
    assert repr(run(Few, make_pod(), NODES, pods=[ON_A])) == (
        "<Run default/pod: node b; not a: enough pods (Few)>"
    )
    assert repr(run(Few, make_pod(), [NODES[0]], pods=[ON_A])) == (
        "<Run default/pod: no node: 0/1 nodes are available: 1 enough pods. "
        "no new claims to deallocate, preemption: 0/1 nodes are available: "
        "1 No preemption victims found for incoming pod.; "
        "not a: enough pods (Few)>"
    )
    assert repr(run(SaysThatItFailed, make_pod(), NODES)) == (
        '<Run default/pod: error: running "SaysThatItFailed" filter plugin: price service is down>'
    )
    many = run(Narrows, make_pod(), [make_node(f"n{place}") for place in range(9)] + [NODES[1]])
    assert repr(many).endswith("and 6 more>")
