"""What is made of the figures of a drain: medians, ratios, checks, the record and the picture."""

import json
from pathlib import Path

import pytest

from bench.bounds import Check, Failed
from bench.drain import page, ratios
from bench.drain.contest import EMBEDDED, in_turns
from bench.drain.draining import Drained
from bench.drain.measuring import checks
from bench.drain.report import HEADINGS, Compared, middle
from bench.drain.schedulers import MOORAGE, ORIGINAL
from bench.drain.steady import latency_of
from bench.drain.workload import Size
from bench.drain.workloads import WORKLOADS

MACHINE = {
    "cpu": "a fast one",
    "cores": 2,
    "memory_gb": 8.0,
    "kernel": "6.1",
    "python": "3.11.7",
    "commit": "1234567",
    "date": "2026-11-16 22:00 UTC",
}


def drained(rate: float, cpu: float = 1.0, *, first_bind: float = 2.0, megabytes: float = 100.0) -> Drained:
    return Drained(first_bind, rate, cpu, megabytes)


def compared(
    ours: Drained,
    theirs: Drained,
    *,
    name: str = "spread",
    size: Size | None = None,
    embedded: Drained | None = None,
) -> Compared:
    workload = WORKLOADS[name]
    runs = {MOORAGE: [ours], ORIGINAL: [theirs]}
    if embedded is not None:
        runs[EMBEDDED] = [embedded]
    return Compared(workload, size or workload.size, runs)


def test_middle_takes_the_median_of_each_figure_on_its_own() -> None:
    runs = [drained(100, 3, first_bind=9), drained(300, 1, first_bind=1), drained(200, 8, first_bind=2)]
    assert middle(runs) == drained(200, 3, first_bind=2)


def test_row_stands_below_the_headings() -> None:
    row = compared(drained(900, 0.5), drained(200, 4.0)).row()
    assert row.split() == ["spread", "900", "200", "4.50", "0.50", "4.00", "0.12", "100", "100", "2.0", "2.0"]
    assert len(row) == len(HEADINGS.splitlines()[-1])


def test_checks_are_those_of_the_workload() -> None:
    found = list(checks(compared(drained(800, 1.0), drained(200, 8.0))))
    assert [(each.kept, str(each)) for each in found] == [
        (False, "MISSED spread: pods per second against kube-scheduler: 4.00 x (at least 4.5)"),
        (True, "ok     spread: CPU per pod against kube-scheduler: 0.12 x (at most 0.14)"),
    ]


def test_no_bound_holds_for_another_size() -> None:
    assert not list(checks(compared(drained(1), drained(100), size=Size(500, 5000))))


def test_embedded_cluster_is_held_against_moorage_run() -> None:
    slower = compared(drained(900, 0.1), drained(100), name="plain", embedded=drained(800))
    [missed] = [each for each in checks(slower) if not each.kept]
    assert isinstance(missed, Check) and (missed.value, missed.bound) == (800, 900)


def test_failed_case_is_one_line_that_counts() -> None:
    failed = Failed("drain plain", "moorage ended with exit code 1")
    assert not failed.kept
    assert str(failed) == "FAILED drain plain: moorage ended with exit code 1"


@pytest.mark.parametrize(("rate", "cpu", "kept"), [(81, 1.19, True), (79, 1.0, False), (100, 1.21, False)])
def test_a_fifth_behind_the_record_is_too_far(tmp_path: Path, rate: float, cpu: float, kept: bool) -> None:
    file = tmp_path / "ratios.json"
    ratios.write([compared(drained(100, 1.0), drained(100, 1.0))], MACHINE, file)
    outcomes = list(ratios.against_record(compared(drained(rate, cpu), drained(100, 1.0)), ratios.read(file)))
    assert len(outcomes) == 2 and all(each.kept for each in outcomes) is kept


def test_record_is_for_one_size_and_keeps_other_workloads(tmp_path: Path) -> None:
    file = tmp_path / "ratios.json"
    assert ratios.read(file) == {}
    first = compared(drained(300, 1.0), drained(100, 4.0))
    ratios.write([first], MACHINE, file)
    another = compared(drained(200, 1.0), drained(100, 2.0), name="affinity")
    small = compared(drained(500, 1.0), drained(100, 2.0), size=Size(500, 500))
    ratios.write([another, small], MACHINE | {"commit": "89abcde"}, file)
    assert ratios.read(file) == {
        "spread": ratios.ratio_of(first, "1234567"),
        "affinity": ratios.ratio_of(another, "89abcde"),
    }
    assert json.loads(file.read_text())["machine"] == MACHINE | {"commit": "89abcde"}
    assert not list(ratios.against_record(small, ratios.read(file)))


def test_page_shows_what_is_on_record(tmp_path: Path) -> None:
    text = page.FILE.read_text()
    assert page.with_record(text) == text
    file = tmp_path / "ratios.json"
    ratios.write([compared(drained(300, 1.0), drained(100, 4.0))], MACHINE, file)
    shown = page.with_record(text, file)
    assert "| spread | 300 | 100 | **3.00** | 1.00 | 4.00 | **0.25** | 100 | 100 | 2.0 s |\n" in shown
    assert "![" in shown and page.with_record(shown, file) == shown
    assert page.with_record(shown) == text


def test_picture_is_small(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    from bench.drain import picture

    file = tmp_path / "ratios.png"
    found = (compared(drained(300, 1.0), drained(100, 4.0), name=name) for name in WORKLOADS)
    picture.draw({each.workload.name: ratios.ratio_of(each, "1234567") for each in found}, file)
    assert file.read_bytes().startswith(b"\x89PNG") and file.stat().st_size < 100_000


def test_who_begins_changes_with_every_round(capsys: pytest.CaptureFixture[str]) -> None:
    ran: list[str] = []

    def entrant(prefix: str) -> str:
        ran.append(prefix)
        return f"run {len(ran)}"

    found = in_turns({"moorage run": entrant, "kube-scheduler": entrant}, 2)
    assert ran == ["moorage-run-1", "kube-scheduler-1", "kube-scheduler-2", "moorage-run-2"]
    assert found == {"moorage run": ["run 1", "run 4"], "kube-scheduler": ["run 2", "run 3"]}
    assert "round 2 of 2  moorage run     run 4" in capsys.readouterr().out


def test_latency_is_from_the_request_to_the_bind() -> None:
    sent = {f"pod-{number}": float(number) for number in range(101)}
    bound = {name: at + number / 1000 for number, (name, at) in enumerate(sent.items())}
    created = {name: at + 0.003 for name, at in sent.items()}
    found = latency_of(sent, created, bound | {"another": 1e9})
    assert (round(found.p50), round(found.p99), round(found.created)) == (50, 99, 3)
