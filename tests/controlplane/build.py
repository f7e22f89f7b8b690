"""Build etcd, kube-apiserver, kube-scheduler and kubectl once, and print the folder that holds them.

`KUBEBUILDER_ASSETS` names a folder to use instead; one that lacks only kube-scheduler has it built beside it.
"""

import hashlib
import os
import shutil
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.controlplane.go_programs import (
    ETCD,
    KUBERNETES,
    KUBERNETES_VERSION,
    VERSIONS,
    BuildError,
    Go,
    build_once,
    cache,
    holds,
    interrupted_by_signals,
    say,
)

PROGRAMS = {
    "etcd": ETCD,
    "kube-apiserver": f"{KUBERNETES}/cmd/kube-apiserver",
    "kube-scheduler": f"{KUBERNETES}/cmd/kube-scheduler",
    "kubectl": f"{KUBERNETES}/cmd/kubectl",
}
GO_MISSING = "go is not on PATH and KUBEBUILDER_ASSETS names no folder with the control plane's programs"


@dataclass(frozen=True)
class Plan:
    """A folder of programs, and what it takes to fill it."""

    folder: Path
    build: Sequence[str]
    link: Sequence[Path] = ()

    def done(self) -> bool:
        return holds(self.folder, PROGRAMS)

    def fill(self, go: Go, programs: Path) -> None:
        for source in self.link:
            (programs / source.name).symlink_to(source)
        started = time.monotonic()
        for number, name in enumerate(self.build, start=1):
            began = time.monotonic()
            say(f"building {name} ({number} of {len(self.build)}) ...")
            go.build(PROGRAMS[name], programs / name)
            now = time.monotonic()
            say(f"built {name} in {now - began:.0f} s, {now - started:.0f} s in all")


def assets(*, build: bool = True) -> Path | None:
    """The folder with the four programs; None when they are not built yet and `build` is false."""
    plan = _plan()
    if plan.done():
        return plan.folder
    if not build:
        return None
    if shutil.which("go") is None:
        raise BuildError(GO_MISSING)
    build_once(plan.folder, plan.done, plan.fill)
    return plan.folder


def available() -> str | None:
    """None when `assets()` can provide the programs, else one line that says why not."""
    return None if _plan().done() or shutil.which("go") else GO_MISSING


def _plan() -> Plan:
    builds = cache("controlplane")
    if given := os.environ.get("KUBEBUILDER_ASSETS"):
        folder = Path(given).resolve()
        if holds(folder, PROGRAMS):
            return Plan(folder, build=())
        taken = [name for name in PROGRAMS if name != "kube-scheduler"]
        if holds(folder, taken):
            mark = hashlib.sha256(bytes(folder)).hexdigest()[:12]
            target = builds / f"kube-scheduler-{KUBERNETES_VERSION}-beside-{mark}"
            return Plan(target, build=("kube-scheduler",), link=[folder / name for name in taken])
    return Plan(builds / f"kubernetes-{KUBERNETES_VERSION}-etcd-{VERSIONS[ETCD]}", build=tuple(PROGRAMS))


def main() -> int:
    interrupted_by_signals()
    try:
        folder = assets()
    except (BuildError, OSError) as error:
        say(f"error: {error}")
        return 1
    except KeyboardInterrupt:
        say("interrupted; nothing is left half-done")
        return 130
    sys.stdout.write(f"{folder}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
