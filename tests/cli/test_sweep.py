"""`moorage sweep` as its users see it; the replays are not real."""

from __future__ import annotations

import csv
import json
import os
import select
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from moorage.cli.trying.progress import Bar
from moorage.what_if.sweeps import places
from moorage.what_if.sweeps.fingerprints import content_key
from tests.cli.faked_replays import TRACE_FILES, trace_files
from tests.cli.running import refused, run
from tests.config.samples import text_of
from tests.what_if.sweeps import fakes


@pytest.fixture(autouse=True)
def no_real_replays(monkeypatch: pytest.MonkeyPatch) -> None:
    content_key.cache_clear()
    monkeypatch.setattr(places, "replayed", fakes.by_content)
    monkeypatch.setitem(sys.modules, TRACE_FILES, trace_files())


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    file = tmp_path / "monday.trace"
    file.write_text(str(tmp_path))
    return file


def sweep(*args: str | Path) -> Result:
    return run("sweep", *args, "--jobs", "1")


def as_json(*args: str | Path) -> dict[str, Any]:
    result = sweep(*args, "-o", "json")
    found: dict[str, Any] = json.loads(result.stdout)
    return found


def faked(replay: str, *args: str) -> list[str]:
    """The command in a process of its own."""
    return [sys.executable, "-m", "tests.cli.faked_replays", replay, "sweep", *args, "--jobs", "1"]


def test_rows_and_the_best(trace: Path) -> None:
    result = sweep(trace, "--weights", "NodeResourcesFit=1,5,10", "--seeds", "2")
    assert (result.exit_code, result.stderr) == (0, "")
    heading, *rows, blank, best = result.stdout.splitlines()
    assert heading.split()[:3] == ["BEST", "PLACED", "PENDING"]
    assert [row.partition("defaults ")[2] for row in rows] == [
        f"NodeResourcesFit={weight}" for weight in (1, 1, 5, 5, 10, 10)
    ]
    # As the reader would find it: the most pods, then the shortest wait, on the way and on average.
    shown = as_json(trace, "--weights", "NodeResourcesFit=1,5,10", "--seeds", "2")
    ranks = [(-each["outcome"]["placed"], each["outcome"]["pendingP99"]) for each in shown["results"]]
    stars = [row.startswith("*") for row in rows]
    assert stars == [ranks[place] == min(ranks[: place + 1]) for place in range(len(ranks))]
    means = {
        weight: (
            sum(rank[0] for rank in ranks[place : place + 2]),
            sum(rank[1] for rank in ranks[place : place + 2]),
        )
        for place, weight in ((0, 1), (2, 5), (4, 10))
    }
    winner = min(means, key=lambda weight: means[weight])
    assert blank == ""
    assert best.startswith(f"Best: defaults NodeResourcesFit={winner}: pending_p99 ")
    assert "over 2 seeds" in best
    assert shown["best"] == {"configuration": "defaults", "weights": {"NodeResourcesFit": winner}}


def test_several_files_and_weights(trace: Path, tmp_path: Path) -> None:
    for name in ("a.yaml", "b.yaml"):
        (tmp_path / name).write_text(text_of())
    configs = ("--config", tmp_path / "a.yaml", "--config", tmp_path / "b.yaml")
    weights = ("--weights", "ImageLocality=0,1", "--weights", "NodeAffinity=2,3")
    shown = as_json(trace, *configs, *weights)
    assert shown["objective"] == "pending_p99"
    assert [(Path(each["configuration"]).name, each["weights"]) for each in shown["results"]] == [
        (name, {"ImageLocality": first, "NodeAffinity": second})
        for name in ("a.yaml", "b.yaml")
        for first in (0, 1)
        for second in (2, 3)
    ]


def test_all_cores_and_one_give_the_same(trace: Path) -> None:
    one = as_json(trace, "--seeds", "6")
    two = json.loads(run("sweep", trace, "--seeds", "6", "--jobs", "2", "-o", "json").stdout)
    assert one == two
    assert len(one["results"]) == 6


