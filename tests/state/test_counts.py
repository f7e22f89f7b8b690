from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from moorage.api.pods import Pod
from moorage.api.selectors import Requirement, Selector
from moorage.plugins.catalog import in_tree_registry
from moorage.scheduler.cycle import NodeChooser
from moorage.state.affinity_terms import Term, terms_of
from moorage.state.cluster import ClusterState
from moorage.state.counts import Count, PodClass
from moorage.state.node_info import NodeInfo
from moorage.testing import make_node, make_pod
from moorage.what_if.scenario import Scenario
from tests.state.worlds import (
    AFFINITIES,
    HOST,
    REGION,
    ZONE,
    Document,
    affinity,
    ask,
    on,
    pods,
    selects,
    term,
)


def cluster(*placed: Pod) -> ClusterState:
    state = ClusterState()
    for name in ("a", "b"):
        state.put_node(make_node(name))
    for pod in placed:
        state.add_pod(pod)
    return state


def app(name: str, node: str, **rest: Any) -> Pod:
    return make_pod(name, node=node, namespace="ns1", labels={"app": "a"}, **rest)


def test_pods_that_look_alike_form_one_class() -> None:
    state = cluster(*(app(f"p{number}", "ab"[number % 2], cpu=f"{number + 1}m") for number in range(6)))
    assert len(state.counts) == 1
    state.add_pod(app("q", "a", metadata={"deletionTimestamp": "2026-01-01T00:00:00Z"}))
    state.add_pod(make_pod("r", node="a", namespace="ns2", labels={"app": "a"}))
    state.add_pod(app("s", "a", affinity=affinity(near=[term(ZONE, selects())])))
    assert len(state.counts) == 4


def test_a_count_is_filled_once_and_then_adjusted() -> None:
    asked: list[PodClass] = []

    def weigh(pod_class: PodClass) -> int:
        asked.append(pod_class)
        return 3

    state = cluster(app("p", "a"), app("q", "a"), app("r", "b"))
    column = state.counts.count("three each", weigh)
    assert ([column[row] for row in range(2)], len(asked)) == ([6, 3], 1)
    for number in range(50):
        state.add_pod(app(f"more-{number}", "b"))
    assert state.counts.count("three each", weigh) is column
    assert ([column[row] for row in range(2)], len(asked)) == ([6, 153], 1), "one question per class"


def test_classes_that_cannot_weigh_anything_are_not_asked() -> None:
    asked: list[str] = []

    def weigh(pod_class: PodClass) -> int:
        asked.append(f"{pod_class.namespace}/{pod_class.labels.get('app')}")
        return 1

    state = cluster(app("p", "a"))
    column = state.counts.count("limited", weigh, namespace="ns1", anchor=("app", "a"))
    state.add_pod(make_pod("q", node="a", namespace="ns2", labels={"app": "a"}))
    state.add_pod(make_pod("r", node="a", namespace="ns1", labels={"app": "b"}))
    state.add_pod(make_pod("s", node="a", namespace="ns1", labels={"app": "a", "more": "x"}))
    assert (asked, column[0]) == (["ns1/a", "ns1/a"], 2)


def test_the_oldest_counts_are_forgotten() -> None:
    state = cluster(app("p", "a"))
    ask(state, "affinity")
    for number in range(1000):
        state.counts.count(number, lambda pod_class: 1)
    (group,) = state.counts._classes.values()
    (only,) = group.values()
    assert len(state.counts._counts) == len(only.feeds) == 512
    assert len(list(state.table.columns)) < 540, "their columns went with them"
    assert ask(state, "affinity") == {"a": 1, "b": 0}


def test_a_class_that_died_while_its_pod_waited_on_a_ghost_comes_back_to_life() -> None:
    state = cluster(app("p", "a"), app("ghost", "c"))
    ask(state, "spread")
    state.remove_pod(app("p", "a").uid)
    assert len(state.counts) == 0
    for number in range(600):  # the count of before is gone
        state.counts.count(number, lambda pod_class: 0)
    state.put_node(make_node("c"))
    assert ask(state, "spread") == {"a": 0, "b": 0, "c": 1}
    state.remove_pod(app("ghost", "c").uid)
    assert ask(state, "spread") == {"a": 0, "b": 0, "c": 0}


# The terms of placed pods

SELECTORS: list[Document | None] = [
    None,
    selects(),
    selects({"app": "a"}),
    selects({"app": "a", "v": "1"}),
    {"matchExpressions": [{"key": "app", "operator": "NotIn", "values": ["a"]}]},
    {"matchExpressions": [{"key": "app", "operator": "In", "values": ["a", "b"]}]},
]
SCOPES: list[Document] = [
    {},
    {"namespaces": ["ns2"]},
    {"namespaceSelector": {}},
    {"namespaceSelector": {"matchLabels": {"team": "t"}}},
]
any_term = st.builds(
    lambda key, selector, scope: term(key, selector, **scope),
    st.sampled_from([HOST, ZONE]),
    st.sampled_from(SELECTORS),
    st.sampled_from(SCOPES),
)
any_affinity = st.builds(
    affinity,
    st.lists(any_term, max_size=2),
    st.lists(any_term, max_size=2),
    st.lists(st.tuples(st.integers(1, 3), any_term), max_size=2),
    st.lists(st.tuples(st.integers(1, 3), any_term), max_size=2),
)


