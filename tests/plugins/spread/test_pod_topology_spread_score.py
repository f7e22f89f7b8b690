"""How soft spread constraints and the system's defaults score nodes."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from moorage.api.pods import Pod
from moorage.framework.cycle_state import CycleState
from moorage.framework.handle import Handle
from moorage.framework.status import Code
from moorage.testing import make_node, make_pod
from tests.plugins.helpers import cluster, scored
from tests.plugins.spread.spread_cases import (
    HOST,
    RACK,
    ZONE,
    apps,
    constraint,
    pod_with,
    served,
    spread,
    zones,
)


def normalized(handle: Handle, pod: Pod, **args: Any) -> list[int]:
    return list(scored(spread(handle, **args), pod).values())


def raw(handle: Handle, pod: Pod, **args: Any) -> list[int]:
    return list(scored(spread(handle, **args), pod, raw=True).values())


def test_own_hostname_constraint() -> None:
    """Weight ln 5."""
    handle = cluster([make_node(name) for name in "abc"], apps("b", 1) + apps("c", 3))
    pod = pod_with(constraint(HOST, hard=False))
    assert (raw(handle, pod), normalized(handle, pod)) == ([0, 2, 5], [100, 60, 0])


@pytest.mark.parametrize(
    ("zoned", "raws", "scores"),
    [
        (("a", "a", "b", "b"), [14, 12, 7, 9], [50, 64, 100, 85]),
        (("a", "a", "b", None), [14, 13, 6, 4], [28, 35, 85, 100]),
    ],
)
def test_system_defaults(zoned: tuple[str | None, ...], raws: list[int], scores: list[int]) -> None:
    counts = zip("1234", zoned, (2, 1, 0, 1), strict=True)
    handle = served(counts)
    by_name = {"raw": scored(spread(handle), make_pod("in", labels={"app": "a"}), raw=True)}
    by_name["final"] = scored(spread(handle), make_pod("in", labels={"app": "a"}))
    assert [by_name["raw"][name] for name in "1234"] == raws
    assert [by_name["final"][name] for name in "1234"] == scores


def test_system_defaults_an_empty_zone_and_no_zone_are_one_domain() -> None:
    """Both count as the empty string: the pods add up, and the number of domains is 2 and not 3.

    The node with the empty label has the zone term, the one without the label does not.
    """
    handle = served([("empty", "", 1), ("none", None, 2), ("a", "a", 0)])
    ln_hosts, ln_zones = math.log(3 + 2), math.log(2 + 2)
    expected = {
        "empty": round(1 * ln_hosts + 2 + 3 * ln_zones + 4),
        "none": round(2 * ln_hosts + 2),
        "a": round(0 * ln_hosts + 2 + 0 * ln_zones + 4),
    }
    assert scored(spread(handle), make_pod("in", labels={"app": "a"}), raw=True) == expected


def test_own_constraints_ignore_nodes_without_all_keys() -> None:
    nodes = [
        make_node("full", labels={ZONE: "a", RACK: "1"}),
        make_node("other", labels={ZONE: "b", RACK: "1"}),
        make_node("no-rack", labels={ZONE: "a"}),
    ]
    handle = cluster(nodes, apps("no-rack", 9) + apps("full", 1))
    pod = pod_with(constraint(hard=False), constraint(RACK, hard=False))
    scores = scored(spread(handle), pod)
    assert scores["no-rack"] == 0, "the worst"
    assert scores["other"] == 100, "and its pods count nowhere"
    assert scores["full"] == 100 * (2 + 1 - 2) // 2


def test_all_ignored_and_all_zero() -> None:
    handle = cluster([make_node("a"), make_node("b")])
    assert normalized(handle, pod_with(constraint(hard=False))) == [0, 0]
    handle = zones(a=0, b=0)
    assert normalized(handle, pod_with(constraint(hard=False))) == [100, 100]


def test_counts_come_from_every_node_but_sizes_from_the_feasible_ones() -> None:
    handle = zones(a=3, b=1, c=7)
    everything = handle.nodes
    asked = everything.subset(np.array([0, 1], dtype=np.intp))
    pod = pod_with(constraint(hard=False))
    weight = math.log(2 + 2)
    assert list(scored(spread(handle), pod, asked, raw=True).values()) == [round(3 * weight), round(weight)]
    handle.state.put_node(make_node("more", labels={ZONE: "a"}))
    for item in apps("more", 2):
        handle.state.add_pod(item)
    handle.state.table.refresh()
    feasible = [handle.nodes.index(name) for name in ("n-a", "n-b")]
    asked = handle.nodes.subset(np.array(feasible, dtype=np.intp))
    scores = scored(spread(handle), pod, asked, raw=True)
    assert scores["n-a"] == round(5 * weight), "the pods of a node that is not feasible count too"


def test_soft_hostname_counts_are_the_nodes_own() -> None:
    nodes = [make_node("x", labels={HOST: "same"}), make_node("y", labels={HOST: "same"})]
    handle = cluster(nodes, apps("x", 2))
    pod = pod_with(constraint(HOST, hard=False), nodeSelector={"no": "where"})
    assert raw(handle, pod) == [round(2 * math.log(4)), 0], "no policy is applied either"


def test_pre_score_skips_without_soft_constraints() -> None:
    plugin = spread(zones(a=1, b=1))
    for pod in (pod_with(), pod_with(constraint())):
        assert scored(plugin, pod) == {}
    empty = plugin.handle.nodes.subset(np.zeros(0, dtype=np.intp))
    answer = plugin.pre_score(CycleState(), pod_with(constraint(hard=False)), empty)
    assert answer is not None and answer.code is Code.SKIP
