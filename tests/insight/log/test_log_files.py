"""Log files: who may read them, rotation, crashes, redaction, and files that are none."""

from __future__ import annotations

import asyncio
import stat
from pathlib import Path

import pytest

from moorage.insight.log import writing
from moorage.insight.log.decision_log import DecisionLog
from moorage.insight.log.files import NotALog, read_log
from moorage.insight.log.writing import LogFile
from moorage.testing import make_node, make_pod
from tests.insight.log.test_decision_log import Refuses, drained, simulation


def written(path: Path, *, pods: int = 3, redact: bool = False, size: int = 1 << 20) -> DecisionLog:
    """A log of pods that were bound, one that was refused and one that does not fit."""
    log = DecisionLog()
    with LogFile(path, log, redact=redact, most_bytes=size):
        made = simulation(log, Refuses)
        made.add(make_node("node-4"))
        few = [make_pod(f"web-{number}", labels={"secret": "label"}) for number in range(pods)]
        refused = make_pod("declined", namespace="hidden", labels={"refused": "", "secret": "label"})
        drained(made, *few, refused, make_pod("enormous", cpu="64"))
    return log


def test_a_file_is_for_its_owner_and_says_what_it_holds(tmp_path: Path) -> None:
    path = tmp_path / "decisions.log"
    log = written(path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    read = read_log(path)
    assert not read.head.redacted and "names" in read.head.holds and "labels" in read.head.holds
    assert len(read) == len(log) and read.attempts(pod="default/web-1")[0].summary()["outcome"] == "bound"
    assert read.attempts(pod="hidden/declined")[0].entry.labels == {"refused": "", "secret": "label"}


def test_a_restarted_scheduler_goes_on_in_the_file(tmp_path: Path) -> None:
    path = tmp_path / "decisions.log"
    first, second = written(path), written(path, pods=1)
    read = read_log(path)
    assert len(read) == len(first) + len(second)
    assert [each.number for each in read.attempts(limit=1000)] == list(range(len(read), 0, -1))
    assert [each.entry.name for each in read.attempts(pod="default/web-0")] == ["web-0", "web-0"]
    assert read.attempts(before=2)[0].number == 1


@pytest.mark.parametrize("torn", [1, 7, 20])
def test_what_a_crash_left_half_written_is_cut_off(tmp_path: Path, torn: int) -> None:
    path = tmp_path / "decisions.log"
    log = written(path)
    whole = path.read_bytes()
    path.write_bytes(whole + whole[-40:][:torn])
    assert len(read_log(path)) == len(log)
    written(path, pods=1)
    assert len(read_log(path)) == len(log) + 3
    path.write_bytes(whole[:-torn])
    assert len(read_log(path)) < len(log)


def test_large_files_are_moved_aside_and_each_can_be_read_by_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writing, "_RECORDS_IN_A_BLOCK", 2)
    path = tmp_path / "decisions.log"
    log = written(path, pods=40, size=1500)
    files = sorted(tmp_path.iterdir())
    assert [file.name for file in files] == ["decisions.log", *(f"decisions.log.{n}" for n in range(1, 5))]
    numbers = [each.number for file in files for each in read_log(file).attempts(limit=1000)]
    assert numbers == sorted(numbers, reverse=True) and numbers[0] == log.newest
    assert all(stat.S_IMODE(file.stat().st_mode) == 0o600 for file in files)


def test_a_redacted_file_has_nothing_of_pods(tmp_path: Path) -> None:
    path = tmp_path / "decisions.log"
    log = written(path, redact=True)
    read = read_log(path)
    assert read.head.redacted and "without labels" in read.head.holds
    documents = str([(each.detail(), each.matrix(), each.entry.labels) for each in read.attempts(limit=1000)])
    for secret in ("web-", "declined", "enormous", "hidden", "secret", "pod-default"):
        assert secret not in documents
    assert "node-0" in documents and "Insufficient cpu" in documents
    names = {each.entry.name for each in read.attempts(limit=1000)}
    assert len(names) == len({entry.uid for entry in log.entries()})


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"apiVersion: v1\n", "not a decision log; give a file that --decision-log wrote"),
        (b"\x89PNG\r\n\x1a\n\x00", "not a decision log"),
        (b'{"format":"other","version":1,"writtenBy":"","redacted":false,"holds":""}\n', "but other"),
        (
            b'{"format":"moorage-decision-log","version":9,"writtenBy":"","redacted":false,"holds":""}\n',
            "version 9, and this Moorage reads version 1",
        ),
    ],
)
def test_other_files_are_refused_and_left_alone(tmp_path: Path, content: bytes, said: str) -> None:
    path = tmp_path / "other.yaml"
    path.write_bytes(content)
    with pytest.raises(NotALog, match=said):
        read_log(path)
    with pytest.raises(NotALog, match=said):
        LogFile(path, DecisionLog())
    assert path.read_bytes() == content


def test_a_disk_that_fails_is_told_once_and_nothing_waits_for_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    log = DecisionLog()
    file = LogFile(tmp_path / "decisions.log", log)
    monkeypatch.setattr(writing, "MOST_WAITING", 4)
    log.followers.append(file._note)

    def full(records: object) -> bytes:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(writing, "block", full)
        drained(simulation(log), *(make_pod(f"web-{number}") for number in range(3)))
        file._write()
        file._write()
    assert [record.getMessage() for record in caplog.records if record.levelname == "ERROR"] == [
        f"The decision log cannot be written to {tmp_path / 'decisions.log'}: "
        "[Errno 28] No space left on device; tried again"
    ]
    assert "2 records are missing" in caplog.text
    file.stop()
    assert len(read_log(tmp_path / "decisions.log")) >= 2


def test_ctrl_c_writes_what_waits(tmp_path: Path) -> None:
    path = tmp_path / "decisions.log"
    log = DecisionLog()
    with pytest.raises(KeyboardInterrupt), LogFile(path, log):
        made = simulation(log)
        made.add(make_pod("web"))
        asyncio.run(made.scheduler.drain())
        raise KeyboardInterrupt
    assert len(read_log(path)) == 1
