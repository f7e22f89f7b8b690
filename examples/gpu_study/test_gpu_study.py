from __future__ import annotations

import gzip
import json
import multiprocessing
import random
import signal
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from examples.gpu_study.__main__ import SAMPLE, main
from examples.gpu_study.arrivals import arrivals, typical_pods
from examples.gpu_study.convert import main as convert
from examples.gpu_study.devices import FreeNodes
from examples.gpu_study.fragmentation import Fragmentation
from examples.gpu_study.gpu_requests import WHOLE, GpuRequest, TypicalPod
from examples.gpu_study.gpu_values import gpu_values
from examples.gpu_study.study import POLICIES, run
from examples.gpu_study.tables import compare
from examples.gpu_study.trace_files import BadFile, TracePod, read_nodes, read_pods
from examples.gpu_study.working import without_interrupts

NODES = read_nodes(SAMPLE / "nodes.csv")
PODS = read_pods(SAMPLE / "pods-multigpu20.csv")

# Files


def test_the_sample_is_the_trace() -> None:
    assert len(NODES) == 1213
    assert sum(node.gpus for node in NODES) == 6212
    assert Counter(pod.request.gpus for pod in PODS)[8] == 141


def test_compressed_files_and_missing_columns(tmp_path: Path) -> None:
    file = tmp_path / "pods.csv.gz"
    with gzip.open(file, "wt", encoding="utf-8-sig", newline="\r\n") as text:  # as a spreadsheet writes it
        text.write("name,cpu_milli,num_gpu,gpu_milli,gpu_spec\nb,1500,1,500.0,T4|P100|\na,4000,0,,\n")
    assert read_pods(file) == [
        TracePod("a", 0, GpuRequest(4000)),
        TracePod("b", 0, GpuRequest(1500, 1, 500, "T4|P100")),
    ]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "pods.csv: no column cpu_milli or name or num_gpu; the first line names columns"),
        ("name,cpu_milli\na,1\n", "pods.csv: no column num_gpu; the first line names columns"),
        (
            "name,cpu_milli,num_gpu\na,much,1\n",
            "pods.csv:2: cpu_milli is 'much'; give a whole number from 0 to",
        ),
        (
            "name,cpu_milli,num_gpu\na,1,-1\n",
            "pods.csv:2: num_gpu is '-1'; give a whole number from 0 to 1024",
        ),
        (
            "name,cpu_milli,num_gpu\na,1,nan\n",
            "pods.csv:2: num_gpu is 'nan'; give a whole number from 0 to 1024",
        ),
        (
            "name,cpu_milli,num_gpu\na,1,0.5\n",
            "pods.csv:2: num_gpu is '0.5'; give a whole number from 0 to 1024",
        ),
        ("name,cpu_milli,num_gpu\n,1,1\n", "pods.csv:2: name is empty"),
        ("name,cpu_milli,num_gpu\na,1,1\na,1,1\n", "pods.csv:3: a is there already, in line 2"),
        ("name,cpu_milli,num_gpu\na,1,1,7\n", "pods.csv:2: more values than columns"),
        ("name,cpu_milli,num_gpu\na,1,0\n", "pods.csv: no pod asks for a GPU"),
        ("\x1f\x8bnot compressed", "pods.csv: "),
        (None, "pods.csv: No such file or directory"),
    ],
)
def test_bad_files_are_told_of_in_one_line(
    text: str | None, problem: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "pods.csv"
    if text is not None:
        file.write_bytes(text.encode("latin-1"))
    assert main(["--nodes", str(SAMPLE / "nodes.csv"), "--pods", str(file), "--policy", "FGD"]) == 1
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith(f"{tmp_path}/{problem}")
    assert printed.err.count("\n") == 1


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["--table", "--policy", "FGD"],
        ["--policy", "Best"],
        ["--policy", "FGD", "--seeds", "0"],
        ["--policy", "FGD", "--nodes", "n.csv"],
        ["--policy", "FGD", "--data", "."],
    ],
)
def test_wrong_arguments_are_refused(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert ended.value.code == 2
    assert "usage:" in capsys.readouterr().err


# The protocol

SIZES = st.sampled_from([(0, 0), (1, 250), (1, 500), (1, 1000), (2, 1000), (8, 1000)])
WORKLOADS = st.lists(st.tuples(st.integers(0, 9000), SIZES), max_size=30).map(
    lambda pods: [(1000, (1, 500)), *pods]
)


def made(pods: Sequence[tuple[int, tuple[int, int]]]) -> list[TracePod]:
    return [TracePod(f"p{i}", 0, GpuRequest(cpu, *size)) for i, (cpu, size) in enumerate(pods)]


@settings(deadline=None)
@given(WORKLOADS, st.integers(1, 200), st.integers())
def test_pods_arrive_until_130_percent_were_asked_for(rows: Any, gpus: int, seed: int) -> None:
    pods, most = made(rows), gpus * WHOLE * 130 // 100
    arriving = arrivals(pods, gpus * WHOLE, random.Random(seed))
    asked = sum(pod.request.total for pod in arriving)
    largest = max(pod.request.total for pod in pods)
    assert most - largest < asked < most + largest
    once, twice = Counter(pods), Counter(arriving)
    assert twice <= once or twice >= once, "left out, or drawn again, but not both"
    assert arriving == arrivals(pods, gpus * WHOLE, random.Random(seed))


@settings(deadline=None)
@given(WORKLOADS)
def test_typical_pods_are_the_most_frequent(rows: Any) -> None:
    pods = made(rows)
    counts = Counter(pod.request for pod in pods)
    typical = typical_pods(pods)
    assert sum(pod.share for pod in typical) == pytest.approx(1)
    covered = [counts[pod.request] for pod in typical]
    assert covered == sorted(covered, reverse=True)
    assert sum(covered[:-1]) < 0.95 * len(pods) <= sum(covered)
    assert min(covered) >= max(
        [counts[each] for each in counts if each not in {t.request for t in typical}] or [0]
    )


# Fragmentation, and what a part of a GPU is worth


def fragments(typical: Sequence[TypicalPod], cpu: int, gpus: Sequence[int], model: str) -> float:
    """As the paper says it, for one node."""
    found = 0.0
    for pod in typical:
        room = [free for free in gpus if free >= pod.milli]
        fits = pod.gpus and pod.request.takes(model) and len(room) >= pod.gpus and cpu >= pod.cpu
        found += pod.share * (sum(gpus) - (sum(room) if fits else 0))
    return found


MODELS = ("T4", "P100")


def typical_pod(cpu: int, size: tuple[int, int], models: str, share: float) -> TypicalPod:
    gpus, milli = size
    return TypicalPod(cpu, gpus, milli, models if gpus else "", share)


TYPICAL = st.lists(
    st.builds(
        typical_pod,
        st.integers(0, 4000),
        SIZES,
        st.sampled_from(["", "T4", "P100|T4"]),
        st.floats(0.01, 1),
    ),
    min_size=1,
    max_size=5,
)
FREE = st.tuples(
    st.integers(0, 4000), st.lists(st.sampled_from([0, 100, 250, 500, 1000]), min_size=3, max_size=3)
)


@settings(deadline=None)
@given(TYPICAL, st.lists(st.tuples(FREE, st.sampled_from([0, 1])), min_size=1, max_size=5))
def test_fragmentation_is_that_of_the_paper(typical: list[TypicalPod], rows: Any) -> None:
    total = sum(pod.share for pod in typical)
    typical = [replace(pod, share=pod.share / total) for pod in typical]
    cpu, gpus = (np.array([free[place] for free, _ in rows], dtype=np.int64) for place in (0, 1))
    models = np.array([model for _, model in rows], dtype=np.int64)
    measured = Fragmentation(typical).of(FreeNodes(np.arange(len(rows)), cpu, gpus, models), MODELS)
    expected = [fragments(typical, free[0], free[1], MODELS[model]) for free, model in rows]
    assert measured.tolist() == pytest.approx(expected)


def sizes(**shares: float) -> list[TypicalPod]:
    return [TypicalPod(0, 1, int(size[1:]), "", share) for size, share in shares.items()]


def test_what_is_left_beside_a_pod_is_worth_what_pods_can_use_of_it() -> None:
    values = gpu_values(sizes(_1000=0.5, _810=0.2, _650=0.1, _320=0.1, _470=0.1))
    assert values[1000] == pytest.approx(1)
    assert values[470] == pytest.approx(0.5)
    assert values[650] + values[320] == pytest.approx(1)
    assert values[190] == values[0] == 0
    # Half of those with 810 have a companion, so that a place beside one is nothing that is short.
    assert gpu_values(sizes(_810=0.6, _160=0.3))[190] == pytest.approx(0)
    assert gpu_values(sizes(_810=0.3, _160=0.6))[190] > 0


@settings(deadline=None)
@given(st.dictionaries(st.integers(1, 100), st.floats(0.01, 1), min_size=1, max_size=8))
def test_values_are_those_of_an_optimum(demand: dict[int, float]) -> None:
    typical = [TypicalPod(0, 1, size * 10, "", share) for size, share in demand.items()]
    values = gpu_values(typical)
    assert values[0] == 0
    assert values[WHOLE] == pytest.approx(1, abs=1e-6), "some set of pods is worth the GPU"
    assert (np.diff(values) >= 0).all()
    for some in (10, 250, 500):
        assert (values[some:] >= values[: WHOLE + 1 - some] + values[some] - 1e-6).all()
    # No plan can do with less than what the prices say, and not with less than the sum of sizes.
    needed = sum(share * values[size * 10] for size, share in demand.items())
    assert needed >= sum(share * size for size, share in demand.items()) / 100 - 1e-6


# The whole study


@pytest.mark.parametrize("policy", POLICIES)
def test_a_small_cluster(policy: str) -> None:
    few = NODES[::60]
    result = run(few, PODS, policy, 42)
    assert result["seed"] == 42
    marks = result["at"]
    allocated = [mark["allocated_percent"] for mark in marks.values()]
    assert allocated == sorted(allocated)
    assert 60 < allocated[-1] <= 100
    for mark in marks.values():
        assert mark["allocated_percent"] + mark["fragmented_percent"] <= 100.01
    again = run(few, PODS, policy, 42)
    assert again["at"] == marks


def test_what_the_command_prints(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = (SAMPLE / "nodes.csv").read_text().splitlines(keepends=True)
    nodes = tmp_path / "nodes.csv"
    nodes.write_text(lines[0] + "".join(lines[1::100]))
    files = ["--nodes", str(nodes), "--pods", str(SAMPLE / "pods-multigpu20.csv")]
    assert main([*files, "--policy", "BestFit", "--seeds", "1", "-o", "json"]) == 0
    [result] = json.loads(capsys.readouterr().out)
    assert (result["seed"], result["seconds"] > 0) == (42, True)
    assert list(result["at"]) == [str(percent) for percent in range(10, 131, 10)]
    assert set(result["at"]["100"]) == {"allocated_percent", "fragmented_percent"}
    assert main([*files, "--policy", "BestFit"]) == 0
    printed = capsys.readouterr().out
    assert f"100 %          {result['at']['100']['allocated_percent']:.2f} %" in printed


def test_ctrl_c_is_for_the_one_that_started_the_others() -> None:
    with without_interrupts():
        processes = multiprocessing.get_context("spawn").Pool(1)
    with processes as pool:
        assert signal.SIGINT in pool.apply(signal.pthread_sigmask, (signal.SIG_BLOCK, ()))
    assert signal.SIGINT not in signal.pthread_sigmask(signal.SIG_BLOCK, ())


def test_a_folder_without_the_trace(tmp_path: Path) -> None:
    with pytest.raises(BadFile, match=r"no nodes\.csv or openb_node_list_gpu_node\.csv"):
        compare(tmp_path, [42], ["FGD"])


def test_the_trace_as_tables(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pods, nodes = tmp_path / "pods.csv", tmp_path / "nodes.csv"
    pods.write_text(
        "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,creation_time,deletion_time\n"
        "a,12000,16384,1,460,T4|P100,427061,12902960\nb,500,1024,0,0,,0,60\n"
    )
    assert convert(["--pods", str(pods)]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "name,submitted,seconds,cpu,memory,example.com/gpu-thousandths,annotation:example.com/gpus,"
        "annotation:example.com/gpu-milli,annotation:example.com/gpu-models",
        "b,0,60,500m,1024Mi,,,,",
        "a,427061,12475899,12000m,16384Mi,460,1,460,T4|P100",
    ]
    nodes.write_text("sn,cpu_milli,memory_mib,gpu,model\nn,64000,262144,2,P100\n")
    assert convert(["--nodes", str(nodes)]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "name,cpu,memory,pods,example.com/gpu-thousandths,labels",
        "n,64000m,262144Mi,1001,2000,example.com/gpus=2 example.com/gpu-model=P100",
    ]
    assert convert(["--pods", str(pods), "--policy", "FGD"]) == 0
    [profile] = json.loads(capsys.readouterr().out)["profiles"]
    known = profile["pluginConfig"][0]["args"]["typicalPods"]
    assert [each["milli"] for each in known] == [460, 0]
