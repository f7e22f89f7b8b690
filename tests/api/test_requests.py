from __future__ import annotations

from fractions import Fraction
from math import ceil, floor
from typing import Any, TypeAlias

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from moorage.api import decoding
from moorage.api.pods import Pod
from moorage.api.quantities import NANOS, QuantityError, parse
from moorage.api.requests import (
    DEFAULT_REQUESTS,
    Resources,
    allocatable,
    filter_request,
    has_pod_level_requests,
    pod_requests,
    request_summary,
    rounded,
    row_request,
)

Document: TypeAlias = dict[str, Any]
Amounts: TypeAlias = dict[str, Fraction]

PROPERTY = settings(max_examples=200, deadline=None)
MI = 2**20
INFEASIBLE = [{"type": "PodResizePending", "status": "True", "reason": "Infeasible"}]
DEFERRED = [{"type": "PodResizePending", "status": "True", "reason": "Deferred"}]


def container(name: str = "c", restart: str | None = None, **requests: str) -> Document:
    """A container; `_` in a resource name stands for `-`."""
    document: Document = {"name": name, "resources": {"requests": _named(requests)}}
    return document if restart is None else document | {"restartPolicy": restart}


def sidecar(name: str = "s", **requests: str) -> Document:
    return container(name, "Always", **requests)


def status(name: str, actuated: Document | None, allocated: Document | None = None) -> Document:
    document: Document = {"name": name}
    if actuated is not None:
        document["resources"] = {"requests": actuated}
    if allocated is not None:
        document["allocatedResources"] = allocated
    return document


def pod(
    *containers: Document, init: tuple[Document, ...] = (), state: Document | None = None, **spec: Any
) -> Pod:
    document = {
        "metadata": {"name": "p"},
        "spec": {"containers": list(containers), "initContainers": list(init), **spec},
        "status": state or {},
    }
    return decoding.from_document(Pod, document)


def _named(requests: dict[str, str]) -> dict[str, str]:
    return {name.replace("_", "-"): amount for name, amount in requests.items()}


def row_nonzero_request(pod: Pod) -> tuple[int, int]:
    """Millicores and bytes a pod counts for in scores."""
    nonzero = request_summary(pod).nonzero
    return nonzero["cpu"], nonzero["memory"]


def cpu(requests: dict[str, int]) -> int:
    return rounded(requests)["cpu"]


def test_a_sidecar_before_an_init_container_counts_in_its_peak() -> None:
    containers = container("a", cpu="300m"), container("b", cpu="200m")
    init = sidecar(cpu="500m"), container("i", cpu="1")
    assert filter_request(pod(*containers, init=init, overhead={"cpu": "100m"})) == {"cpu": 1600}


def test_a_sidecar_after_an_init_container_does_not() -> None:
    containers = container("a", cpu="300m"), container("b", cpu="200m")
    init = container("i", cpu="1"), sidecar(cpu="500m")
    assert filter_request(pod(*containers, init=init, overhead={"cpu": "100m"})) == {"cpu": 1100}


def test_two_containers_without_requests() -> None:
    two = pod(container("a"), container("b"))
    assert filter_request(two) == {}
    assert filter_request(two)["cpu"] == 0
    assert row_request(two) == {}
    assert row_nonzero_request(two) == (200, 419430400)


def test_pod_level_cpu_over_a_container_without_requests() -> None:
    whole = pod(container(), resources={"requests": {"cpu": "2"}})
    assert filter_request(whole) == {"cpu": 2000}
    assert cpu(pod_requests(whole, pod_level=False, defaults=DEFAULT_REQUESTS)) == 100
    assert row_nonzero_request(whole) == (2000, 200 * MI)


def test_defaults() -> None:
    assert rounded(DEFAULT_REQUESTS) == {"cpu": 100, "memory": 209715200}


def test_a_pod_without_containers() -> None:
    assert pod_requests(pod()) == {}
    assert row_nonzero_request(pod()) == (0, 0)


@pytest.mark.parametrize(
    ("amounts", "expected"),
    [
        (("0.5m", "0.5m"), 1),
        (("1500u",), 2),
        (("1500u", "500u"), 2),
        (("100m", "0.1"), 200),
        (("1n",), 1),
    ],
)
def test_rounding_happens_once_on_the_total(amounts: tuple[str, ...], expected: int) -> None:
    containers = [container(f"c{index}", cpu=amount) for index, amount in enumerate(amounts)]
    assert filter_request(pod(*containers))["cpu"] == expected


