"""Programs of others that clusters are used with: built once, each into a folder of its own in the cache."""

from __future__ import annotations

import contextlib
import os
import shutil
import time
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.controlplane.go_programs import (
    HELM,
    KUBERNETES,
    KUEUE,
    VERSIONS,
    Go,
    build_once,
    cache,
    holds,
    say,
)


@dataclass(frozen=True)
class Other:
    """A program of a module, and a folder of the module that it is of no use without."""

    name: str
    module: str
    package: str
    files: str = ""

    @property
    def folder(self) -> Path:
        """Where the program is once it has been built, and its files below their own name."""
        return cache("others") / f"{self.name}-{VERSIONS[self.module]}"

    @property
    def program(self) -> Path:
        return self.folder / self.name

    def is_built(self) -> bool:
        return holds(self.folder, [self.name])

    def fill(self, go: Go, target: Path) -> None:
        began = time.monotonic()
        say(f"building {self.name} ...")
        if self.files:
            go.files(self.module, self.files, target / self.files)
        go.build(self.package, target / self.name)
        say(f"built {self.name} in {time.monotonic() - began:.0f} s")


CONTROLLER_MANAGER = Other("kube-controller-manager", KUBERNETES, f"{KUBERNETES}/cmd/kube-controller-manager")
HELM_PROGRAM = Other("helm", HELM, f"{HELM}/cmd/helm")
KUEUE_MANAGER = Other("kueue", KUEUE, f"{KUEUE}/cmd/kueue", files="config")


def built(other: Other, config: pytest.Config) -> Path:
    """The program for a test, which the first use on a machine builds; it skips where that cannot be."""
    if not other.is_built() and shutil.which("go") is None:
        reason = f"no {other.name}: it is built from its Go module, and go is not on PATH"
        if os.environ.get("CONTROL_PLANE_REQUIRED"):
            pytest.fail(reason)
        pytest.skip(reason)
    capture = config.pluginmanager.getplugin("capturemanager")
    with capture.global_and_fixture_disabled() if capture else contextlib.nullcontext():
        build_once(other.folder, other.is_built, other.fill)
    return other.program