@settings(max_examples=80, deadline=None)
@given(st.lists(any_affinity, max_size=4), st.data())
def test_the_terms_that_speak_of_a_pod(wanted: list[Document], data: st.DataObject) -> None:
    """Found through buckets and remembered; equal to asking every term of every pod."""
    state = cluster()
    placed: dict[str, Pod] = {}
    for number, document in enumerate(wanted):
        pod = make_pod(f"p{number}", node="a", namespace="ns1", affinity=document)
        state.add_pod(pod)
        placed[pod.uid] = pod
    for turn in range(3):
        labels = data.draw(st.sampled_from([{}, {"app": "a"}, {"app": "a", "v": "1"}, {"app": "b"}]))
        around: Mapping[str, str] = data.draw(st.sampled_from([{}, {"team": "t"}]))
        incoming = make_pod("in", namespace=data.draw(st.sampled_from(["ns1", "ns2"])), labels=labels)
        found = state.counts.terms.matching(incoming, around, (turn, tuple(around)))

        def speaks(item: Term, incoming: Pod = incoming, around: Mapping[str, str] = around) -> bool:
            return item.matches(incoming.namespace, incoming.labels, around)

        held = [terms_of(pod) for pod in placed.values()]
        assert found.affinity == {t for terms in held for t in terms.affinity if speaks(t)}
        assert found.anti_affinity == {t for terms in held for t in terms.anti_affinity if speaks(t)}
        assert found.preferred_affinity == {
            t for terms in held for t in terms.preferred_affinity if speaks(t.term)
        }
        assert found.preferred_anti_affinity == {
            t for terms in held for t in terms.preferred_anti_affinity if speaks(t.term)
        }
        assert state.counts.terms.any == any(any(terms[:4]) for terms in held)
        assert state.counts.terms.any_anti_affinity == any(terms.anti_affinity for terms in held)
        if data.draw(st.booleans()) and placed:
            state.remove_pod(placed.popitem()[0])


def test_matches_are_remembered_until_terms_or_namespaces_change(monkeypatch: pytest.MonkeyPatch) -> None:
    state = cluster(app("p", "a", affinity=AFFINITIES[3]))
    asked = 0
    plain = Term.matches

    def counted(self: Term, *args: Any) -> bool:
        nonlocal asked
        asked += 1
        return plain(self, *args)

    monkeypatch.setattr(Term, "matches", counted)
    incoming = make_pod("in", namespace="ns1", labels={"app": "a"})
    first = state.counts.terms.matching(incoming, {}, 1)
    before = asked
    state.add_pod(app("q", "b", affinity=AFFINITIES[3]))  # the same terms once more
    assert (
        state.counts.terms.matching(make_pod("other", namespace="ns1", labels={"app": "a"}), {}, 1) is first
    )
    assert asked == before
    assert state.counts.terms.matching(incoming, {}, 2) is not first
    again = state.counts.terms.matching(incoming, {}, 2)
    state.add_pod(app("r", "b", affinity=AFFINITIES[4]))
    assert state.counts.terms.matching(incoming, {}, 2) is not again


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 5), st.sampled_from("ab")), max_size=8), st.data())
def test_it_makes_no_difference_when_a_count_is_asked_for(
    steps: list[tuple[int, str]], data: st.DataObject
) -> None:
    early, late = cluster(), cluster()
    ask(early, "spread")
    ask(early, "preferences")
    for number, node in steps:
        pod = on(data.draw(pods(f"p{number}")), node)
        early.add_pod(pod)
        late.add_pod(pod)
    for question in ("spread", "preferences"):
        assert ask(early, question) == ask(late, question)


# No cycle walks over pods


def test_the_work_of_a_cycle_does_not_grow_with_the_pods(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pods of one template, placed one cycle after the other, with everything that counts other pods."""
    world = Scenario(
        [make_node(f"n{i}", labels={ZONE: f"z{i % 3}", REGION: "r"}) for i in range(30)], in_tree_registry()
    )
    near, far = term(REGION, selects({"app": "a"})), term(HOST, selects({"app": "b"}))
    spread = [
        {
            "maxSkew": 5,
            "topologyKey": key,
            "whenUnsatisfiable": action,
            "labelSelector": selects({"app": "a"}),
        }
        for key, action in ((ZONE, "DoNotSchedule"), (HOST, "ScheduleAnyway"))
    ]

    def template(name: str) -> Pod:
        wanted = affinity(near=[near], far=[far], prefer=[(3, near)], avoid=[(2, far)])
        return make_pod(
            name, labels={"app": "a"}, cpu="1m", affinity=wanted, topologySpreadConstraints=spread
        )

    calls: Counter[str] = Counter()

    def count_calls(owner: type, method: str) -> None:
        plain = getattr(owner, method)

        def counted(*args: Any) -> Any:
            calls[f"{owner.__name__}.{method}"] += 1
            return plain(*args)

        monkeypatch.setattr(owner, method, counted)

    count_calls(Selector, "matches")
    count_calls(Requirement, "matches")
    count_calls(Count, "could_weigh")
    scheduling = NodeChooser()
    work: dict[int, Counter[str]] = {}
    for number in range(1000):
        pod = template(f"p{number}")
        calls.clear()
        with monkeypatch.context() as during:
            for name in ("pods", "pod_infos"):
                during.setattr(NodeInfo, name, property(lambda info: pytest.fail("walks over pods")))
            decision = scheduling.decide(world.profile, pod)
        assert decision.node_name, decision.failure
        world.services.state.assume(pod, decision.node_name)
        work[number] = calls.copy()
    assert work[999] == work[5]
    assert work[999]["Count.could_weigh"] == 0
    assert sum(work[999].values()) < 20