@pytest.mark.parametrize(
    ("name", "amount", "expected"),
    [
        ("cpu", "1500u", {"cpu": 2}),
        ("cpu", "1.5", {"cpu": 1500}),
        ("memory", "1.5", {"memory": 2}),
        ("memory", "100m", {"memory": 1}),
        ("ephemeral-storage", "1.5Ki", {"ephemeral-storage": 1536}),
        ("hugepages-2Mi", "4Mi", {"hugepages-2Mi": 4 * MI}),
        ("example.com/gpu", "2", {"example.com/gpu": 2}),
        ("attachable-volumes-x", "2", {"attachable-volumes-x": 2}),
        ("kubernetes.io/x", "2", {"kubernetes.io/x": 2}),
        ("pods", "2", {}),
        ("storage", "2", {}),
        ("requests.example.com/gpu", "2", {}),
    ],
)
def test_the_vector_keeps_the_names_a_scheduler_counts(
    name: str, amount: str, expected: dict[str, int]
) -> None:
    asking = pod({"name": "c", "resources": {"requests": {name: amount}}})
    assert filter_request(asking) == row_request(asking) == expected


def test_a_missing_name_reads_as_zero_and_is_not_kept() -> None:
    resources = Resources(cpu=1)
    assert resources["memory"] == 0
    assert resources == {"cpu": 1}


@pytest.mark.parametrize(
    ("amounts", "expected"),
    [
        ({}, {}),
        ({"cpu": "4", "memory": "8Gi", "pods": "110"}, {"cpu": 4000, "memory": 8 * 2**30, "pods": 110}),
        ({"pods": "1.5", "cpu": "1500u"}, {"pods": 2, "cpu": 2}),
        ({"pods": "0"}, {"pods": 0}),
        ({"example.com/gpu": 2, "storage": "5"}, {"example.com/gpu": 2}),
    ],
)
def test_allocatable(amounts: dict[str, str | int], expected: dict[str, int]) -> None:
    assert allocatable(dict(amounts)) == expected


def test_limits_and_ephemeral_containers_do_not_count() -> None:
    limited = {"name": "c", "resources": {"limits": {"cpu": "3"}, "requests": {"cpu": "1"}}}
    ephemeral = [{"name": "e", "resources": {"requests": {"cpu": "5"}}}]
    assert filter_request(pod(limited, ephemeralContainers=ephemeral)) == {"cpu": 1000}


def test_the_peak_is_taken_name_by_name() -> None:
    init = container("i", cpu="2"), container("j", memory="1Gi")
    assert filter_request(pod(container(cpu="1", memory="2Gi"), init=init)) == {
        "cpu": 2000,
        "memory": 2 * 2**30,
    }


def test_a_name_only_an_init_container_asks_for_counts() -> None:
    init = (container("i", ephemeral_storage="5"),)
    assert filter_request(pod(container(cpu="1"), init=init)) == {"cpu": 1000, "ephemeral-storage": 5}


def test_sidecars_add_up_in_later_peaks() -> None:
    init = sidecar("s1", cpu="1"), container("i", cpu="1"), sidecar("s2", cpu="1"), container("j", cpu="3")
    assert filter_request(pod(container(cpu="1"), init=init)) == {"cpu": 5000}
    assert filter_request(pod(container(cpu="4"), init=init)) == {"cpu": 6000}


@pytest.mark.parametrize("restart", ["", "OnFailure", "Never", "always"])
def test_only_always_makes_a_sidecar(restart: str) -> None:
    assert filter_request(pod(container(cpu="1"), init=(container("i", restart, cpu="1"),))) == {"cpu": 1000}


def test_overhead_comes_last_and_brings_its_own_names() -> None:
    loaded = pod(
        container(cpu="1"),
        resources={"requests": {"cpu": "3"}},
        overhead={"cpu": "250m", "memory": "64Mi"},
    )
    assert filter_request(loaded) == {"cpu": 3250, "memory": 64 * MI}
    assert pod_requests(pod(container(cpu="1"), overhead={})) == {"cpu": NANOS}


