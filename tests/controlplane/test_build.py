"""Where the programs come from, without building them."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.controlplane import build
from tests.controlplane.others import KUEUE_MANAGER, built

FAILING_GO = "#!/bin/sh\necho no such module >&2\nexit 3\n"
# Stands in for go: knows the commands the build uses, and "builds" a program that is an empty script.
WORKING_GO = """#!/bin/sh
case "$1 $2" in
"mod download") mkdir -p source/config/crd; echo kind: X > source/config/crd/x.yaml
    chmod -R a-w source/config; echo '{"GoMod": "go.mod", "Dir": "'$PWD'/source"}' ;;
"mod edit") echo '{"Go": "1.26.0", "Replace": [
    {"Old": {"Path": "example.test/a"}, "New": {"Path": "./staging/src/example.test/a"}},
    {"Old": {"Path": "example.test/b"}, "New": {"Path": "../b"}}]}' ;;
"env GOVERSION") echo go1.26.8 ;;
build*) cp go.mod "$6.mod"; echo "$GOTOOLCHAIN" >> "$6.mod"; echo '#!/bin/sh' > "$6"; chmod +x "$6" ;;
esac
"""


@pytest.fixture(autouse=True)
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine with an empty cache, no Go and nothing given."""
    monkeypatch.delenv("KUBEBUILDER_ASSETS", raising=False)
    monkeypatch.setenv("MOORAGE_CACHE", str(tmp_path / "cache"))
    commands = tmp_path / "bin"
    commands.mkdir()
    for name in ("chmod", "cp", "mkdir"):
        found = shutil.which(name)
        assert found is not None
        (commands / name).symlink_to(found)
    monkeypatch.setenv("PATH", str(commands))
    return tmp_path


def install(folder: Path, *names: str, script: str = "#!/bin/sh\n") -> Path:
    folder.mkdir(exist_ok=True)
    for name in names:
        (folder / name).write_text(script)
        (folder / name).chmod(0o755)
    return folder


def run() -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "tests.controlplane.build"]
    root = Path(__file__).parents[2]
    return subprocess.run(command, cwd=root, capture_output=True, text=True, timeout=60, check=False)


def test_without_go_and_assets_there_is_a_reason() -> None:
    reason = build.available()
    assert reason is not None and "\n" not in reason
    assert build.assets(build=False) is None
    done = run()
    assert (done.returncode, done.stdout, done.stderr) == (1, "", f"error: {reason}\n")


def test_given_folder_is_used_as_is(machine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    given = install(machine / "given", *build.PROGRAMS)
    monkeypatch.setenv("KUBEBUILDER_ASSETS", str(given))
    assert build.available() is None
    assert build.assets() == given
    assert not (machine / "cache").exists()


def test_missing_kube_scheduler_is_built_beside_the_given_ones(
    machine: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(machine / "bin", "go", script=WORKING_GO)
    given = install(machine / "given", "etcd", "kube-apiserver", "kubectl")
    monkeypatch.setenv("KUBEBUILDER_ASSETS", str(given))
    folder = build.assets()
    assert folder is not None and folder != given
    assert (folder / "kubectl").resolve() == given / "kubectl"
    assert (folder / "kube-scheduler").is_file() and not (folder / "kube-scheduler").is_symlink()
    assert not (given / "kube-scheduler").exists()


def test_folder_without_the_api_server_is_passed_over(machine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(machine / "bin", "go", script=WORKING_GO)
    monkeypatch.setenv("KUBEBUILDER_ASSETS", str(install(machine / "given", "etcd", "kubectl")))
    folder = build.assets()
    assert folder is not None and folder.is_relative_to(machine / "cache")


def test_build_prints_the_folder_last_and_leaves_nothing_else(machine: Path) -> None:
    install(machine / "bin", "go", script=WORKING_GO)
    done = run()
    assert done.returncode == 0
    folder = Path(done.stdout.splitlines()[-1])
    assert folder == build.assets(build=False)
    assert "building kube-apiserver (2 of 4) ..." in done.stderr
    assert {path.name for path in folder.parent.iterdir()} == {folder.name, f"{folder.name}.lock"}
    # Staging modules are replaced, and others that only a checkout has beside it are not.
    assert (folder / "kubectl.mod").read_text().splitlines() == [
        "module controlplane",
        "go 1.26.0",
        "require k8s.io/kubernetes v1.36.4",
        "replace example.test/a => example.test/a v0.36.4",
        "local",
    ]


def test_failed_build_shows_the_end_of_the_output_and_leaves_nothing(machine: Path) -> None:
    install(machine / "bin", "go", script=FAILING_GO)
    done = run()
    assert (done.returncode, done.stdout) == (1, "")
    assert "failed with exit code 3" in done.stderr and done.stderr.endswith("\n  no such module\n")
    assert build.assets(build=False) is None
    assert [path.suffix for path in (machine / "cache" / "controlplane").iterdir()] == [".lock"]


def test_a_program_of_others_is_built_once_with_its_files(machine: Path, pytestconfig: pytest.Config) -> None:
    install(machine / "bin", "go", script=WORKING_GO)
    program = built(KUEUE_MANAGER, pytestconfig)
    assert program.is_relative_to(machine / "cache" / "others")
    copied = program.parent / "config/crd/x.yaml"
    assert copied.read_text() == "kind: X\n"
    assert copied.stat().st_mode & 0o200 and copied.parent.stat().st_mode & 0o200
    (machine / "bin" / "go").unlink()
    assert built(KUEUE_MANAGER, pytestconfig) == program


def test_without_go_a_test_says_which_program_of_others_is_missing(
    pytestconfig: pytest.Config, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("CONTROL_PLANE_REQUIRED", raising=False)
    with pytest.raises(
        pytest.skip.Exception, match="no kueue: it is built from its Go module, and go is not"
    ):
        built(KUEUE_MANAGER, pytestconfig)
    monkeypatch.setenv("CONTROL_PLANE_REQUIRED", "1")
    with pytest.raises(pytest.fail.Exception, match="no kueue"):
        built(KUEUE_MANAGER, pytestconfig)
