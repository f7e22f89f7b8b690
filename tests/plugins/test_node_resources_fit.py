"""NodeResourcesFit as a filter: what fits, with which reasons, and which events matter."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from moorage.api.meta import Object, ObjectMeta
from moorage.api.nodes import Node
from moorage.api.pods import Pod
from moorage.config.args import NodeResourcesFitArgs
from moorage.framework.cycle_state import CycleState
from moorage.framework.events import ASSIGNED_POD, DEVICE_CLASS, NODE, POD, UNSCHEDULABLE_POD, Action, Hint
from moorage.framework.loading.registry import PluginLoadError
from moorage.framework.status import Code, Status
from moorage.plugins.cycle_reads import MissingState
from moorage.plugins.node_resources_fit import NodeResourcesFit
from moorage.testing import make_node, make_pod
from tests.plugins.helpers import cluster, filtered, hint, passing, registered, verdicts, views

GPU = "example.com/gpu"


def fit(*nodes: Node, pods: list[Pod] | None = None, **args: Any) -> NodeResourcesFit:
    """The plugin with args as they are written in a configuration."""
    return NodeResourcesFit(msgspec.convert(args, NodeResourcesFitArgs), cluster(nodes, pods or []))


def on_node(name: str = "other", **resources: Any) -> Pod:
    return make_pod(name, node="n", **resources)


@pytest.mark.parametrize(
    ("node", "used", "pod", "expected"),
    [
        (make_node("n"), {}, make_pod(), None),
        (make_node("n"), {"cpu": "3800m"}, make_pod(cpu="500m"), Status.unschedulable("Insufficient cpu")),
        (make_node("n"), {"cpu": "3800m"}, make_pod(cpu="200m"), None),
        (make_node("n"), {}, make_pod(cpu="5000m"), Status.unresolvable("Insufficient cpu")),
        (make_node("n"), {"cpu": "5"}, make_pod(), None),
        (make_node("n"), {"cpu": "5"}, make_pod(cpu="0", memory="1Gi"), None),
        (
            make_node("n"),
            {"memory": "16Gi"},
            make_pod(memory="1"),
            Status.unschedulable("Insufficient memory"),
        ),
        (make_node("n"), {}, make_pod(memory="17Gi"), Status.unresolvable("Insufficient memory")),
        (
            make_node("n"),
            {},
            make_pod(requests={"ephemeral-storage": "1"}),
            Status.unresolvable("Insufficient ephemeral-storage"),
        ),
        (
            make_node("n", allocatable={"ephemeral-storage": "1Gi"}),
            {"requests": {"ephemeral-storage": "600Mi"}},
            make_pod(requests={"ephemeral-storage": "600Mi"}),
            Status.unschedulable("Insufficient ephemeral-storage"),
        ),
        (
            make_node("n", allocatable={GPU: 2}),
            {"requests": {GPU: 1}},
            make_pod(requests={GPU: 2}),
            Status.unschedulable(f"Insufficient {GPU}"),
        ),
        (make_node("n"), {}, make_pod(requests={GPU: 1}), Status.unresolvable(f"Insufficient {GPU}")),
        (make_node("n"), {}, make_pod(requests={GPU: 0}), None),
        (
            make_node("n", allocatable={"hugepages-2Mi": "4Mi"}),
            {},
            make_pod(requests={"hugepages-2Mi": "6Mi"}),
            Status.unresolvable("Insufficient hugepages-2Mi"),
        ),
        (make_node("n", pods=1), {}, make_pod(), Status.unschedulable("Too many pods")),
        (make_node("n", pods=0), {}, make_pod(), Status.unschedulable("Too many pods")),
        (
            make_node("n", pods=1),
            {"cpu": "4"},
            make_pod(cpu="1", memory="17Gi", requests={GPU: 1}),
            Status.unresolvable(
                "Too many pods", "Insufficient cpu", "Insufficient memory", f"Insufficient {GPU}"
            ),
        ),
        (
            make_node("n"),
            {"cpu": "4", "memory": "16Gi"},
            make_pod(cpu="1", memory="1Gi"),
            Status.unschedulable("Insufficient cpu", "Insufficient memory"),
        ),
        (
            make_node("n"),
            {"cpu": "4", "memory": "16Gi"},
            make_pod(cpu="5", memory="1Gi"),
            Status.unresolvable("Insufficient cpu", "Insufficient memory"),
        ),
    ],
)
def test_filter(node: Node, used: dict[str, Any], pod: Pod, expected: Status | None) -> None:
    assert filtered(fit(node, pods=[on_node(**used)]), pod) == {"n": expected}


def test_nodes_with_the_same_failures_share_a_status() -> None:
    nodes = [make_node(f"n{i}", cpu=1 + i % 2) for i in range(6)]
    plugin = fit(*nodes)
    cycle, pod = CycleState(), make_pod(cpu="2")
    plugin.pre_filter(cycle, pod)
    answer = plugin.filter_nodes(cycle, pod, plugin.handle.nodes)
    assert len(answer.statuses) == 2


def test_more_reasons_than_an_integer_has_bits() -> None:
    names = [f"example.com/r{i}" for i in range(80)]
    nodes = [
        make_node("none"),
        make_node("almost", allocatable=dict.fromkeys(names[:-1], 1)),
        make_node("all", allocatable=dict.fromkeys(names, 1)),
    ]
    statuses = filtered(fit(*nodes), make_pod(requests=dict.fromkeys(names, 1)))
    assert statuses == {
        "none": Status.unresolvable(*(f"Insufficient {name}" for name in names)),
        "almost": Status.unresolvable(f"Insufficient {names[-1]}"),
        "all": None,
    }


@pytest.mark.parametrize(
    ("memory", "fits"),
    [
        ("9223372036854775807", False),
        ("16Ei", False),
        # What does not fit 64 bits comes out as in kube-scheduler: as 0, a negative number or a small one.
        ("100E", True),
        ("9223372036854775808", True),
        ("18446744073709551617", True),
    ],
)
def test_an_amount_beyond_64_bits(memory: str, fits: bool) -> None:
    too_much = None if fits else Status.unresolvable("Insufficient memory")
    assert filtered(fit(make_node("n")), make_pod(memory=memory)) == {"n": too_much}


def test_a_node_with_more_cpu_than_64_bits_hold_in_millicores_has_none() -> None:
    node = make_node("n", cpu="9223372036854775807", memory="16Ei")
    assert filtered(fit(node), make_pod(cpu="1m")) == {"n": Status.unresolvable("Insufficient cpu")}
    assert filtered(fit(node), make_pod(memory="8Ei")) == {"n": None}


@pytest.mark.parametrize(
    ("node", "amounts", "fits"),
    [
        # 0.5m + 0.5m are summed before they are rounded up; 1500u alone is 2m.
        (make_node("n", cpu="1m"), [{"cpu": "500u"}, {"cpu": "500u"}], True),
        (make_node("n", cpu="1m"), [{"cpu": "1500u"}], False),
        (make_node("n", cpu="2m"), [{"cpu": "1500u"}], True),
        (make_node("n", cpu="1500u"), [{"cpu": "2m"}], True),
        (make_node("n", memory="102"), [{"memory": "0.1Ki"}], False),
        (make_node("n", memory="103"), [{"memory": "0.1Ki"}], True),
        (make_node("n", memory="1"), [{"memory": "500m"}, {"memory": "500m"}], True),
        (make_node("n", memory="1"), [{"memory": "500m"}, {"memory": "501m"}], False),
        (make_node("n", allocatable={GPU: "1"}), [{GPU: "1n"}], True),
    ],
)
def test_cpu_rounds_up_to_milli_and_the_rest_to_units_once_per_pod(
    node: Node, amounts: list[dict[str, str]], fits: bool
) -> None:
    containers = [
        {"name": f"c{i}", "resources": {"requests": requests}} for i, requests in enumerate(amounts)
    ]
    assert (passing(filtered(fit(node), make_pod(containers=containers))) == {"n"}) is fits


@pytest.mark.parametrize(
    ("name", "counts"),
    [
        ("attachable-volumes-csi-x", True),
        ("hugepages-1Gi", True),
        ("kubernetes.io/batch", True),
        ("sub.kubernetes.io/thing", True),
        ("example.com/gpu", True),
        ("requests.example.com/gpu", False),
        ("no-slash", False),
        ("pods", False),
    ],
)
def test_which_resource_names_count(name: str, counts: bool) -> None:
    expected = Status.unresolvable(f"Insufficient {name}") if counts else None
    assert filtered(fit(make_node("n", pods=5)), make_pod(requests={name: 9})) == {"n": expected}


@pytest.mark.parametrize(
    ("args", "name", "fits"),
    [
        ({"ignoredResources": [GPU]}, GPU, True),
        ({"ignoredResources": ["example.com/fpga"]}, GPU, False),
        ({"ignoredResourceGroups": ["example.com"]}, GPU, True),
        ({"ignoredResourceGroups": ["example"]}, GPU, False),
        ({"ignoredResources": ["cpu"]}, "cpu", False),
        ({"ignoredResources": ["memory"]}, "memory", False),
        ({"ignoredResources": ["ephemeral-storage"]}, "ephemeral-storage", False),
        ({"ignoredResources": ["hugepages-2Mi"]}, "hugepages-2Mi", False),
        ({"ignoredResources": ["attachable-volumes-x"]}, "attachable-volumes-x", False),
        ({"ignoredResources": ["kubernetes.io/batch"]}, "kubernetes.io/batch", False),
        ({"ignoredResourceGroups": ["kubernetes.io"]}, "kubernetes.io/batch", False),
    ],
)
def test_only_extended_resources_can_be_ignored(args: dict[str, Any], name: str, fits: bool) -> None:
    pod = make_pod(requests={name: "1Ti"})
    assert (passing(filtered(fit(make_node("n"), **args), pod)) == {"n"}) is fits


def test_pre_filter_never_skips_nor_narrows() -> None:
    plugin = fit()
    plugin.pre_filter(cycle := CycleState(), make_pod())
    assert cycle.read("PreFilterNodeResourcesFit") == ()


def test_without_pre_filter_the_filter_fails() -> None:
    text = r'^error reading "PreFilterNodeResourcesFit" from cycleState: not found$'
    with pytest.raises(MissingState, match=text):
        verdicts(fit(make_node("n")), CycleState(), make_pod())


def test_what_if_changes_are_seen_and_undone() -> None:
    plugin = fit(make_node("n", cpu="1"))
    state = plugin.handle.state
    info = state.node("n")
    assert info is not None
    with state.what_if(info) as trial:
        trial.add(state.pod_info(make_pod("rival", cpu="600m")))
        assert passing(filtered(plugin, make_pod(cpu="600m"))) == set()
    assert passing(filtered(plugin, make_pod(cpu="600m"))) == {"n"}


@pytest.mark.parametrize(
    ("args", "text"),
    [
        (
            {"scoringStrategy": {"type": "Best"}},
            'scoringStrategy.type: Unsupported value: "Best": supported values: '
            '"LeastAllocated", "MostAllocated", "RequestedToCapacityRatio"',
        ),
        (
            {"ignoredResourceGroups": ["a/b", "c/d"]},
            "[ignoredResourceGroups[0]: Invalid value: \"a/b\": resource group name can't contain '/', "
            "ignoredResourceGroups[1]: Invalid value: \"c/d\": resource group name can't contain '/']",
        ),
    ],
)
def test_invalid_args_are_an_error_at_start(args: dict[str, Any], text: str) -> None:
    with pytest.raises(PluginLoadError) as caught:
        fit(**args)
    assert str(caught.value) == text


# The same rules, written once more node by node

NAMES = ("cpu", "memory", "ephemeral-storage", GPU, "kubernetes.io/batch")
amounts = st.dictionaries(st.sampled_from(NAMES), st.integers(0, 6))
offers = st.fixed_dictionaries({name: st.integers(0, 8) for name in NAMES})
worlds = st.lists(st.tuples(offers, st.integers(0, 3), st.lists(amounts, max_size=3)), min_size=1, max_size=6)


def reference(
    offer: dict[str, int], allowed: int, pods: list[dict[str, int]], wanted: dict[str, int], ignores_gpu: bool
) -> tuple[Code, set[str]] | None:
    reasons, unresolvable = set(), False
    if len(pods) + 1 > allowed:
        reasons.add("Too many pods")
    for name in NAMES:
        asked = wanted.get(name, 0)
        if asked == 0 or (name == GPU and ignores_gpu):
            continue
        if asked > offer[name] - sum(pod.get(name, 0) for pod in pods):
            reasons.add(f"Insufficient {name}")
            unresolvable = unresolvable or asked > offer[name]
    if not reasons:
        return None
    return (Code.UNSCHEDULABLE_AND_UNRESOLVABLE if unresolvable else Code.UNSCHEDULABLE), reasons


@settings(max_examples=80)
@given(world=worlds, wanted=amounts, ignores_gpu=st.booleans())
def test_fast_form_is_the_rule_node_by_node(
    world: list[tuple[dict[str, int], int, list[dict[str, int]]]], wanted: dict[str, int], ignores_gpu: bool
) -> None:
    nodes = [
        make_node(f"n{i}", pods=allowed, allocatable=offer) for i, (offer, allowed, _) in enumerate(world)
    ]
    pods = [
        make_pod(f"p{i}-{j}", node=f"n{i}", requests=requests)
        for i, (_, _, here) in enumerate(world)
        for j, requests in enumerate(here)
    ]
    plugin = fit(*nodes, pods=pods, ignoredResources=[GPU] if ignores_gpu else [])
    for view in views(plugin.handle):
        for name, status in filtered(plugin, make_pod(requests=wanted), view).items():
            answer = None if status is None else (status.code, set(status.reasons))
            assert answer == reference(*world[int(name[1:])], wanted, ignores_gpu)


# Hints


def test_registered_events() -> None:
    assert registered(fit()) == [
        (POD, Action.DELETE | Action.UPDATE_POD_SCALE_DOWN, True),
        (NODE, Action.ADD | Action.UPDATE_NODE_ALLOCATABLE, True),
        (DEVICE_CLASS, Action.ADD | Action.UPDATE, True),
    ]


@pytest.mark.parametrize(
    ("deleted", "expected"),
    [
        (on_node(), Hint.QUEUE),
        (make_pod("other"), Hint.SKIP),
        (make_pod("other", status={"nominatedNodeName": "n"}), Hint.QUEUE),
    ],
)
def test_pod_deleted_hint(deleted: Pod, expected: Hint) -> None:
    assert hint(fit(), ASSIGNED_POD, Action.DELETE, make_pod(cpu="1"), deleted) is expected


def resized(cpu: str) -> Pod:
    """A pod whose container asks for 1 cpu and still runs with more."""
    running = {"name": "main", "resources": {"requests": {"cpu": cpu}}}
    return make_pod("other", node="n", cpu="1", status={"containerStatuses": [running]})


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        (make_pod("pod", cpu="2"), make_pod("pod", cpu="1"), Hint.QUEUE),
        (make_pod("other", cpu="2"), make_pod("other", cpu="1"), Hint.SKIP),
        (on_node(cpu="2"), on_node(cpu="1"), Hint.QUEUE),
        (on_node(cpu="2"), on_node(), Hint.QUEUE),
        (on_node(memory="2"), on_node(memory="1"), Hint.SKIP),
        (on_node(cpu="1"), on_node(cpu="2"), Hint.SKIP),
        (on_node(requests={GPU: 2}), on_node(requests={GPU: 1}), Hint.QUEUE),
        (resized("3"), resized("2"), Hint.QUEUE),
        (resized("2"), resized("2"), Hint.SKIP),
    ],
)
def test_scale_down_hint(old: Pod, new: Pod, expected: Hint) -> None:
    pod = make_pod("pod", cpu="1", memory="0", requests={GPU: 1})
    resource = ASSIGNED_POD if new.spec.node_name else UNSCHEDULABLE_POD
    assert hint(fit(), resource, Action.UPDATE_POD_SCALE_DOWN, pod, old, new) is expected


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        (None, make_node(), Hint.QUEUE),
        (None, make_node(cpu="1"), Hint.SKIP),
        (None, make_node(pods=0), Hint.SKIP),
        (None, make_node(cpu="2", pods=1), Hint.QUEUE),
        (make_node(cpu="1"), make_node(cpu="2"), Hint.QUEUE),
        (make_node(cpu="3"), make_node(cpu="2"), Hint.SKIP),
        (make_node(memory="1Gi"), make_node(memory="2Gi"), Hint.SKIP),
        (make_node(pods=1), make_node(pods=2), Hint.QUEUE),
        (make_node(cpu="1", pods=1), make_node(cpu="1900m", pods=2), Hint.SKIP),
    ],
)
def test_node_hint(old: Node | None, new: Node, expected: Hint) -> None:
    action = Action.ADD if old is None else Action.UPDATE_NODE_ALLOCATABLE
    assert hint(fit(), NODE, action, make_pod(cpu="2"), old, new) is expected


def test_node_hint_does_not_ignore_ignored_resources() -> None:
    plugin = fit(make_node("n"), ignoredResources=[GPU])
    pod = make_pod(requests={GPU: 1})
    assert passing(filtered(plugin, pod)) == {"n"}
    assert hint(plugin, NODE, Action.ADD, pod, None, make_node()) is Hint.SKIP


def device_class(resource: str | None, name: str = "gpus") -> Object:
    item = Object(metadata=ObjectMeta(name=name))
    item.__dict__["raw"] = {"spec": {"extendedResourceName": resource} if resource else {}}
    return item


@pytest.mark.parametrize(
    ("old", "new", "wanted", "expected"),
    [
        (None, device_class(GPU), GPU, Hint.QUEUE),
        (None, device_class(GPU), "example.com/fpga", Hint.SKIP),
        (None, device_class(None), GPU, Hint.SKIP),
        (None, device_class(None), "deviceclass.resource.kubernetes.io/gpus", Hint.QUEUE),
        (device_class(GPU), device_class(GPU), GPU, Hint.SKIP),
        (device_class(None), device_class(GPU), GPU, Hint.QUEUE),
        (device_class(GPU), device_class("example.com/fpga"), GPU, Hint.SKIP),
        (device_class(None), device_class(GPU), "deviceclass.resource.kubernetes.io/gpus", Hint.SKIP),
    ],
)
def test_device_class_hint(old: Object | None, new: Object, wanted: str, expected: Hint) -> None:
    action = Action.ADD if old is None else Action.UPDATE
    assert hint(fit(), DEVICE_CLASS, action, make_pod(requests={wanted: 1}), old, new) is expected