@pytest.mark.parametrize(
    ("requests", "expected"),
    [
        ({"cpu": "2"}, {"cpu": 2000, "memory": 5, "ephemeral-storage": 5, "hugepages-2Mi": 5}),
        ({"cpu": "500m"}, {"cpu": 500, "memory": 5, "ephemeral-storage": 5, "hugepages-2Mi": 5}),
        ({"cpu": "0"}, {"cpu": 0, "memory": 5, "ephemeral-storage": 5, "hugepages-2Mi": 5}),
        ({"memory": "7"}, {"cpu": 1000, "memory": 7, "ephemeral-storage": 5, "hugepages-2Mi": 5}),
        ({"hugepages-2Mi": "7"}, {"cpu": 1000, "memory": 5, "ephemeral-storage": 5, "hugepages-2Mi": 7}),
        ({"ephemeral-storage": "7"}, {"cpu": 1000, "memory": 5, "ephemeral-storage": 5, "hugepages-2Mi": 5}),
        (
            {"cpu": "2", "ephemeral-storage": "7"},
            {"cpu": 2000, "memory": 5, "ephemeral-storage": 5, "hugepages-2Mi": 5},
        ),
        ({}, {"cpu": 1000, "memory": 5, "ephemeral-storage": 5, "hugepages-2Mi": 5}),
    ],
)
def test_pod_level_requests_replace_supported_names(requests: Document, expected: dict[str, int]) -> None:
    asking = container(cpu="1", memory="5", ephemeral_storage="5")
    asking["resources"]["requests"]["hugepages-2Mi"] = "5"
    whole = pod(asking, resources={"requests": requests})
    assert filter_request(whole) == expected
    assert row_request(whole) == expected
    assert cpu(pod_requests(whole, pod_level=False)) == 1000


@pytest.mark.parametrize(
    ("resources", "expected"),
    [
        (None, False),
        ({}, False),
        ({"limits": {"cpu": "1"}}, False),
        ({"requests": {}}, False),
        ({"requests": {"ephemeral-storage": "1"}}, False),
        ({"requests": {"example.com/gpu": "1"}}, False),
        ({"requests": {"cpu": "0"}}, True),
        ({"requests": {"memory": "1"}}, True),
        ({"requests": {"hugepages-1Gi": "1Gi"}}, True),
    ],
)
def test_whether_pod_level_requests_are_set(resources: Document | None, expected: bool) -> None:
    assert has_pod_level_requests(pod(resources=resources)) is expected


@pytest.mark.parametrize(
    ("wanted", "actuated", "allocated", "most", "if_infeasible"),
    [
        ({"cpu": "1"}, {"cpu": "2"}, {"cpu": "3"}, {"cpu": 3000}, {"cpu": 3000}),
        ({"cpu": "3"}, {"cpu": "2"}, {"cpu": "1"}, {"cpu": 3000}, {"cpu": 2000}),
        ({"cpu": "3"}, {"cpu": "1"}, None, {"cpu": 3000}, {"cpu": 1000}),
        ({"cpu": "3"}, {}, {}, {"cpu": 3000}, {}),
        ({"cpu": "3"}, {"memory": "5"}, None, {"cpu": 3000, "memory": 5}, {"memory": 5}),
        ({}, {}, {"cpu": "2"}, {"cpu": 2000}, {"cpu": 2000}),
        ({"cpu": "3"}, None, {"cpu": "5"}, {"cpu": 3000}, {"cpu": 3000}),
        ({"cpu": "-3"}, {"cpu": "-2"}, None, {"cpu": -2000}, {"cpu": -2000}),
        ({"cpu": "-3"}, {}, None, {"cpu": -3000}, {}),
    ],
)
def test_a_resized_container(
    wanted: dict[str, str],
    actuated: dict[str, str] | None,
    allocated: dict[str, str] | None,
    most: dict[str, int],
    if_infeasible: dict[str, int],
) -> None:
    statuses = [status("other", {"cpu": "9"}), status("c", actuated, allocated)]
    resized = pod(container(**wanted), state={"containerStatuses": statuses})
    assert row_request(resized) == most
    deferred = pod(container(**wanted), state={"containerStatuses": statuses, "conditions": DEFERRED})
    assert row_request(deferred) == most
    infeasible = pod(container(**wanted), state={"containerStatuses": statuses, "conditions": INFEASIBLE})
    assert row_request(infeasible) == if_infeasible
    assert pod_requests(resized) == {name: parse(amount) for name, amount in wanted.items()}


