"""The live count: which pods count, whatever comes first."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from moorage.api.pods import Pod
from moorage.api.requests import Resources
from moorage.contrib.capacity.quota_arithmetic import request_of, together
from moorage.contrib.capacity.quotas import Quotas
from moorage.contrib.objects import ElasticQuota
from moorage.testing import FakeHandle, make_node, make_pod
from tests.contrib.quota_cases import quota

NODE = make_node("n")


def made(*objects: Any) -> tuple[FakeHandle, Quotas]:
    handle = FakeHandle([NODE, *objects])
    return handle, handle.shared(Quotas)


def used(quotas: Quotas, namespace: str = "team") -> dict[str, int]:
    found = quotas.of(namespace)
    assert found is not None
    return {name: amount for name, amount in found.used.items() if amount}


def placed(name: str = "p", cpu: str = "1", namespace: str = "team", **more: Any) -> Pod:
    return make_pod(name, namespace=namespace, cpu=cpu, node="n", **more)


ONE = {"cpu": 1000, "pods": 1}


def test_pods_that_are_there_before_their_quota_count() -> None:
    handle, quotas = made(placed())
    assert quotas.of("team") is None
    handle.add(quota("team"))
    assert used(quotas) == ONE


def test_what_is_there_before_the_plugin_counts() -> None:
    assert used(made(placed(), quota("team"))[1]) == ONE


def test_pods_without_a_node_do_not_count() -> None:
    handle, quotas = made(quota("team"), make_pod("p", namespace="team", cpu="1"))
    assert used(quotas) == {}
    handle.add(placed())
    assert used(quotas) == ONE


@pytest.mark.parametrize("phase", ["Succeeded", "Failed"])
def test_finished_pods_do_not_count(phase: str) -> None:
    handle, quotas = made(quota("team"), placed("never", status={"phase": phase}), placed())
    assert used(quotas) == ONE
    handle.add(placed(status={"phase": phase}))
    assert used(quotas) == {}
    handle.add(placed(status={"phase": phase}))
    assert used(quotas) == {}


def test_of_several_pods_one_goes() -> None:
    pods = [placed(f"p{i}", cpu=str(i)) for i in (1, 2, 3)]
    handle, quotas = made(quota("team"), *pods)
    handle.remove(pods[1])
    assert used(quotas) == {"cpu": 4000, "pods": 2}


def test_a_pod_that_is_resized_counts_for_what_it_has_now() -> None:
    handle, quotas = made(quota("team"), placed())
    handle.add(placed(cpu="3"))
    assert used(quotas) == {"cpu": 3000, "pods": 1}


def test_reserving_counts_once_and_is_taken_back_once() -> None:
    _, quotas = made(quota("team"))
    pod = placed()
    for _ in range(2):
        quotas.reserve(pod)
        assert used(quotas) == ONE
    for _ in range(2):
        quotas.unreserve(pod)
        assert used(quotas) == {}


def test_a_reserved_pod_that_is_bound_counts_once() -> None:
    handle, quotas = made(quota("team"))
    pod = make_pod("p", namespace="team", cpu="1")
    quotas.reserve(handle.state.assume(pod, "n"))
    handle.add(placed())
    assert used(quotas) == ONE


def test_a_pod_that_was_bound_after_all_stays_counted() -> None:
    """The answer to a bind was lost: the scheduler gives the node back, the API server has the pod there."""
    handle, quotas = made(quota("team"))
    assumed = handle.state.assume(make_pod("p", namespace="team", cpu="1"), "n")
    quotas.reserve(assumed)
    handle.add(placed())
    quotas.unreserve(assumed)
    assert used(quotas) == ONE


def test_a_reserved_pod_that_is_deleted_counts_no_longer() -> None:
    handle, quotas = made(quota("team"))
    pod = make_pod("p", namespace="team", cpu="1")
    handle.add(pod)
    assumed = handle.state.assume(pod, "n")
    quotas.reserve(assumed)
    handle.remove(pod)
    assert used(quotas) == {}
    quotas.unreserve(assumed)
    assert used(quotas) == {}


def test_another_pod_of_the_same_name_is_another_pod() -> None:
    handle, quotas = made(quota("team"), placed(uid="first"))
    handle.add(placed(cpu="2", uid="second"))
    assert used(quotas) == {"cpu": 2000, "pods": 1}


def test_a_pod_whose_request_cannot_be_read_counts_as_a_pod() -> None:
    assert used(made(quota("team"), placed(cpu="lots"))[1]) == {"pods": 1}


# Which quota counts


def test_a_quota_that_changes_keeps_what_is_used() -> None:
    handle, quotas = made(quota("team", {"cpu": "1"}), placed())
    handle.add(quota("team", {"cpu": "5"}))
    found = quotas.of("team")
    assert found is not None
    assert found.min == {"cpu": 5000}
    assert used(quotas) == ONE


def test_a_deleted_quota_is_gone_and_comes_back_with_what_is_used() -> None:
    handle, quotas = made(quota("team"), placed())
    handle.remove(quota("team"))
    assert quotas.of("team") is None
    handle.add(quota("team"))
    assert used(quotas) == ONE


OLD = quota("team", {"cpu": "1"}, name="old", created="2026-01-01T00:00:00Z")
NEW = quota("team", {"cpu": "2"}, name="new", created="2026-01-02T00:00:00Z")


@pytest.mark.parametrize("objects", [(OLD, NEW), (NEW, OLD)])
def test_of_two_quotas_the_older_counts(objects: tuple[ElasticQuota, ElasticQuota]) -> None:
    handle, quotas = made(*objects)
    found = quotas.of("team")
    assert found is not None
    assert found.min == {"cpu": 1000}
    last = handle.events[-1]
    assert (last.regarding.name, last.type, last.reason) == ("new", "Warning", "InvalidQuota")
    assert last.note == "does not count: ElasticQuota old of the same namespace is older"
    handle.remove(OLD)
    after = quotas.of("team")
    assert after is not None
    assert after.min == {"cpu": 2000}


def test_of_two_quotas_of_one_age_the_name_decides() -> None:
    one, two = quota("team", {"cpu": "1"}, name="a"), quota("team", {"cpu": "2"}, name="b")
    for objects in ((one, two), (two, one)):
        found = made(*objects)[1].of("team")
        assert found is not None
        assert found.min == {"cpu": 1000}


def test_a_warning_is_not_repeated_while_nothing_changes() -> None:
    handle, _ = made(OLD, NEW)
    handle.add(NEW, OLD, NEW)
    assert len(handle.events) == 1
    handle.remove(NEW)
    handle.add(NEW)
    assert len(handle.events) == 2


def test_a_quota_that_cannot_be_read_is_told_of() -> None:
    handle, quotas = made(quota("team", {"cpu": "-1"}))
    (event,) = handle.events
    assert event.note == "pods of namespace team have to wait: spec.min.cpu: -1 is less than nothing"
    found = quotas.of("team")
    assert found is not None
    assert found.problem == "spec.min.cpu: -1 is less than nothing"
    handle.add(quota("team", {"cpu": "1"}))
    assert quotas.of("team") == ({"cpu": 1000}, {}, {}, "")


def test_who_does_not_lead_tells_nobody_until_then() -> None:
    handle, quotas = made(OLD)
    handle.services.may_bind = lambda: False
    handle.add(NEW)
    assert handle.events == []
    handle.services.may_bind = lambda: True
    quotas.tell()
    quotas.tell()
    assert len(handle.events) == 1


def test_all_profiles_share_one_count() -> None:
    handle, quotas = made(quota("team"))
    assert handle.shared(Quotas) is quotas


def test_the_plugin_waits_for_the_first_list_and_no_longer_than_half_a_minute() -> None:
    handle, _ = made()
    assert [each.seconds for each in handle.lister_of(ElasticQuota).requirements] == [30.0]


# As it would be


def test_a_snapshot_changes_alone() -> None:
    _, quotas = made(quota("team", {"cpu": "1"}), placed())
    first = quotas.snapshot()
    second = first.clone()
    second.add(placed("other", cpu="2"))
    assert [books.of("team").used["cpu"] for books in (first, second)] == [1000, 3000]  # type: ignore[union-attr]
    assert [books.total.used["cpu"] for books in (first, second)] == [1000, 3000]
    assert used(quotas) == ONE


def test_in_a_snapshot_pods_come_and_go_once() -> None:
    _, quotas = made(quota("team"), placed())
    books = quotas.snapshot()
    here, there = placed(), placed("other", cpu="2")

    def cpu() -> int:
        found = books.of("team")
        assert found is not None
        return found.used["cpu"]

    seen = []
    steps = (books.add, here), (books.remove, there), (books.remove, here), (books.remove, here)
    for act, pod in (
        *steps,
        (books.add, there),
        (books.add, there),
        (books.add, here),
        (books.remove, there),
    ):
        act(pod)
        seen.append(cpu())
    assert seen == [1000, 1000, 0, 0, 2000, 2000, 3000, 1000]


# Against a count from scratch


class Model:
    """All that there is, counted anew whenever somebody asks."""

    def __init__(self) -> None:
        self.pods: dict[str, Pod] = {}
        self.reserved: dict[str, Pod] = {}
        self.quotas: dict[tuple[str, str], ElasticQuota] = {}

    def used(self, namespace: str) -> Resources:
        counted = {pod.uid: pod for pod in self.reserved.values()}
        counted |= {pod.uid: pod for pod in self.pods.values() if pod.spec.node_name}
        mine = [request_of(pod) for pod in counted.values() if pod.namespace == namespace]
        return sum(mine, Resources())

    def oldest(self, namespace: str) -> ElasticQuota | None:
        found = [each for each in self.quotas.values() if each.namespace == namespace]
        return min(found, key=lambda each: (each.metadata.creation_timestamp, each.name), default=None)


NAMESPACES = ["red", "blue"]
STEPS = ["pending", "place", "finish", "delete", "reserve", "reserve", "unreserve", "quota", "quota", "drop"]
steps = st.lists(
    st.tuples(
        st.sampled_from(STEPS),
        st.sampled_from(NAMESPACES),
        st.integers(0, 2),
        st.integers(1, 3),
    ),
    max_size=40,
)


@settings(max_examples=60, deadline=None)
@given(steps)
def test_the_count_is_exact_whatever_happens(history: list[tuple[str, str, int, int]]) -> None:
    handle, quotas = made()
    model = Model()
    for what, namespace, number, amount in history:
        play(what, namespace, f"p{number}", amount, handle, quotas, model)
        for each in NAMESPACES:
            found, expected = quotas.of(each), model.oldest(each)
            assert (found is None) == (expected is None)
            if found is not None and expected is not None:
                assert found.min["cpu"] == int(str((expected.spec.min or {})["cpu"])) * 1000
                assert found.used + {} == model.used(each) + dict.fromkeys(found.used, 0)
        known = [quotas.of(each) for each in NAMESPACES]
        total = quotas.snapshot().total
        expected_total = together([each for each in known if each is not None])
        assert (total.min, total.used + {}) == (
            expected_total.min,
            expected_total.used + dict.fromkeys(total.used, 0),
        )


def play(
    what: str, namespace: str, name: str, amount: int, handle: FakeHandle, quotas: Quotas, model: Model
) -> None:
    """One step, in the scheduler and in the model."""
    key = f"{namespace}/{name}"
    known = model.pods.get(key)
    if what == "quota":
        item = quota(namespace, {"cpu": str(amount)}, name=name, created=f"2026-01-0{4 - amount}T00:00:00Z")
        handle.add(item)
        model.quotas[namespace, name] = item
    elif what == "drop":
        item_or_none = model.quotas.pop((namespace, name), None)
        if item_or_none is not None:
            handle.remove(item_or_none)
    elif what == "pending":
        if known is None:
            pod = make_pod(name, namespace=namespace, cpu=str(amount))
            handle.add(pod)
            model.pods[key] = pod
    elif what == "place":
        pod = make_pod(name, namespace=namespace, cpu=str(amount), node="n")
        handle.add(pod)
        model.pods[key] = pod
        model.reserved.pop(key, None)
    elif what == "reserve":
        if known is not None and not known.spec.node_name and key not in model.reserved:
            model.reserved[key] = handle.state.assume(known, "n")
        if key in model.reserved:
            quotas.reserve(model.reserved[key])
    elif what == "unreserve":
        assumed = model.reserved.pop(key, None)
        if assumed is not None:
            quotas.unreserve(assumed)
            handle.state.forget(assumed)
            quotas.unreserve(assumed)
    elif known is not None:
        model.pods.pop(key)
        assumed = model.reserved.pop(key, None)
        if what == "finish":
            done = {"phase": "Succeeded"}
            handle.add(make_pod(name, namespace=namespace, node=known.spec.node_name, status=done))
        else:
            handle.remove(known)
        if assumed is not None and handle.state.is_assumed(assumed.uid):
            handle.state.forget(assumed)