def test_one_that_fails_gives_a_line(trace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(places, "replayed", fakes.fails_for_one)
    out = tmp_path / "results.json"
    result = sweep(trace, "--seeds", "3", "--out", out)
    assert result.exit_code == 1
    assert result.stderr == "Failed: defaults, seed 1: ValueError: no such thing; as this\n"
    assert len(result.stdout.splitlines()) == 1 + 2 + 2
    assert [each.get("error", "") != "" for each in json.loads(out.read_text())] == [False, True, False]
    assert "Traceback" in sweep(trace, "--seeds", "2", "-v").stderr


def test_a_second_run_does_what_is_left(trace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out = tmp_path / "results.json"
    assert sweep(trace, "--seeds", "2", "--out", out).exit_code == 0
    monkeypatch.setattr(places, "replayed", fakes.fails_for_one)
    result = sweep(trace, "--seeds", "3", "--out", out)
    assert (result.exit_code, result.stderr) == (0, "")  # seed 1, which would fail, is not done again
    assert len(result.stdout.splitlines()) == 1 + 3 + 2
    assert [each["seed"] for each in json.loads(out.read_text())] == [0, 1, 2]


def test_csv(trace: Path, tmp_path: Path) -> None:
    table = tmp_path / "results.csv"
    assert sweep(trace, "--weights", "ImageLocality=1,2", "--csv", table).exit_code == 0
    with table.open() as opened:
        rows = list(csv.DictReader(opened))
    assert [(row["configuration"], row["ImageLocality"]) for row in rows] == [
        ("defaults", "1"),
        ("defaults", "2"),
    ]
    assert float(rows[0]["pending_p99"]) > 0


def test_plugins_prices_and_nodes_are_part_of_the_job(
    trace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plugin = tmp_path / "own.py"
    plugin.write_text(OWN)
    nodes = tmp_path / "nodes.yaml"
    nodes.write_text("apiVersion: v1\nkind: Node\nmetadata: {name: a}\n")
    monkeypatch.setattr(places, "replayed", fakes.tells_its_job)
    monkeypatch.chdir(tmp_path)
    price = "node.kubernetes.io/instance-type=m5.large=0.1"
    line = sweep(
        *("monday.trace", "--plugin", "own.py:Own", "--with", "coscheduling", "--nodes", "nodes.yaml"),
        *("--price", price, "--weights", "Own=7"),
    ).stderr
    job = json.loads(line.partition("defaults Own=7, seed 0: ")[2].removeprefix("ValueError: "))
    assert job["trace"] == str(trace)
    assert job["plugins"] == [f"{plugin}:Own"]
    assert job["nodes"] == str(nodes)
    assert job["features"] == ["coscheduling"]
    assert job["prices"] == [["node.kubernetes.io/instance-type=m5.large", 0.1]]
    enabled = json.loads(job["config"])["profiles"][0]["plugins"]["multiPoint"]["enabled"]
    assert enabled == [{"name": "Coscheduling"}, {"name": "Own", "weight": 7}]


OWN = """
from moorage import ScorePlugin


class Own(ScorePlugin):
    def score(self, cycle, pod, node):
        return 1
"""


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (
            ("--weights", "NodeResourcesFit"),
            "--weights NodeResourcesFit: write it like NodeResourcesFit=1,5,10",
        ),
        (("--weights", "A=1,-5"), "--weights A=1,-5: write it like NodeResourcesFit=1,5,10"),
        (
            ("--weights", "A=1", "--weights", "A=2"),
            "--weights A=2: A is given twice; put all its weights into one",
        ),
        (
            ("--weights", "NodeResourceFit=1"),
            '--weights NodeResourceFit: it does not score in defaults; did you mean "NodeResourcesFit"?',
        ),
        (("--weights", "NodeAffinity=1,2", "--seeds", "100000"), "these are 200000 replays; choose fewer "),
        (
            ("--config", "none.yaml"),
            "none.yaml: cannot read the file: No such file or directory; check the path",
        ),
        (("--out", "none/results.json"), "--out none/results.json: cannot write there; choose another place"),
        (("--csv", "."), "--csv .: it is a folder; name a file"),
        (("--plugin", "none.py"), "none.py: "),
        (("--with", "nothing"), "--with: there is no 'nothing'; choose of capacity, coscheduling"),
    ],
)
def test_bad_input_is_refused_in_a_line(
    args: tuple[str, ...], said: str, trace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert refused(run("sweep", trace, *args)).startswith(said)


def test_prices_and_nodes_that_are_none(trace: Path, tmp_path: Path) -> None:
    line = refused(run("sweep", trace, "--price", "a=b=cheap"))
    assert line == "--price a=b=cheap: 'cheap' is no price per hour; give a number from 0 on"
    nodes = tmp_path / "nodes.yaml"
    nodes.write_text("apiVersion: v1\nkind: Pod\n")
    assert refused(run("sweep", trace, "--nodes", nodes)).startswith(f"{nodes}: object 1 is Pod; ")


def test_a_trace_that_is_none(tmp_path: Path) -> None:
    missing = tmp_path / "missing"
    said = "cannot read the trace: No such file or directory; check the path"
    assert refused(run("sweep", missing)) == f"{missing}: {said}"
    missing.write_text("bad")
    assert refused(run("sweep", missing)) == f"{missing}: line 1: no trace; record one"


def test_the_mistakes_of_each_file_are_told_with_its_name(trace: Path, tmp_path: Path) -> None:
    config = tmp_path / "wrong.yaml"
    config.write_text(text_of() + "parallelism: -1\n")
    assert refused(run("sweep", trace, "--config", config)).startswith(f"{config}: parallelism: ")


@pytest.mark.parametrize(
    "args",
    [
        ("--objective", "cost"),
        ("--objective", "speed"),
        ("--jobs", "2", "--dask", "tcp://127.0.0.1:1"),
        ("--seeds", "0"),
    ],
)
def test_wrong_usage(args: tuple[str, ...], trace: Path) -> None:
    assert run("sweep", trace, *args).exit_code == 2


def test_the_extra_is_missing(trace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    line = refused(run("sweep", trace, "--dask", "tcp://127.0.0.1:1"))
    assert line == "moorage sweep --dask needs the extra: pip install 'moorage[dask]'"


def test_ctrl_c_keeps_what_was_found(trace: Path, tmp_path: Path) -> None:
    out = tmp_path / "results.json"
    command = faked("interrupted_once", str(trace), "--seeds", "5", "--out", str(out))

    def done() -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            command, capture_output=True, text=True, timeout=60, check=False, start_new_session=True
        )

    first = done()
    assert first.returncode == 130
    assert first.stderr == (
        f"Interrupted after 2 of 5 replays; the same command with --out {out} goes on from here\n"
    )
    assert len(first.stdout.splitlines()) == 1 + 2 + 2
    assert [each["seed"] for each in json.loads(out.read_text())] == [0, 1]
    second = done()
    assert (second.returncode, second.stderr) == (0, "")
    assert [each["seed"] for each in json.loads(out.read_text())] == [0, 1, 2, 3, 4]
    assert (tmp_path / "done").read_text().split() == ["0", "1", "2", "3", "4"]


def test_what_plugins_print_is_not_among_the_results(trace: Path) -> None:
    command = faked("prints", str(trace), "-o", "json")
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (0, "from a plugin\n")
    assert len(json.loads(done.stdout)["results"]) == 1


def test_no_process_outlives_a_sweep_that_is_killed(trace: Path, tmp_path: Path) -> None:
    pipe = tmp_path / "begun"
    os.mkfifo(pipe)
    with subprocess.Popen(faked("waits_forever", str(trace)), stdout=subprocess.DEVNULL) as process:
        worker = os.pidfd_open(int(pipe.read_text()))
        process.kill()
    ended, _, _ = select.select([worker], [], [], 60)
    os.close(worker)
    assert ended


def test_equally_good_ones_are_told(trace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(places, "replayed", fakes.always_the_same)
    result = sweep(trace, "--weights", "ImageLocality=1,2,3")
    assert result.stdout.splitlines()[-1] == (
        "Best: defaults ImageLocality=1: pending_p99 2, 100 of 100 pods placed; 2 others are as good"
    )
    assert "COST" not in result.stdout


def test_plugins_that_fail_are_told(trace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(places, "replayed", fakes.with_a_plugin_that_fails)
    result = sweep(trace)
    assert (result.exit_code, result.stderr) == (1, "Plugin Own failed 3 times: defaults, seed 0\n")


def test_narrow_terminals(trace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from moorage.cli.trying import sweep_report

    def lines(width: int) -> list[str]:
        monkeypatch.setattr(sweep_report, "terminal_width", lambda: width)
        weights = ("--weights", "NodeResourcesBalancedAllocation=1,1000", "--weights", "NodeResourcesFit=7,8")
        return sweep(trace, *weights).stdout.splitlines()

    for width in (50, 80, 100, 160):
        shown = lines(width)
        assert max(map(len, shown)) <= width, width
        assert sum("NodeResourcesFit=8" in line for line in shown) >= 2
    wide = lines(200)
    place = wide[1].index("CONFIGURATION")
    assert all(row[place:].startswith("defaults Node") for row in wide[2:6])


def test_the_bar_tells_the_best_so_far(trace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[str] = []
    monkeypatch.setattr(Bar, "advance", lambda bar, text="": told.append(text))
    results = as_json(trace, "--seeds", "6")["results"]
    ranks = [(-each["outcome"]["placed"], each["outcome"]["pendingP99"]) for each in results]
    best = [min(ranks[: number + 1])[1] for number in range(len(ranks))]
    assert told == [f"best pending_p99 {value:.4g}" for value in best]