def test_the_first_condition_of_the_type_decides() -> None:
    statuses = [status("c", {"cpu": "1"})]
    first_deferred = {"containerStatuses": statuses, "conditions": DEFERRED + INFEASIBLE}
    assert row_request(pod(container(cpu="3"), state=first_deferred)) == {"cpu": 3000}
    other_type = [{"type": "PodResizeInProgress", "reason": "Infeasible"}]
    first_infeasible = {"containerStatuses": statuses, "conditions": other_type + INFEASIBLE + DEFERRED}
    assert row_request(pod(container(cpu="3"), state=first_infeasible)) == {"cpu": 1000}


def test_infeasible_alone_changes_nothing_without_a_status() -> None:
    assert row_request(pod(container(cpu="3"), state={"conditions": INFEASIBLE})) == {"cpu": 3000}


def test_status_counts_for_sidecars_but_not_for_ordinary_init_containers() -> None:
    grown = {"initContainerStatuses": [status("i", {"cpu": "5"})]}
    assert row_request(pod(init=(sidecar("i", cpu="1"),), state=grown)) == {"cpu": 5000}
    assert row_request(pod(init=(container("i", cpu="1"),), state=grown)) == {"cpu": 1000}


@pytest.mark.parametrize(
    ("actuated", "allocated", "conditions", "expected"),
    [
        (None, None, [], 2000),
        (None, {"cpu": "9"}, [], 2000),
        (None, None, INFEASIBLE, 2000),
        ({"cpu": "3"}, None, [], 3000),
        ({"cpu": "1"}, {"cpu": "4"}, [], 4000),
        ({"cpu": "1"}, {"cpu": "1"}, [], 2000),
        ({"cpu": "1"}, {"cpu": "1500m"}, INFEASIBLE, 1500),
        ({}, None, INFEASIBLE, 0),
        ({"memory": "1"}, None, [], 2000),
    ],
)
def test_a_resized_pod(
    actuated: Document | None, allocated: Document | None, conditions: list[Document], expected: int
) -> None:
    state: Document = {"conditions": conditions}
    if actuated is not None:
        state["resources"] = {"requests": actuated}
    if allocated is not None:
        state["allocatedResources"] = allocated
    resized = pod(container(cpu="1"), resources={"requests": {"cpu": "2"}}, state=state)
    assert row_request(resized) == {"cpu": expected}
    assert filter_request(resized) == {"cpu": 2000}


def test_status_brings_no_name_to_the_pod_level_that_the_spec_does_not_have() -> None:
    state = {"resources": {"requests": {"cpu": "3", "memory": "5"}}}
    assert row_request(pod(container(), resources={"requests": {"cpu": "2"}}, state=state)) == {"cpu": 3000}


def test_status_of_the_pod_is_nothing_without_pod_level_requests() -> None:
    state = {"resources": {"requests": {"cpu": "3"}}, "allocatedResources": {"cpu": "4"}}
    assert row_request(pod(container(cpu="1"), state=state)) == {"cpu": 1000}


@pytest.mark.parametrize(
    ("containers", "init", "spec", "expected"),
    [
        ([container(cpu="0", memory="0")], (), {}, (0, 0)),
        ([container(cpu="0")], (), {}, (0, 200 * MI)),
        ([container(cpu="300m", memory="1Gi")], (), {}, (300, 1024 * MI)),
        ([container("a"), container("b"), container("c")], (), {}, (300, 600 * MI)),
        ([container("a", cpu="1"), container("b")], (), {}, (1100, 400 * MI)),
        ([container()], (container("i"),), {}, (100, 200 * MI)),
        ([container()], (container("i", cpu="1"),), {}, (1000, 200 * MI)),
        ([container()], (sidecar(),), {}, (200, 400 * MI)),
        ([container()], (sidecar(), container("i")), {}, (200, 400 * MI)),
        ([container()], (), {"overhead": {"cpu": "1"}}, (1100, 200 * MI)),
        (
            [container("a"), container("b")],
            (),
            {"resources": {"requests": {"memory": "1Gi"}}},
            (200, 1024 * MI),
        ),
        ([container()], (), {"resources": {"requests": {"cpu": "2", "memory": "1Gi"}}}, (2000, 1024 * MI)),
        ([container()], (), {"resources": {"requests": {"cpu": "0"}}}, (0, 200 * MI)),
        ([container()], (), {"resources": {"requests": {"hugepages-2Mi": "2Mi"}}}, (100, 200 * MI)),
        (
            [container("a", cpu="1"), container("b")],
            (),
            {"resources": {"requests": {"memory": "1Gi"}}},
            (1000, 1024 * MI),
        ),
        (
            [container()],
            (),
            {"resources": {"requests": {"cpu": "2"}}, "overhead": {"memory": "1Mi"}},
            (2000, 1 * MI),
        ),
        ([container()], (), {"resources": {"requests": {"ephemeral-storage": "1"}}}, (100, 200 * MI)),
    ],
)
def test_nonzero_requests(
    containers: list[Document], init: tuple[Document, ...], spec: Document, expected: tuple[int, int]
) -> None:
    assert row_nonzero_request(pod(*containers, init=init, **spec)) == expected


