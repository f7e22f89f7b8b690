"""A choice that looks wrong when it is seen, and was right when it was made."""

from __future__ import annotations

from random import Random
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from moorage.api.meta import Object
from moorage.api.pods import Pod, on_node
from moorage.framework.handle import Services
from moorage.plugins.catalog import in_tree_registry
from moorage.scheduler.profiles import default_configuration, make_profiles
from moorage.testing import make_node, make_pod
from moorage.what_if.agreement import Agreement, Verdict
from moorage.what_if.recent import Expected, RememberingDoor
from moorage.what_if.timing import Case, Timing
from tests.state.worlds import described


class World:
    """A cluster that is followed, 10 ms from change to change."""

    def __init__(self, *objects: Object) -> None:
        self.now = 100.0
        self.door = RememberingDoor(clock=lambda: self.now)
        services = Services(door=self.door)
        registry = in_tree_registry()
        self.agreement = Agreement(make_profiles(default_configuration(registry), registry, services))
        self.timing = Timing(self.agreement, self.door)
        self.expected = Expected(services.state, services.nominations)
        self.door.follow(self.expected)
        self.put(*objects)
        self.now += 60

    def put(self, *objects: Object) -> None:
        for item in objects:
            self.now += 0.01
            self.door.put(item)

    def remove(self, item: Object) -> None:
        self.now += 0.01
        self.door.remove(item)

    def bind(self, pod: Pod, node: str) -> Case:
        """A bind is seen."""
        self.now += 0.01
        verdict = self.agreement.judge(pod, node)
        case = Case(pod, verdict, self.door.number, self.now)
        self.door.put(on_node(pod, node))
        return case

    def explained(self, case: Case) -> Verdict:
        assert case.verdict.is_exception
        before = described(self.door.state)
        verdict = self.timing.explained(case)
        assert described(self.door.state) == before
        return verdict


def pods(*names: str, **form: Any) -> list[Pod]:
    return [make_pod(name, **{"cpu": "1", **form}) for name in names]


def test_pods_that_came_earlier_may_be_bound_later() -> None:
    world = World(make_node("a"), make_node("b", cpu="5"))
    first, second = pods("first", "second")
    world.put(first, second)
    # The first was placed on b, and then a was better for the second, whose bind was faster.
    case = world.bind(second, "a")
    assert case.verdict.kind == "disagreed"
    assert world.timing.explained(case).kind == "disagreed"
    assert world.bind(first, "b").verdict.kind == "agreed"
    verdict = world.explained(case)
    assert (verdict.kind, verdict.best) == ("agreed", ("a",))
    assert verdict.words.endswith(", with pod default/first, which came before it and was bound after")


def test_pods_that_came_later_may_be_bound_earlier() -> None:
    world = World(make_node("a"), make_node("b", cpu="5"))
    first, second = pods("first", "second")
    world.put(first, second)
    assert world.bind(second, "b").verdict.kind == "agreed"
    case = world.bind(first, "b")
    assert (
        "without pod default/second, which came after it and was bound before" in world.explained(case).words
    )


def test_what_changed_just_before_was_not_known() -> None:
    world = World(make_node("a"), make_node("b"), *pods("there", node="b"))
    [pod] = pods("p")
    world.put(pod)
    world.put(make_node("c", cpu="8"))
    case = world.bind(pod, "a")
    verdict = world.explained(case)
    assert (verdict.kind, verdict.best) == ("timing", ("c",))
    assert verdict.words.startswith("a was best before node c came 10 ms earlier")


def test_nor_that_a_pod_went() -> None:
    [there] = pods("there", node="b", cpu="3")
    world = World(make_node("a"), make_node("b", cpu="5"), there)
    [pod] = pods("p")
    world.put(pod)
    world.remove(there)
    verdict = world.explained(world.bind(pod, "a"))
    assert verdict.words.startswith("a was best before pod default/there went 10 ms earlier")


def test_nor_what_is_bound_by_others() -> None:
    world = World(make_node("a"), make_node("b", cpu="5"))
    [pod], [other] = pods("p"), pods("other", scheduler="another")
    world.put(other, pod)
    world.bind(other, "b") if world.agreement.judges(other) else world.put(on_node(other, "b"))
    verdict = world.explained(world.bind(pod, "b"))
    assert verdict.words.startswith("b was best before pod default/other was bound to b 10 ms earlier")


def test_a_node_may_be_seen_later_than_a_pod_on_it() -> None:
    world = World(make_node("a"))
    [pod] = pods("p")
    world.put(pod)
    case = world.bind(pod, "b")
    assert (case.verdict.kind, case.verdict.words) == ("infeasible", "there is no node b")
    world.put(make_node("b"))
    verdict = world.explained(case)
    assert verdict.words.startswith("b is best once node b came 10 ms later")


