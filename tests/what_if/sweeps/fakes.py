"""Replays that take no time, for what is around them. Other processes import them by their names."""

from __future__ import annotations

import json
import os
import signal
from hashlib import sha256
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from moorage.what_if.replay.jobs import Job, Outcome
from moorage.what_if.sweeps.places import replayed

OUTCOME = Outcome(
    pods=100,
    placed=100,
    never_placed=0,
    pending_p50=0.5,
    pending_p99=2.0,
    preemptions=0,
    nodes_in_use=10.0,
    fragmentation=0.25,
    cost=3.0,
    utilisation={"cpu": 0.5, "memory": 0.25},
    seconds=0.0,
)


def by_content(job: Job) -> Outcome:
    """Figures that depend on the job and on what is in its files, and on nothing else."""
    parts = (job.config, str(job.seed), Path(job.trace).read_text(), str(job.until), str(job.since))
    number = int.from_bytes(sha256("\0".join(parts).encode()).digest()[:4])
    return replace(OUTCOME, pending_p99=number / 2**20, placed=90 + number % 2, seconds=float(number % 7))


def killed_once(job: Job) -> Outcome:
    """The same; but whoever first does the job with seed 3 is killed. The trace names a folder for a note,
    which has the process."""
    if job.seed == 3 and _first_time(job):
        os.kill(os.getpid(), signal.SIGKILL)
    return by_content(job)


def killed_once_replaying(job: Job) -> Outcome:
    """A real replay; but whoever first does one with seed 3 is killed. The note is beside the trace."""
    note = Path(job.trace).with_suffix(".killed")
    if job.seed == 3 and not note.exists():
        note.write_text(str(os.getpid()))
        os.kill(os.getpid(), signal.SIGKILL)
    return replayed(job)


def killed_always(job: Job) -> Outcome:
    if job.seed == 1:
        (_folder(job) / f"try-{os.getpid()}").touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return by_content(job)


def fails_for_one(job: Job) -> Outcome:
    if job.seed == 1:
        raise ValueError("no such thing\nas this")
    return by_content(job)


def kills_the_scheduler(job: Job) -> Outcome:
    """Of a Dask cluster, whose process is noted in the folder that the trace names."""
    if job.seed == 3 and _first_time(job):
        os.kill(int((_folder(job) / "scheduler").read_text()), signal.SIGKILL)
    return by_content(job)


def reads_its_plugin(job: Job) -> Outcome:
    """Fails without a file in a folder in the folder of its plugin."""
    [plugin] = job.plugins
    folder, _, name = plugin.partition(":")
    assert (Path(folder) / "inner" / "own.py").read_text() == "own = 1"
    assert name == "Own"
    return by_content(job)


def prints(job: Job) -> Outcome:
    print("from a plugin")  # noqa: T201
    return OUTCOME


def always_the_same(job: Job) -> Outcome:
    return OUTCOME


def with_a_plugin_that_fails(job: Job) -> Outcome:
    return replace(OUTCOME, failed_plugins={"Own": 3})


def tells_its_job(job: Job) -> Outcome:
    raise ValueError(msgspec.json.encode(job).decode())


def _folder(job: Job) -> Path:
    return Path(Path(job.trace).read_text())


def _first_time(job: Job) -> bool:
    note = _folder(job) / "killed"
    if note.exists():
        return False
    note.write_text(str(os.getpid()))
    return True


def interrupted_once(job: Job) -> Outcome:
    """As if somebody pressed Ctrl-C amid the job with seed 2: all processes get the signal.

    Those who start it have to be the leaders of a group. It notes which jobs were done."""
    if job.seed == 2 and _first_time(job):
        os.killpg(os.getpgrp(), signal.SIGINT)
        while True:
            signal.pause()
    with (_folder(job) / "done").open("a") as notes:
        notes.write(f"{job.seed}\n")
    return by_content(job)


def interrupted_search(job: Job) -> Outcome:
    """The same once a better weight is found."""
    if weights_in(job).get("NodeResourcesFit", 1) > 1 and not _first_time(job):
        os.killpg(os.getpgrp(), signal.SIGINT)
        while True:
            signal.pause()
    return replace(OUTCOME, nodes_in_use=10.0 - weights_in(job).get("NodeResourcesFit", 1) / 10)


def waits_forever(job: Job) -> Outcome:
    """Tells its process through a pipe in the folder that the trace names."""
    (_folder(job) / "begun").write_text(str(os.getpid()))
    while True:
        signal.pause()


def weights_in(job: Job) -> dict[str, int]:
    """The weights that the configuration of a job gives to plugins of its first profile."""
    plugins = (json.loads(job.config).get("profiles") or [{}])[0].get("plugins", {})
    found: dict[str, int] = {}
    for point in ("multiPoint", "score"):
        found |= {each["name"]: each.get("weight", 1) for each in plugins.get(point, {}).get("enabled", [])}
    return found | dict.fromkeys((each["name"] for each in plugins.get("score", {}).get("disabled", [])), 0)


def args_in(job: Job, plugin: str) -> Any:
    """The args of a plugin in the first profile, empty if there are none."""
    entries = (json.loads(job.config).get("profiles") or [{}])[0].get("pluginConfig", [])
    return next((each["args"] for each in entries if each["name"] == plugin), {})


PLANTED = {"NodeResourcesFit": 8, "ImageLocality": 0}


def planted(job: Job) -> Outcome:
    """The fewest nodes are in use with planted weights and a planted strategy; seeds add a little noise."""
    weights = {"NodeResourcesFit": 1, "ImageLocality": 1} | weights_in(job)
    distance = sum(abs(weights[name] - weight) for name, weight in PLANTED.items())
    strategy = args_in(job, "NodeResourcesFit").get("scoringStrategy", {}).get("type", "LeastAllocated")
    others = 0 if strategy == "MostAllocated" else 6
    return replace(OUTCOME, nodes_in_use=10.0 + distance + others + 0.01 * (job.seed % 3))


def tempted(job: Job) -> Outcome:
    """The more NodeResourcesFit counts, the fewer nodes are in use, and from 5 on the fewer pods placed."""
    weight = weights_in(job).get("NodeResourcesFit", 1)
    placed = 100 if weight < 5 else 100 - 10 * weight // 2
    return replace(OUTCOME, nodes_in_use=20.0 - weight, placed=placed, never_placed=100 - placed)


def only_in_the_first_part(job: Job) -> Outcome:
    """A gain that the search sees and the rest of the trace does not have."""
    found = planted(job)
    return found if job.since is None else replace(found, nodes_in_use=10.0 + 0.01 * (job.seed % 3))
