"""The suite as a program, built once."""

from __future__ import annotations

import hashlib
import shutil
import time
from pathlib import Path

from tests.controlplane.go_programs import KUBERNETES_VERSION, BuildError, Go, build_once, cache, holds, say

SOURCE = Path(__file__).with_name("suite_test.go")
NAME = "suite"


def suite() -> Path:
    """The program, which the first use on a machine builds."""
    mark = hashlib.sha256(SOURCE.read_bytes()).hexdigest()[:12]
    folder = cache("conformance") / f"kubernetes-{KUBERNETES_VERSION}-{mark}"

    def done() -> bool:
        return holds(folder, [NAME])

    if not done():
        if shutil.which("go") is None:
            raise BuildError("go is not on PATH; the suite is built with it")
        build_once(folder, done, _fill)
    return folder / NAME


def _fill(go: Go, programs: Path) -> None:
    began = time.monotonic()
    say(f"building the end-to-end suite of Kubernetes {KUBERNETES_VERSION}, which takes some minutes ...")
    go.build_tests(SOURCE, programs / NAME)
    say(f"built it in {time.monotonic() - began:.0f} s")
