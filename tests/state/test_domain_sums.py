"""Counts per domain that are kept are what counting anew gives."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from moorage.state.cluster import ClusterState
from moorage.state.counts import PodClass
from moorage.testing import make_node, make_pod

ZONES = (None, "a", "b", "")


def labels(zone: str | None) -> dict[str, str]:
    return {} if zone is None else {"zone": zone}


def weigh(pod_class: PodClass) -> int:
    return len(pod_class.labels["app"])


events = st.one_of(
    st.tuples(st.just("node"), st.integers(0, 3), st.sampled_from(ZONES)),
    st.tuples(st.just("no node"), st.integers(0, 3), st.none()),
    st.tuples(st.just("pod"), st.integers(0, 5), st.integers(0, 3)),
    st.tuples(st.just("no pod"), st.integers(0, 5), st.none()),
    st.tuples(st.just("look"), st.booleans(), st.booleans()),
)


@settings(max_examples=200)
@given(st.lists(events, max_size=25))
def test_sums(course: list[tuple[str, int, object]]) -> None:
    state = ClusterState()
    table = state.table
    for what, number, where in course:
        match what:
            case "node":
                zone = None if where is None else str(where)
                state.put_node(make_node(f"n{number}", labels=labels(zone)))
            case "no node":
                state.remove_node(f"n{number}")
            case "pod":
                state.add_pod(make_pod(f"p{number}", node=f"n{where}", labels={"app": "x" * (number + 1)}))
            case "no pod":
                state.remove_pod(f"pod-default-p{number}")
            case _:
                table.refresh()
                mask = np.array([info.name != "n0" for info in table.infos], dtype=np.bool_)
                included = mask if where else None
                found = state.counts.sums(
                    "all", weigh, table, "zone", of=bool(where), included=included, labelled=bool(number)
                )
                label = table.label("zone")
                expected = [0] * len(label.codes)
                for info in table.infos:
                    code = label.column[info.row]
                    if (code or not number) and not (where and info.name == "n0"):
                        expected[code] += sum(len(pod.labels["app"]) for pod in info.pods)
                assert found.tolist() == expected
