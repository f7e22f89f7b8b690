"""`moorage trace` and the parts of `moorage record` that need no cluster."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from moorage.what_if.trace.changes import Head
from moorage.what_if.trace.files import TraceWriter, read_trace
from tests.cli.running import run
from tests.what_if.trace.objects import BEGAN, node, pod

JOBS = "name,submitted,seconds,cpu,gpu,count\ntrain,1700000000,1h,4,1,3\nserve,1700003600,,500m,,\n"


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    path = tmp_path / "trace.moor"
    with TraceWriter(path, Head(began=BEGAN, source="https://10.0.0.1:6443, Kubernetes v1.36.4")) as writer:
        writer.put(BEGAN, node("node-1"))
        writer.put(BEGAN, node("node-2"))
        writer.put(BEGAN + 10, pod("web-1"))
        writer.put(BEGAN + 11, pod("web-1", "node-1"))
        writer.gone(BEGAN + 3700, pod("web-1", "node-1"))
        writer.put(BEGAN + 7300, pod("web-1"))
    return path


def test_what_a_trace_holds(trace: Path) -> None:
    result = run("trace", "show", trace)
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout.splitlines() == [
        "From https://10.0.0.1:6443, Kubernetes v1.36.4",
        "2023-11-14 22:13:20 to 2023-11-15 00:15:00 UTC: 2 hours 1 minute",
        f"6 changes in {trace.stat().st_size} bytes",
        "",
        "KIND  OBJECTS  CHANGES  AT ONCE",
        "Node  2        2        2",
        "Pod   2        4        1",
    ]


def test_what_a_trace_holds_in_json(trace: Path) -> None:
    found = json.loads(run("trace", "show", trace, "-o", "json").stdout)
    assert found["kinds"]["Pod"] == {"objects": 2, "changes": 4, "atOnce": 1}
    assert (found["began"], found["ended"], found["changes"]) == (BEGAN, BEGAN + 7300, 6)
    assert (found["bytes"], found["anonymized"]) == (trace.stat().st_size, False)


def test_a_trace_that_was_cut_off_is_shown_with_a_warning(
    trace: Path, caplog: pytest.LogCaptureFixture
) -> None:
    trace.write_bytes(trace.read_bytes()[:-3])
    result = run("trace", "show", trace)
    assert result.exit_code == 0
    assert len(caplog.messages) == 1 and "cut off at byte" in caplog.messages[0]


@pytest.mark.parametrize("content", [None, b"", b"kind: Pod\n"])
def test_another_file_is_refused_in_one_line(tmp_path: Path, content: bytes | None) -> None:
    file = tmp_path / "other"
    if content is not None:
        file.write_bytes(content)
    result = run("trace", "show", file)
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr.startswith(f"{file}: ") and result.stderr.count("\n") == 1
    assert "`moorage record` wrote" in result.stderr


def test_a_list_of_jobs_becomes_a_trace(tmp_path: Path) -> None:
    jobs, nodes, out = tmp_path / "jobs.csv", tmp_path / "nodes.csv", tmp_path / "jobs.moor"
    jobs.write_text("\ufeff" + JOBS)
    nodes.write_text("name,count,cpu,memory,gpu\nbig,2,32,128Gi,8\n")
    result = run("trace", "import", jobs, "--nodes", nodes, "--out", out)
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout == f"{out}: 4 pods\n"
    found = read_trace(out)
    assert found.head.began == 1_700_000_000 and found.head.source == str(jobs)
    counts: dict[str, int] = {}
    for change in found:
        counts[change.item.name] = counts.get(change.item.name, 0) + 1
    assert counts == {"big-0": 1, "big-1": 1, "train-0": 4, "train-1": 4, "train-2": 4, "serve": 2}


def test_nodes_of_manifests_and_jobs_of_standard_input(tmp_path: Path) -> None:
    nodes, out = tmp_path / "nodes.json", tmp_path / "jobs.moor"
    nodes.write_text(json.dumps(node("node-1")))
    result = run("trace", "import", "-", "--nodes", nodes, "--out", out, input=JOBS)
    assert (result.exit_code, result.stderr) == (0, "")
    assert next(iter(read_trace(out))).item.name == "node-1"


@pytest.mark.parametrize(
    ("jobs", "line"),
    [
        (
            "name,submitted,cpu\na,10,many\n",
            "row 2, column cpu: 'many' is not understood; write it like 2, 500m",
        ),
        ("name,submitted\n", "there is no job in it; give it rows"),
        ("", "row 1: the column 'name' is missing; add it"),
    ],
)
def test_a_wrong_list_is_refused_in_one_line_and_leaves_nothing(tmp_path: Path, jobs: str, line: str) -> None:
    file, out = tmp_path / "jobs.csv", tmp_path / "jobs.moor"
    file.write_text(jobs)
    result = run("trace", "import", file, "--out", out)
    assert result.exit_code == 1
    assert result.stderr.startswith(f"{file}: {line}") and result.stderr.count("\n") == 1
    assert not out.exists()


def test_a_file_that_is_there_is_not_written_over(tmp_path: Path) -> None:
    file, out = tmp_path / "jobs.csv", tmp_path / "jobs.moor"
    file.write_text(JOBS)
    out.write_text("precious")
    result = run("trace", "import", file, "--out", out)
    assert (result.exit_code, result.stderr) == (1, f"--out: {out} exists; give a new file\n")
    assert out.read_text() == "precious"


@pytest.mark.parametrize("file", ["missing.csv", "."])
def test_a_list_that_is_not_there(tmp_path: Path, file: str) -> None:
    result = run("trace", "import", tmp_path / file, "--out", tmp_path / "out.moor")
    assert result.exit_code == 1 and result.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("flags", "code", "line"),
    [
        (["--max-size", "1Ki"], 1, "--max-size: too little for a trace; give it 64Ki or more"),
        (["--with", "gangs"], 1, "--with: there is no 'gangs'; choose of capacity, coscheduling"),
        (["--for", "soon"], 2, "'soon' is no span of time; write it like 90s, 30m or 24h"),
        (["--for", "0s"], 2, "'0s' is no span of time"),
        (["--kubeconfig", "/missing"], 1, "/missing: there is no such file"),
    ],
)
def test_wrong_flags_of_record(tmp_path: Path, flags: list[str], code: int, line: str) -> None:
    result = run("record", "--out", tmp_path / "trace.moor", *flags)
    assert result.exit_code == code
    assert line in result.stderr
    assert list(tmp_path.iterdir()) == []


def test_what_is_no_file_is_not_replaced_by_a_recording(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    result = run("record", "--out", pipe)
    assert (result.exit_code, result.stderr) == (1, f"--out: {pipe} is a device or a pipe; give a file\n")
    assert pipe.is_fifo()
