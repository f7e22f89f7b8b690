"""Records the feature gates that kube-scheduler knows, with their history and what they need.

It builds a small program from Kubernetes' Go modules, which takes some minutes the first time:

    python -m tools.record_feature_gates
"""

from __future__ import annotations

import json
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from tests.controlplane.go_programs import Go

SOURCE = Path(__file__).with_name("feature_gates_test.go")
DATA = Path(__file__).parent.parent / "src/moorage/config/data/feature_gates.txt"

HEAD = """\
# The feature gates of kube-scheduler v1.36.4, recorded by `python -m tools.record_feature_gates`.
# A gate, the gates it needs, and below it what it was from which version on: its stage and its default.
"""
GENERAL = ("AllAlpha", "AllBeta")


def recorded() -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder) / "feature-gates"
        Go(Path(folder)).build_tests(SOURCE, program)
        found: dict[str, Any] = json.loads(subprocess.check_output([program]))
    return found


def text(found: dict[str, Any]) -> str:
    lines = [HEAD]
    for name, specs in sorted(found["gates"].items()):
        if name not in GENERAL:
            lines.append(" ".join([name, *found["needs"].get(name, ())]))
            lines += [f" {_spec(each)}" for each in specs]
    return "\n".join(lines) + "\n"


def _spec(spec: dict[str, Any]) -> str:
    words = [spec["Version"], spec["Stage"] or "GA", "on" if spec["Default"] else "off"]
    if spec["Locked"]:
        words.append("locked")
    if spec["MinCompatibility"]:
        words.append(f"with={spec['MinCompatibility']}")
    return " ".join(words)


if __name__ == "__main__":
    DATA.parent.mkdir(exist_ok=True)
    DATA.write_text(text(recorded()))
