"""What becomes of processes whose cluster is killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

KILLED = """
import os, signal, subprocess
from moorage.cluster.life.nodes.processes import Guard

def sleeper(**more):
    return subprocess.Popen(["sleep", "600"], start_new_session=True, **more)

guard = Guard()
left = sleeper(stdout=subprocess.DEVNULL)
guard.watch(left.pid)
for _ in range(2):
    guard.watch(sleeper().pid)
guard.forget(left.pid)
guard.forget(left.pid)
print(left.pid, flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""

CLOSED = """
import subprocess
from moorage.cluster.life.nodes.processes import Guard

Guard().close()
guard = Guard()
ended = subprocess.Popen(["true"], start_new_session=True)
guard.watch(ended.pid)
ended.wait()
guard.forget(ended.pid)
guard.close()
print("closed")
"""


def output(code: str) -> str:
    """What is written until all are gone that can write."""
    return subprocess.run(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, timeout=20, check=False
    ).stdout


def test_processes_are_ended_when_the_one_that_started_them_is_killed() -> None:
    left = int(output(KILLED))
    os.kill(left, signal.SIGKILL)  # raises if it were gone, too


def test_nothing_is_left_of_a_guard_that_is_closed() -> None:
    assert output(CLOSED) == "closed\n"
