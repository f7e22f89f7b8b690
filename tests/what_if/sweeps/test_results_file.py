"""The file of a sweep: whole after every result, and a place to go on from."""

from __future__ import annotations

import csv
import json
from io import StringIO
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moorage.what_if.sweeps.results_file import BadResults, ResultsFile, as_csv
from moorage.what_if.sweeps.runs import Result
from tests.what_if.sweeps.fakes import OUTCOME


def result(number: int, error: str = "") -> Result:
    outcome = None if error else OUTCOME
    return Result(
        key=str(number), configuration="a.yaml", weights={"P": number}, seed=0, outcome=outcome, error=error
    )


def opened(path: Path) -> list[Result]:
    file = ResultsFile(path)
    file.close()
    return file.found


def test_it_is_json_after_each_result(tmp_path: Path) -> None:
    path = tmp_path / "results.json"
    file = ResultsFile(path)
    assert json.loads(path.read_text()) == []
    for number in range(3):
        file.add(result(number))
        listed = json.loads(path.read_text())
        assert [each["key"] for each in listed] == [str(each) for each in range(number + 1)]
        assert listed[0]["outcome"]["pendingP99"] == OUTCOME.pending_p99
    file.close()
    assert opened(path) == [result(number) for number in range(3)]


def test_what_failed_is_forgotten_when_it_is_opened_again(tmp_path: Path) -> None:
    path = tmp_path / "results.json"
    file = ResultsFile(path)
    for each in (result(0), result(1, "no"), result(2)):
        file.add(each)
    file.close()
    assert len(json.loads(path.read_text())) == 3
    assert opened(path) == [result(0), result(2)]
    assert len(json.loads(path.read_text())) == 2


@given(cut=st.integers(0, 2000))
def test_whoever_is_killed_while_writing_loses_one_result_at_most(
    cut: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("cut") / "results.json"
    file = ResultsFile(path)
    whole = []
    for number in range(3):
        file.add(result(number))
        whole.append(path.stat().st_size)
    file.close()
    text = path.read_bytes()[:cut]
    path.write_bytes(text)
    # What follows the last result that was cut is its comma, or what ends the list.
    kept = sum(len(text) >= size - len("\n]\n") for size in whole)
    assert opened(path) == [result(number) for number in range(kept)]
    assert len(json.loads(path.read_text())) == kept


@pytest.mark.parametrize(
    "text", ["{}", "apiVersion: v1\n", "[\n{}\n]\n", '[\n{"key": 1},\n{"key": 2}\n]\n', "[1, 2]"]
)
def test_a_file_of_something_else_is_left_alone(text: str, tmp_path: Path) -> None:
    path = tmp_path / "other.json"
    path.write_text(text)
    with pytest.raises(BadResults, match=r"other.json: .*; choose another file"):
        ResultsFile(path)
    assert path.read_text() == text


def test_two_sweeps_do_not_write_to_one_file(tmp_path: Path) -> None:
    path = tmp_path / "results.json"
    first = ResultsFile(path)
    with pytest.raises(BadResults, match="another sweep writes to it"):
        ResultsFile(path)
    first.close()
    assert opened(path) == []


def test_a_place_that_is_none(tmp_path: Path) -> None:
    with pytest.raises(BadResults, match="cannot write the file: No such file or directory; choose another"):
        ResultsFile(tmp_path / "none" / "results.json")


def test_a_disk_that_is_full(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(BadResults, match="/dev/full: is no file; choose another"):
        ResultsFile(Path("/dev/full"))
    file = ResultsFile(tmp_path / "results.json")
    with Path("/dev/full").open("r+b", buffering=0) as full, monkeypatch.context() as changed:
        changed.setattr(file, "_file", full)
        with pytest.raises(BadResults, match="cannot write the file: No space left on device; make room"):
            file.add(result(0))
    file.close()


def test_as_a_table() -> None:
    rows = list(csv.DictReader(StringIO(as_csv([result(1), result(2, "no, never")]))))
    assert [row["P"] for row in rows] == ["1", "2"]
    assert (rows[0]["pending_p99"], rows[0]["utilisation cpu"], rows[0]["error"]) == ("2.0", "0.5", "")
    assert (rows[1]["pending_p99"], rows[1]["error"]) == ("", "no, never")