def test_what_changed_before_the_pod_came_was_known() -> None:
    world = World(make_node("a"), make_node("b"), *pods("there", node="b"))
    world.put(make_node("c", cpu="8"))
    [pod] = pods("p")
    world.put(pod)
    case = world.bind(pod, "a")
    assert world.explained(case) == case.verdict
    assert case.verdict.kind == "disagreed"


def test_what_changed_long_ago_was_known() -> None:
    world = World(make_node("a"), make_node("b"), *pods("there", node="b"))
    [pod] = pods("p")
    world.put(pod, make_node("c", cpu="8"))
    world.now += 20
    assert world.explained(world.bind(pod, "a")).kind == "disagreed"


def test_a_wrong_choice_in_a_quiet_cluster_is_one() -> None:
    world = World(make_node("a"), make_node("b", taints=["soft:PreferNoSchedule"]))
    for number in range(20):
        [pod] = pods(f"p{number}", cpu="10m")
        world.put(pod)
        case = world.bind(pod, "b")
        verdict = world.explained(case)
        assert (verdict.kind, verdict.plugin) == ("disagreed", "TaintToleration")


def test_too_long_ago_is_said() -> None:
    world = World(make_node("a"), make_node("b", cpu="5"))
    world.door._most = 4
    [pod] = pods("p")
    world.put(pod)
    case = world.bind(pod, "a")
    world.put(*pods("x", "y", "z", "w", "v"))
    assert "too long ago" in world.explained(case).words


@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_decisions_in_order_whose_binds_come_in_another_are_all_explained(data: st.DataObject) -> None:
    """As kube-scheduler works: one decision after the other, with its own choices counted at once."""
    sizes = data.draw(st.lists(st.sampled_from(("4", "5", "8")), min_size=2, max_size=6))
    world = World(*(make_node(f"n{number}", cpu=cpu) for number, cpu in enumerate(sizes)))
    decided = World(*(make_node(f"n{number}", cpu=cpu) for number, cpu in enumerate(sizes)))
    waiting = pods(*(f"p{number}" for number in range(8)), cpu="500m")
    world.put(*waiting)
    choices = []
    for pod in waiting:
        best = decided.agreement.judge(pod, "n0").best
        node = data.draw(st.sampled_from(best))
        choices.append((pod, node))
        decided.put(on_node(pod, node))
    seen = [world.bind(pod, node) for pod, node in data.draw(st.permutations(choices))]
    for case in seen:
        if case.verdict.is_exception:
            assert world.explained(case).kind == "agreed"


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 2**32))
def test_whatever_is_tried_is_taken_back(seed: int) -> None:
    """Pods come, are announced, nominated, bound and go, names are used again, nodes come and go."""
    chance = Random(seed)
    world = World(*(make_node(f"n{number}") for number in range(4)))
    cases: list[Case] = []

    def coming(old: Pod | None, new: Pod) -> str:
        node = new.status.nominated_node_name
        if new.spec.node_name or not new.labels.get("announced"):
            return ""
        world.expected.announce(new, node)
        return node

    world.door.coming = coming
    for step in range(80):
        world.now += 0.01
        node = f"n{chance.randrange(5)}"
        there = world.door.pods()
        waiting = [pod for pod in there if not pod.spec.node_name]
        kind = chance.choice(("come", "come", "come", "bind", "bind", "nominate", "go", "node", "unnode"))
        if kind == "bind" and waiting:
            case = world.bind(chance.choice(waiting), node)
            cases += [case] if case.verdict.is_exception else []
        elif kind == "nominate" and waiting:
            pod = chance.choice(waiting)
            labels = chance.choice(({}, {"announced": "yes"}))
            status = {"nominatedNodeName": node}
            form: dict[str, Any] = {
                "uid": pod.uid,
                "priority": pod.priority,
                "labels": labels,
                "status": status,
            }
            world.door.put(make_pod(pod.name, cpu="500m", **form))
        elif kind == "go" and there:
            world.door.remove(chance.choice(there))
        elif kind == "node":
            world.door.put(make_node(node))
        elif kind == "unnode" and (info := world.door.state.node(node)) is not None:
            world.door.remove(info.node)
        else:
            name = f"p{chance.randrange(15)}"
            world.door.put(make_pod(name, uid=f"u{step}", cpu="500m", priority=chance.choice((0, 5))))
        if cases and chance.random() < 0.2:
            world.explained(cases.pop(0))
    if cases:
        before = described(world.door.state)
        found = world.timing.all_explained(cases, most_searches=2)
        assert [case for case, _ in found] == cases
        assert described(world.door.state) == before
