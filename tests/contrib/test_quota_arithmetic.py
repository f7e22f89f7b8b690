"""What is over a quota and what is not, by example and against the rule written out."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moorage.api.requests import Resources
from moorage.contrib.capacity.quota_arithmetic import UNLIMITED, Quota, quota_of, request_of, together
from moorage.testing import make_pod
from tests.contrib.quota_cases import quota

GPU = "example.com/gpu"
GIBI = 1 << 30


def bounds(min: dict[str, Any] | None = None, max: dict[str, Any] | None = None, **used: int) -> Quota:
    return quota_of(quota("team", min, max), amounts(**used))


def amounts(**named: int) -> Resources:
    return Resources({GPU if name == "gpu" else name: amount for name, amount in named.items()})


# What a pod counts for


def test_a_pod_counts_for_itself_and_all_it_asks_for() -> None:
    pod = make_pod(cpu="1500m", memory="1Gi", requests={GPU: 2, "ephemeral-storage": "5k"})
    assert request_of(pod) == {"cpu": 1500, "memory": GIBI, GPU: 2, "ephemeral-storage": 5000, "pods": 1}


def test_a_pod_that_asks_for_nothing_counts_as_a_pod() -> None:
    assert request_of(make_pod()) == {"pods": 1}


def test_init_containers_sidecars_and_overhead_count() -> None:
    def container(name: str, cpu: str, **more: Any) -> dict[str, Any]:
        return {"name": name, "resources": {"requests": {"cpu": cpu}}, **more}

    first = container("init", "3")
    sidecar = container("sidecar", "1", restartPolicy="Always")
    mains = [container("a", "1"), container("b", "1")]
    overhead = {"cpu": "250m"}
    assert request_of(make_pod(containers=mains, initContainers=[first], overhead=overhead))["cpu"] == 3250
    assert request_of(make_pod(containers=mains, initContainers=[sidecar], overhead=overhead))["cpu"] == 3250
    assert request_of(make_pod(containers=mains, initContainers=[sidecar, first]))["cpu"] == 4000


def test_requests_of_the_pod_as_a_whole_count_instead() -> None:
    assert request_of(make_pod(cpu="1", resources={"requests": {"cpu": "4"}}))["cpu"] == 4000


def test_a_request_that_cannot_be_read_counts_as_a_pod() -> None:
    assert request_of(make_pod(cpu="lots")) == {"pods": 1}


# Bounds


def test_as_much_is_not_over() -> None:
    team = bounds({"cpu": "1"}, {"cpu": "2"}, cpu=500)
    assert not team.is_over_min_with(amounts(cpu=500))
    assert team.is_over_min_with(amounts(cpu=501))
    assert not team.is_over_max_with(amounts(cpu=1500))
    assert team.is_over_max_with(amounts(cpu=1501))
    assert not bounds({"cpu": "1"}, cpu=1000).is_over_min
    assert bounds({"cpu": "1"}, cpu=1001).is_over_min


def test_the_numbers_of_the_worked_example() -> None:
    team = bounds({"memory": 1000}, {"memory": 2000}, memory=300)
    assert not team.is_over_max_with(amounts(memory=500))
    assert not team.is_over_min_with(amounts(memory=500))
    assert team.is_over_max_with(amounts(memory=1800))


@pytest.mark.parametrize("name", ["cpu", "memory", "ephemeral-storage", GPU])
def test_without_a_min_nothing_is_sure(name: str) -> None:
    for unbound in (bounds(), bounds(max={"cpu": "1"}), bounds({})):
        assert unbound.is_over_min_with(Resources({name: 1}))
        assert not unbound.is_over_min_with(Resources({name: 0}))


@pytest.mark.parametrize("name", ["cpu", "memory", "ephemeral-storage", "pods", GPU])
def test_without_a_max_there_is_none(name: str) -> None:
    for unbound in (bounds(), bounds({"cpu": "1"}), bounds(max={})):
        assert not unbound.is_over_max_with(Resources({name: UNLIMITED}))


def test_what_a_max_does_not_name_is_not_limited() -> None:
    """In the original, a max of cpu alone forbids all memory."""
    team = bounds(max={"cpu": "10"})
    assert not team.is_over_max_with(amounts(cpu=10_000, memory=GIBI, gpu=8, pods=1))


def test_what_a_min_does_not_name_is_not_sure() -> None:
    assert bounds({"cpu": "10"}).is_over_min_with(amounts(cpu=1, memory=1))


def test_gpus_count_for_who_asks_for_them() -> None:
    team = bounds({"cpu": "10"}, {"cpu": "10"}, gpu=3)
    assert team.is_over_min_with(amounts(gpu=1))
    assert not team.is_over_min_with(amounts(cpu=1))
    assert not team.is_over_max_with(amounts(gpu=1))
    assert team.is_over_min
    assert bounds({GPU: 4}, {GPU: 4}, gpu=3).is_over_max_with(amounts(gpu=2))


def test_pods_are_counted_where_they_are_named() -> None:
    team = bounds({"pods": 2}, {"pods": 3}, pods=2)
    assert not team.is_over_min
    assert team.is_over_min_with(amounts(pods=1))
    assert not team.is_over_max_with(amounts(pods=1))
    assert team.is_over_max_with(amounts(pods=2))
    assert not bounds({"cpu": "1"}, pods=1000).is_over_min


# What is wrong with an object


@pytest.mark.parametrize(
    ("min", "max", "problem"),
    [
        ({"cpu": "-1"}, None, "spec.min.cpu: -1 is less than nothing"),
        (None, {"memory": -5}, "spec.max.memory: -5 is less than nothing"),
        ({"cpu": "some"}, None, "spec.min.cpu: 'some' is not a quantity: use a number"),
        (None, {"pods": ""}, "spec.max.pods: "),
        ({"requests.cpu": "1"}, None, "spec.min.requests.cpu: no resource that a scheduler counts"),
    ],
)
def test_a_wrong_amount_is_told(min: dict[str, Any] | None, max: dict[str, Any] | None, problem: str) -> None:
    assert bounds(min, max).problem.startswith(problem)


def test_amounts_beyond_all_measure_are_still_amounts() -> None:
    team = bounds({"cpu": "1E"}, {"cpu": "1e40", "memory": "1e40"})
    assert team.problem == ""
    assert not team.is_over_max_with(amounts(cpu=10**15, memory=10**18))


# Against the rule


NAMES = ["cpu", "memory", "ephemeral-storage", "pods", GPU, "hugepages-2Mi"]
vectors = st.dictionaries(st.sampled_from(NAMES), st.integers(0, 5)).map(Resources)


def over_by_the_rule(wanted: Resources, used: Resources, limit: Resources, unnamed: int) -> bool:
    names = {"cpu", "memory", "ephemeral-storage", "pods", *wanted}
    for name in names:
        if name in limit:
            most = limit[name]
        elif name == "pods":
            continue
        else:
            most = unnamed
        if wanted.get(name, 0) + used.get(name, 0) > most:
            return True
    return False


@given(vectors, vectors, vectors, vectors)
def test_over_is_what_the_rule_says(
    wanted: Resources, used: Resources, low: Resources, high: Resources
) -> None:
    team = Quota(low, high, used)
    assert team.is_over_min_with(wanted) == over_by_the_rule(wanted, used, low, 0)
    assert team.is_over_max_with(wanted) == over_by_the_rule(wanted, used, high, UNLIMITED)
    assert team.is_over_min == over_by_the_rule(used, Resources(), low, 0)


@given(vectors, vectors, vectors)
def test_more_is_never_less_over(wanted: Resources, used: Resources, low: Resources) -> None:
    team = Quota(low, low, used)
    assert team.using(wanted).not_using(wanted).used + Resources() == used + dict.fromkeys(wanted, 0)
    if team.is_over_min_with(wanted):
        assert team.using(wanted).is_over_min_with(wanted)
    if team.is_over_max_with(wanted):
        assert team.is_over_max_with(wanted + wanted)


@given(st.lists(st.tuples(vectors, vectors)), vectors)
def test_all_together_are_over_when_their_sums_are(
    teams: list[tuple[Resources, Resources]], wanted: Resources
) -> None:
    quotas = [Quota(low, used=used) for low, used in teams]
    total_min = sum((low for low, _ in teams), Resources())
    total_used = sum((used for _, used in teams), Resources())
    if not all("pods" in low for low, _ in teams):
        total_min.pop("pods", None)
    expected = over_by_the_rule(wanted, total_used, total_min, 0)
    assert together(quotas).is_over_min_with(wanted) == expected


def test_a_quota_that_cannot_be_read_does_not_count_among_all() -> None:
    broken = quota_of(quota("broken", {"cpu": "-1"}), amounts(cpu=99))
    whole = together([broken, bounds({"cpu": "1"}, cpu=500)])
    assert (whole.min, whole.used) == ({"cpu": 1000}, {"cpu": 500})
