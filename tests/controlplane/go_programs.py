"""Programs built from Go modules, once, into a cache outside the repository."""

import contextlib
import fcntl
import json
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from types import FrameType

KUBERNETES = "k8s.io/kubernetes"
ETCD = "go.etcd.io/etcd/server/v3"
HELM = "helm.sh/helm/v3"
KUEUE = "sigs.k8s.io/kueue"
VERSIONS = {
    KUBERNETES: "v1.36.4",
    ETCD: "v3.6.8",  # what kubeadm installs with this Kubernetes version
    HELM: "v3.22.0",
    KUEUE: "v0.16.1",
}
KUBERNETES_VERSION = VERSIONS[KUBERNETES]
GO_OUTPUT_LINES = 15


class BuildError(Exception):
    """The programs cannot be provided; the first line of the message says why."""


def cache(name: str) -> Path:
    """The folder of one kind of builds."""
    if own := os.environ.get("MOORAGE_CACHE"):
        base = Path(own)
    elif shared := os.environ.get("XDG_CACHE_HOME"):
        base = Path(shared) / "moorage"
    else:
        base = Path.home() / ".cache" / "moorage"
    return base.expanduser().resolve() / name


def holds(folder: Path, names: Iterable[str]) -> bool:
    return all(os.access(folder / name, os.X_OK) and (folder / name).is_file() for name in names)


class Go:
    """The go command, working in throw-away modules below one folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        temporary = folder / "tmp"
        temporary.mkdir()
        self._environment = os.environ | {
            "CGO_ENABLED": "0",
            "GOFLAGS": "-mod=mod",
            "GOTMPDIR": str(temporary),  # so that an interrupted go leaves nothing elsewhere
            "GOWORK": "off",
        }
        self._modules: dict[str, tuple[Path, dict[str, str]]] = {}

    def build(self, package: str, program: Path) -> None:
        """A program of a module in `VERSIONS`."""
        folder, environment = self._module_of(package)
        arguments = ("build", *_flags(), "-o", str(program), package)
        self._run(*arguments, folder=folder, **environment)

    def build_tests(self, source: Path, program: Path) -> None:
        """Tests that are written in one file and import packages of Kubernetes, as a program."""
        folder, environment = self._module_of(KUBERNETES)
        shutil.copy(source, folder)
        arguments = ("test", "-c", "-vet=off", *_flags(), "-o", str(program), ".")
        self._run(*arguments, folder=folder, **environment)

    def files(self, module: str, below: str, target: Path) -> None:
        """Copies a folder of a module in `VERSIONS`."""
        downloaded = json.loads(self._run("mod", "download", "-json", f"{module}@{VERSIONS[module]}"))
        root = Path(downloaded["Dir"], below)
        for file in root.rglob("*"):
            if file.is_file():
                copy = target / file.relative_to(root)
                copy.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(
                    file, copy
                )  # without its mode: in the cache of modules nothing may be written

    def _module_of(self, package: str) -> tuple[Path, dict[str, str]]:
        path = next(path for path in VERSIONS if package.startswith(path))
        if path not in self._modules:
            self._modules[path] = self._module(path, VERSIONS[path])
        return self._modules[path]

    def _module(self, path: str, version: str) -> tuple[Path, dict[str, str]]:
        """A folder with a module that requires the given one and nothing else, and the environment for it."""
        downloaded = json.loads(self._run("mod", "download", "-json", f"{path}@{version}"))
        described = json.loads(self._run("mod", "edit", "-json", downloaded["GoMod"]))
        # Kubernetes requires its staging modules at v0.0.0 and replaces them by folders that its published
        # module lacks; their own releases stand in.
        replaced = [(each["Old"]["Path"], each["New"]["Path"]) for each in described.get("Replace") or ()]
        staging = [old for old, new in replaced if new.startswith("./staging/")]
        lines = [
            "module controlplane",
            f"go {described['Go']}",
            f"require {path} {version}",
            *(f"replace {name} => {name} v0{version.removeprefix('v1')}" for name in staging),
        ]
        folder = self._folder / path.replace("/", "-")
        folder.mkdir()
        (folder / "go.mod").write_text("\n".join(lines) + "\n")
        suffices = self._local_version() >= _numbers(described["Go"])
        return folder, {"GOTOOLCHAIN": "local"} if suffices else {}

    def _local_version(self) -> list[int]:
        return _numbers(self._run("env", "GOVERSION", GOTOOLCHAIN="local"))

    def _run(self, *arguments: str, folder: Path | None = None, **environment: str) -> str:
        with subprocess.Popen(
            ["go", *arguments],
            cwd=folder or self._folder,
            env=self._environment | environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            process_group=0,
        ) as process:
            try:
                output, errors = process.communicate()
            except BaseException:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)  # its compilers and linkers too
                raise
        if process.returncode:
            end = (output + errors).splitlines()[-GO_OUTPUT_LINES:]
            what = " ".join(word for word in (*arguments[:2], arguments[-1]) if not word.startswith("-"))
            raise BuildError("\n  ".join((f"`go {what}` failed with exit code {process.returncode}:", *end)))
        return output


def _flags() -> tuple[str, ...]:
    """How everything is built: small, and with Kubernetes' version in it."""
    major, minor, _ = KUBERNETES_VERSION.removeprefix("v").split(".")
    stamps = {"gitVersion": KUBERNETES_VERSION, "gitMajor": major, "gitMinor": minor}
    linker = " ".join(["-s -w", *(f"-X k8s.io/component-base/version.{k}={v}" for k, v in stamps.items())])
    return "-trimpath", "-ldflags", linker


def _numbers(version: str) -> list[int]:
    return [int(number) for number in re.findall(r"\d+", version)]


def build_once(folder: Path, done: Callable[[], bool], fill: Callable[[Go, Path], None]) -> None:
    """Has a folder of programs filled if it is not `done`, by one process at a time.

    `fill` gets another folder, which is renamed when it returns: the target is whole or absent.
    """
    folder.parent.mkdir(parents=True, exist_ok=True)
    with _lock(folder.with_name(f"{folder.name}.lock")):
        if done():
            return
        partial = folder.with_name(f"{folder.name}.partial")
        shutil.rmtree(partial, ignore_errors=True)  # what a killed build left behind
        shutil.rmtree(folder, ignore_errors=True)
        try:
            programs = partial / "programs"
            programs.mkdir(parents=True)
            fill(Go(partial), programs)
            programs.rename(folder)
        finally:
            shutil.rmtree(partial, ignore_errors=True)


@contextlib.contextmanager
def _lock(path: Path) -> Iterator[None]:
    with path.open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say("waiting for another build of the same programs ...")
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


def say(line: str) -> None:
    sys.stderr.write(f"{line}\n")
    sys.stderr.flush()


def interrupted_by_signals() -> None:
    """Has a process clean up when it is told to end, as for Ctrl-C."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) != signal.SIG_IGN:  # which is what nohup sets
            signal.signal(number, _interrupt)


def _interrupt(_number: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt
