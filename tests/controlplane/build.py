"""Build etcd, kube-apiserver, kube-scheduler and kubectl once, and print the folder that holds them.

`KUBEBUILDER_ASSETS` names a folder to use instead; one that lacks only kube-scheduler has it built beside it.
"""

import contextlib
import fcntl
import hashlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

KUBERNETES = "k8s.io/kubernetes"
ETCD = "go.etcd.io/etcd/server/v3"
VERSIONS = {
    KUBERNETES: "v1.36.4",
    ETCD: "v3.6.8",  # what kubeadm installs with this Kubernetes version
}
KUBERNETES_VERSION = VERSIONS[KUBERNETES]
PROGRAMS = {
    "etcd": ETCD,
    "kube-apiserver": f"{KUBERNETES}/cmd/kube-apiserver",
    "kube-scheduler": f"{KUBERNETES}/cmd/kube-scheduler",
    "kubectl": f"{KUBERNETES}/cmd/kubectl",
}
GO_MISSING = "go is not on PATH and KUBEBUILDER_ASSETS names no folder with the control plane's programs"
GO_OUTPUT_LINES = 15


class BuildError(Exception):
    """The programs cannot be provided; the first line of the message says why."""


@dataclass(frozen=True)
class Plan:
    """A folder of programs, and what it takes to fill it."""

    folder: Path
    build: Sequence[str]
    link: Sequence[Path] = ()

    def done(self) -> bool:
        return _holds(self.folder, PROGRAMS)


def assets(*, build: bool = True) -> Path | None:
    """The folder with the four programs; None when they are not built yet and `build` is false."""
    plan = _plan()
    if plan.done():
        return plan.folder
    if not build:
        return None
    if shutil.which("go") is None:
        raise BuildError(GO_MISSING)
    plan.folder.parent.mkdir(parents=True, exist_ok=True)
    with _lock(plan.folder.with_name(f"{plan.folder.name}.lock")):
        if not plan.done():
            _build(plan)
    return plan.folder


def available() -> str | None:
    """None when `assets()` can provide the programs, else one line that says why not."""
    return None if _plan().done() or shutil.which("go") else GO_MISSING


def _plan() -> Plan:
    cache = _cache()
    if given := os.environ.get("KUBEBUILDER_ASSETS"):
        folder = Path(given).resolve()
        if _holds(folder, PROGRAMS):
            return Plan(folder, build=())
        taken = [name for name in PROGRAMS if name != "kube-scheduler"]
        if _holds(folder, taken):
            mark = hashlib.sha256(bytes(folder)).hexdigest()[:12]
            target = cache / f"kube-scheduler-{KUBERNETES_VERSION}-beside-{mark}"
            return Plan(target, build=("kube-scheduler",), link=[folder / name for name in taken])
    return Plan(cache / f"kubernetes-{KUBERNETES_VERSION}-etcd-{VERSIONS[ETCD]}", build=tuple(PROGRAMS))


def _cache() -> Path:
    if own := os.environ.get("MOORAGE_CACHE"):
        base = Path(own)
    elif shared := os.environ.get("XDG_CACHE_HOME"):
        base = Path(shared) / "moorage"
    else:
        base = Path.home() / ".cache" / "moorage"
    return base.expanduser().resolve() / "controlplane"


def _holds(folder: Path, names: Iterable[str]) -> bool:
    return all(os.access(folder / name, os.X_OK) and (folder / name).is_file() for name in names)


@contextlib.contextmanager
def _lock(path: Path) -> Iterator[None]:
    with path.open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            _say("waiting for another build of the same programs ...")
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _build(plan: Plan) -> None:
    """Fill a folder beside the target and rename it, so that the target is whole or absent."""
    partial = plan.folder.with_name(f"{plan.folder.name}.partial")
    shutil.rmtree(partial, ignore_errors=True)  # what a killed build left behind
    shutil.rmtree(plan.folder, ignore_errors=True)
    try:
        programs = partial / "programs"
        programs.mkdir(parents=True)
        for source in plan.link:
            (programs / source.name).symlink_to(source)
        started = time.monotonic()
        go = Go(partial)
        for number, name in enumerate(plan.build, start=1):
            began = time.monotonic()
            _say(f"building {name} ({number} of {len(plan.build)}) ...")
            go.build(PROGRAMS[name], programs / name)
            now = time.monotonic()
            _say(f"built {name} in {now - began:.0f} s, {now - started:.0f} s in all")
        programs.rename(plan.folder)
    finally:
        shutil.rmtree(partial, ignore_errors=True)


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
        path = next(path for path in VERSIONS if package.startswith(path))
        if path not in self._modules:
            self._modules[path] = self._module(path, VERSIONS[path])
        folder, environment = self._modules[path]
        major, minor, _ = KUBERNETES_VERSION.removeprefix("v").split(".")
        stamps = {"gitVersion": KUBERNETES_VERSION, "gitMajor": major, "gitMinor": minor}
        flags = " ".join(["-s -w", *(f"-X k8s.io/component-base/version.{k}={v}" for k, v in stamps.items())])
        arguments = ("build", "-trimpath", "-ldflags", flags, "-o", str(program), package)
        self._run(*arguments, folder=folder, **environment)

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


def _numbers(version: str) -> list[int]:
    return [int(number) for number in re.findall(r"\d+", version)]


def _say(line: str) -> None:
    sys.stderr.write(f"{line}\n")
    sys.stderr.flush()


def _interrupt(_number: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt


def main() -> int:
    for number in (signal.SIGTERM, signal.SIGHUP):  # clean up as for Ctrl-C
        if signal.getsignal(number) != signal.SIG_IGN:  # which is what nohup sets
            signal.signal(number, _interrupt)
    try:
        folder = assets()
    except (BuildError, OSError) as error:
        _say(f"error: {error}")
        return 1
    except KeyboardInterrupt:
        _say("interrupted; nothing is left half-done")
        return 130
    sys.stdout.write(f"{folder}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
