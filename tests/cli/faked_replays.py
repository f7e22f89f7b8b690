"""`moorage` with replays that take no time: as a fixture in this process, and as a program.

    python -m tests.cli.faked_replays NAME sweep ...

runs the command with the function NAME of tests/what_if/sweeps/fakes.py in place of replays.
"""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType

from moorage.api.pods import Container, Pod, PodSpec, ResourceRequirements
from moorage.what_if.sweeps import places
from moorage.what_if.trace.changes import Change, Head, Trace
from tests.what_if.sweeps import fakes

TRACE_FILES = "moorage.what_if.trace.files"


class BadTrace(Exception):
    pass


def read_trace(path: Path) -> Trace:
    """A trace of 1000 seconds with one pod, whatever the file says, unless that is `bad`."""
    if path.read_text() == "bad":
        raise BadTrace(f"{path}: line 1: no trace; record one")
    resources = ResourceRequirements(requests={"cpu": "1"})
    pod = Pod(spec=PodSpec(containers=(Container(name="a", resources=resources),)))
    return Trace(Head(began=0.0), [Change(0.0, pod), Change(1000.0, pod, gone=True)])


def trace_files() -> ModuleType:
    """What takes the place of the module that reads real ones."""
    module = ModuleType(TRACE_FILES)
    vars(module).update(BadTrace=BadTrace, read_trace=read_trace)
    return module


if __name__ == "__main__":
    from moorage.cli.main import main

    places.replayed = getattr(fakes, sys.argv.pop(1))
    sys.modules[TRACE_FILES] = trace_files()
    main()
