"""`moorage record` of an embedded cluster: what it prints, how it ends, and the files it leaves."""

from __future__ import annotations

import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from moorage.cli.trying import record
from moorage.what_if.trace.files import read_trace
from tests.cli.running import run
from tests.embedded.clusters import Embedded


@pytest.fixture(scope="module")
def cluster() -> Iterator[Embedded]:
    with Embedded("--no-scheduler", "--nodes=30") as running:
        yield running


def names(out: Path) -> list[str]:
    return [change.item.name for change in read_trace(out) if change.item.kind == "Node"]


def test_a_recording_of_some_seconds(cluster: Embedded, tmp_path: Path) -> None:
    out = tmp_path / "trace.moor"
    result = run("record", "--out", out, "--kubeconfig", cluster.kubeconfig, "--for", "1s")
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout.startswith(f"{out}: ") and " changes, 0 pods now, " in result.stdout
    assert len(names(out)) == 30
    assert stat.S_IMODE(out.stat().st_mode) == 0o600

    again = run("record", "--out", out, "--kubeconfig", cluster.kubeconfig, "--for", "1s")
    assert again.stdout.startswith(f"{out}: 0 changes, ")
    refused = run("record", "--out", out, "--kubeconfig", cluster.kubeconfig, "--anonymize")
    assert (refused.exit_code, refused.stdout) == (1, "")
    assert refused.stderr == f"--anonymize: {out} holds names already; give a new file with --out\n"


def test_a_recording_without_names_needs_its_key_to_go_on(cluster: Embedded, tmp_path: Path) -> None:
    out = tmp_path / "trace.moor"
    flags = ("record", "--out", out, "--kubeconfig", cluster.kubeconfig, "--for", "1s")
    assert run(*flags, "--anonymize").exit_code == 0
    key = tmp_path / "trace.moor.key"
    assert stat.S_IMODE(key.stat().st_mode) == 0o600
    first = names(out)
    assert len(first) == 30 and not any("node" in name for name in first)
    assert not read_trace(out).head.source.startswith("https")

    assert run(*flags).stdout.startswith(f"{out}: 0 changes, ")
    key.unlink()
    refused = run(*flags)
    assert refused.exit_code == 1
    assert refused.stderr.startswith(
        f"--out: {out} is anonymized, and {key} that it was begun with is not there"
    )
    assert names(out) == first


def test_a_full_file_ends_the_recording(
    cluster: Embedded, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(record, "_LEAST_BYTES", 0)
    out = tmp_path / "trace.moor"
    result = run("record", "--out", out, "--kubeconfig", cluster.kubeconfig, "--max-size", "2Ki")
    assert result.exit_code == 3
    assert result.stderr.startswith(
        f"{out} has reached --max-size and holds everything up to then; give a larger"
    )
    assert 0 < len(names(out)) < 30
    assert out.stat().st_size <= 2048

    result = run("record", "--out", out, "--kubeconfig", cluster.kubeconfig, "--for", "1s")
    assert result.exit_code == 0 and len(names(out)) == 30


def test_another_file_is_not_gone_on_with(cluster: Embedded, tmp_path: Path) -> None:
    out = tmp_path / "notes.txt"
    out.write_text("precious")
    result = run("record", "--out", out, "--kubeconfig", cluster.kubeconfig, "--for", "1s")
    assert result.exit_code == 1
    assert (
        result.stderr
        == f"--out: {out}: not a trace; give a file that `moorage record` wrote, or give a new file\n"
    )
    assert out.read_text() == "precious"