def test_defaults_fill_in_after_the_status() -> None:
    state = {"containerStatuses": [status("c", {"cpu": "2"})]}
    assert row_nonzero_request(pod(container(), state=state)) == (2000, 200 * MI)


def test_the_filter_request_is_never_negative_but_the_row_is_exact() -> None:
    negative = pod(container("a", cpu="-2"), container("b", cpu="500m"), init=(container("i", memory="-5"),))
    assert filter_request(negative) == {"cpu": 0, "memory": 0}
    assert row_request(negative) == {"cpu": -1500, "memory": -5}


def test_requests_of_a_pod_are_computed_once() -> None:
    asking = pod(container(cpu="1"))
    assert asking.requests == {"cpu": 1000}
    assert asking.requests is asking.requests


def test_an_unreadable_request_is_reported_when_it_is_needed() -> None:
    broken = pod(container(cpu="1K"))
    with pytest.raises(QuantityError, match="'1K' is not a quantity"):
        filter_request(broken)


# A reference: whole documents, fractions, and candidates listed one by one instead of running totals.

AMOUNTS = {
    "0": Fraction(0),
    "0.5m": Fraction(1, 2000),
    "1500u": Fraction(3, 2000),
    "100m": Fraction(1, 10),
    "1": Fraction(1),
    "2": Fraction(2),
    "1Gi": Fraction(2**30),
    "-1": Fraction(-1),
}
NAMES = ("cpu", "memory", "ephemeral-storage", "hugepages-2Mi", "example.com/gpu", "unknown")
DEFAULTS = {"cpu": Fraction(1, 10), "memory": Fraction(209715200)}


def read(amounts: Document | None) -> Amounts:
    return {name: AMOUNTS[text] for name, text in (amounts or {}).items()}


def plus(*parts: Amounts) -> Amounts:
    names = {name for part in parts for name in part}
    return {name: sum((part[name] for part in parts if name in part), Fraction(0)) for name in names}


def greatest(*parts: Amounts) -> Amounts:
    names = {name for part in parts for name in part}
    return {name: max(part[name] for part in parts if name in part) for name in names}


def pod_level_names(spec: Document) -> list[str]:
    requests = (spec.get("resources") or {}).get("requests") or {}
    return [name for name in requests if name in ("cpu", "memory") or name.startswith("hugepages-")]


def reference(document: Document, use_status: bool, pod_level: bool, defaults: Amounts) -> Amounts:
    spec, state = document["spec"], document["status"]
    pending = [each["reason"] for each in state["conditions"] if each["type"] == "PodResizePending"]
    infeasible = pending[:1] == ["Infeasible"]

    def effective(wanted: Amounts, actuated: Amounts, allocated: Amounts) -> Amounts:
        return greatest(actuated, allocated) if infeasible else greatest(wanted, actuated, allocated)

    def request(one: Document, ordinary_init: bool) -> Amounts:
        asked = read(one["resources"]["requests"])
        if use_status and not ordinary_init:
            for held in state["containerStatuses"] + state["initContainerStatuses"]:
                if held["name"] == one["name"] and "resources" in held:
                    actuated = read(held["resources"]["requests"])
                    asked = effective(asked, actuated, read(held.get("allocatedResources")))
        return {**defaults, **asked}

    inits = [(one.get("restartPolicy") == "Always", one) for one in spec["initContainers"]]
    asked = [(stays, request(one, ordinary_init=not stays)) for stays, one in inits]
    moments = [
        plus(*(request(one, False) for one in spec["containers"]), *(each for stays, each in asked if stays))
    ]
    for index, (_, own) in enumerate(asked):
        moments.append(plus(*(each for stays, each in asked[:index] if stays), own))
    total = greatest(*moments)

    if pod_level and pod_level_names(spec):
        wanted = read(spec["resources"]["requests"])
        if use_status and "resources" in state:
            actuated = read(state["resources"]["requests"])
            effective_level = effective(wanted, actuated, read(state.get("allocatedResources")))
        else:
            effective_level = wanted
        for name in pod_level_names(spec):
            total[name] = effective_level.get(name, Fraction(0))
    return plus(total, read(spec.get("overhead")))


