"""How the suite is built, with a stand-in for go."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from conformance import build
from tests.controlplane.go_programs import BuildError

GO = """#!/bin/sh
case "$1 $2" in
"mod download") echo '{"GoMod": "go.mod"}' ;;
"mod edit") echo '{"Go": "1.26.0"}' ;;
"env GOVERSION") echo go1.26.8 ;;
"test -c") ls > "$8.files"; echo '#!/bin/sh' > "$8"; chmod +x "$8" ;;
esac
"""


@pytest.fixture(autouse=True)
def commands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of the commands on a machine with an empty cache."""
    monkeypatch.setenv("MOORAGE_CACHE", str(tmp_path / "cache"))
    folder = tmp_path / "bin"
    folder.mkdir()
    for name in ("chmod", "ls"):
        found = shutil.which(name)
        assert found is not None
        (folder / name).symlink_to(found)
    monkeypatch.setenv("PATH", str(folder))
    return folder


def test_without_go_there_is_a_reason(commands: Path) -> None:
    with pytest.raises(BuildError, match="go is not on PATH"):
        build.suite()
    assert not (commands.parent / "cache").exists()


def test_the_suite_is_built_once(commands: Path, capsys: pytest.CaptureFixture[str]) -> None:
    go = commands / "go"
    go.write_text(GO)
    go.chmod(0o755)
    program = build.suite()
    assert program.is_file() and "v1.36.4" in program.parent.name
    assert program.with_name("suite.files").read_text().split() == ["go.mod", "suite_test.go"]
    told = capsys.readouterr().err
    assert told.startswith("building the end-to-end suite of Kubernetes v1.36.4")
    go.unlink()
    assert build.suite() == program
    assert capsys.readouterr().err == ""