def in_nanos(amounts: Amounts) -> dict[str, Fraction]:
    return {name: amount * NANOS for name, amount in amounts.items()}


def reference_rounded(amounts: Amounts) -> dict[str, int]:
    return {
        name: away_from_zero(amount * 1000 if name == "cpu" else amount)
        for name, amount in amounts.items()
        if name != "unknown"
    }


def away_from_zero(amount: Fraction) -> int:
    return ceil(amount) if amount > 0 else floor(amount)


amounts = st.dictionaries(st.sampled_from(NAMES), st.sampled_from(sorted(AMOUNTS)), max_size=3)


@st.composite
def documents(draw: st.DrawFn) -> Document:
    containers: list[Document] = [
        {"name": f"c{index}", "resources": {"requests": draw(amounts)}}
        for index in range(draw(st.integers(0, 2)))
    ]
    inits: list[Document] = [
        {"name": f"i{index}", "resources": {"requests": draw(amounts)}}
        for index in range(draw(st.integers(0, 3)))
    ]
    for one in inits:
        if draw(st.booleans()):
            one["restartPolicy"] = "Always"
    spec: Document = {"containers": containers, "initContainers": inits}
    reasons = draw(st.lists(st.sampled_from(["Infeasible", "Deferred"]), max_size=2))
    state: Document = {
        "conditions": [{"type": "PodResizePending", "reason": reason} for reason in reasons],
        "containerStatuses": [_drawn_status(draw, one["name"]) for one in containers if draw(st.booleans())],
        "initContainerStatuses": [_drawn_status(draw, one["name"]) for one in inits if draw(st.booleans())],
    }
    if draw(st.booleans()):
        spec["resources"] = {"requests": draw(amounts)}
    if draw(st.booleans()):
        spec["overhead"] = draw(amounts)
    if draw(st.booleans()):
        state["resources"] = {"requests": draw(amounts)}
    if draw(st.booleans()):
        state["allocatedResources"] = draw(amounts)
    return {"metadata": {"name": "p"}, "spec": spec, "status": state}


def _drawn_status(draw: st.DrawFn, name: str) -> Document:
    actuated, allocated = draw(st.one_of(st.none(), amounts)), draw(st.one_of(st.none(), amounts))
    return status(name, actuated, allocated)


@PROPERTY
@given(documents(), st.booleans(), st.booleans(), st.sampled_from([{}, {"cpu": DEFAULTS["cpu"]}, DEFAULTS]))
def test_requests_agree_with_the_reference(
    document: Document, use_status: bool, pod_level: bool, defaults: Amounts
) -> None:
    found = pod_requests(
        decoding.from_document(Pod, document),
        use_status=use_status,
        pod_level=pod_level,
        defaults={name: int(amount * NANOS) for name, amount in defaults.items()},
    )
    assert found == in_nanos(reference(document, use_status, pod_level, defaults))


@PROPERTY
@given(documents())
def test_every_use_agrees_with_the_reference(document: Document) -> None:
    read_pod = decoding.from_document(Pod, document)
    for_filter = reference_rounded(reference(document, False, True, {}))
    assert filter_request(read_pod) == {name: max(0, amount) for name, amount in for_filter.items()}
    exact = reference(document, True, True, {})
    assert row_request(read_pod) == reference_rounded(exact)
    missing = DEFAULTS
    if pod_level_names(document["spec"]):
        missing = {name: amount for name, amount in DEFAULTS.items() if name not in exact}
    nonzero = reference(document, True, True, missing)
    zero = Fraction(0)
    expected = (
        away_from_zero(nonzero.get("cpu", zero) * 1000),
        away_from_zero(nonzero.get("memory", zero)),
    )
    assert row_nonzero_request(read_pod) == expected


@PROPERTY
@given(documents(), st.booleans())
def test_computing_a_request_changes_nothing(document: Document, use_status: bool) -> None:
    read_pod = decoding.from_document(Pod, document)
    before = decoding.from_document(Pod, document)
    first = pod_requests(read_pod, use_status=use_status, defaults=DEFAULT_REQUESTS)
    first["cpu"] = -1
    assert (read_pod.spec, read_pod.status) == (before.spec, before.status)
    assert rounded(DEFAULT_REQUESTS) == {"cpu": 100, "memory": 209715200}
