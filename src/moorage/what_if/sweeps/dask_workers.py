"""Jobs on a Dask cluster. Needs the extra `dask`."""

from __future__ import annotations

import logging
import shutil
import sys
from collections import Counter
from collections.abc import Iterable
from concurrent.futures import CancelledError
from pathlib import Path
from queue import Empty, SimpleQueue
from threading import Lock
from typing import Any
from uuid import uuid4

from distributed import Client, Future, KilledWorker, WorkerPlugin, get_worker
from msgspec.structs import replace

from moorage import __version__
from moorage.what_if.replay.jobs import Job, Outcome
from moorage.what_if.sweeps import places
from moorage.what_if.sweeps.fingerprints import content_key, contents, plugin_file
from moorage.what_if.sweeps.places import Failure, Finished, Replay

_PATIENCE = 30
"""So many seconds a cluster may take to answer, and to have a worker."""

_MOST_AGAIN = 3
"""So often a job is given to the cluster again that it gave up."""

_THE_SAME = f"install Moorage {__version__} there, as here"

_ONE_AT_A_TIME = Lock()
"""For workers with several threads: replays share Python's source of chance and what plugins keep."""


class NoCluster(Exception):
    """A cluster that cannot be used; the text is one line that names it and what to do."""


class DaskWorkers:
    """The workers of a cluster. If one dies, Dask has its jobs done elsewhere, some times.

    Files that workers do not find by the same name, or with something else in them, are sent to them once.
    """

    count = sys.maxsize
    """Dask itself has jobs wait for a free worker."""

    def __init__(self, address: str, replay: Replay, files: Iterable[str]) -> None:
        for logger in ("distributed", "distributed.client"):
            logging.getLogger(logger).setLevel(logging.CRITICAL)
        self._address = address
        self._replay = replay
        self._running: dict[str, Future] = {}
        self._jobs: dict[str, Job] = {}
        self._again: Counter[str] = Counter()
        self._done: SimpleQueue[str] = SimpleQueue()
        try:
            self._client = Client(address, timeout=_PATIENCE, set_as_default=False)
        except (OSError, ValueError) as error:
            raise NoCluster(
                f"--dask {address}: no scheduler answers there: {_line(error)}; start `dask scheduler`"
            ) from None
        self._sent = _NONE
        try:
            self._send(list(files))
        except BaseException:
            self._client.close()
            raise

    def start(self, name: str, job: Job) -> None:
        future = self._client.submit(
            _run_there, self._replay, job, self._sent.folder, self._sent.names, pure=False
        )
        self._running[name] = future
        self._jobs[name] = job
        future.add_done_callback(lambda _: self._done.put(name))

    def wait(self, seconds: float | None = None) -> list[Finished]:
        try:
            name = self._done.get(timeout=seconds)
        except Empty:
            return []
        outcome = self._outcome(self._running.pop(name))
        job = self._jobs.pop(name)
        if isinstance(outcome, _GivenUp) and self._again[name] < _MOST_AGAIN and self._is_connected:
            # As Dask may do it with what a worker had that is lost.
            self._again[name] += 1
            self.start(name, job)
            return []
        return [Finished(name, outcome)]

    @property
    def _is_connected(self) -> bool:
        return bool(self._client.status == "running")

    def close(self) -> None:
        if self._client.status == "running":
            self._client.cancel(list(self._running.values()))
            if self._sent.folder:
                self._client.unregister_worker_plugin(self._sent.folder)
        self._running.clear()
        self._client.close()

    def _send(self, files: list[str]) -> None:
        try:
            self._client.wait_for_workers(1, timeout=_PATIENCE)
        except TimeoutError:
            raise NoCluster(
                f"--dask {self._address}: it has no worker; start some with `dask worker {self._address}`"
            ) from None
        try:
            found = self._client.run(_known_there, files)
        except Exception as error:  # what its workers cannot import, Dask tells in many ways
            raise NoCluster(
                f"--dask {self._address}: its workers cannot replay: {_line(error)}; {_THE_SAME}"
            ) from None
        for worker, (version, _) in found.items():
            if version != __version__:
                raise NoCluster(f"--dask {self._address}: {worker} has Moorage {version}; {_THE_SAME}")
        missing = [
            file for file in files if any(keys[file] != content_key(file) for _, keys in found.values())
        ]
        if missing:
            self._sent = _Sent(missing)
            self._client.register_plugin(self._sent, self._sent.folder)

    def _outcome(self, future: Future) -> Outcome | Failure:
        try:
            found: Outcome | Failure = future.result(_PATIENCE)
        except KilledWorker as error:
            return Failure(f"{error.allowed_failures + 1} workers died while they replayed it")
        except (CancelledError, OSError):
            return _GivenUp(f"the Dask scheduler at {self._address} is gone, or gave it up")
        except Exception as error:
            return Failure(f"on the Dask cluster: {type(error).__name__}: {_line(error)}")
        return found


class _GivenUp(Failure, frozen=True):
    """Nothing is known of a run, whether it was done or not."""


class _Sent(WorkerPlugin):  # type: ignore[misc]
    """Files for all workers, also for those that come later."""

    def __init__(self, files: Iterable[str]) -> None:
        self.folder = f"moorage-{uuid4().hex}" if files else ""
        self.names: dict[str, str] = {}
        """By what a file or folder is called here, what it is called in the folder there."""
        self._contents: dict[str, bytes] = {}
        for number, path in enumerate(files):
            self.names[path] = f"{number}/{Path(path).name}"
            for inner, file in contents(path):
                self._contents[f"{self.names[path]}/{inner}".rstrip("/")] = file.read_bytes()

    def setup(self, worker: Any) -> None:
        for name, content in self._contents.items():
            file = Path(worker.local_directory) / self.folder / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(content)

    def teardown(self, worker: Any) -> None:
        shutil.rmtree(Path(worker.local_directory) / self.folder, ignore_errors=True)


_NONE = _Sent(())


def files_of(job: Job) -> list[str]:
    """The files and folders that a job needs."""
    plugins = (plugin_file(plugin) for plugin in job.plugins)
    return list(dict.fromkeys(filter(None, (job.trace, job.nodes, *plugins))))


def _known_there(files: list[str]) -> tuple[str, dict[str, str]]:
    """The version of Moorage, and what is in the files."""
    return __version__, {file: content_key(file) if Path(file).exists() else "" for file in files}


def _run_there(replay: Replay, job: Job, folder: str, names: dict[str, str]) -> Outcome | Failure:
    if folder:
        top = Path(get_worker().local_directory) / folder
        job = _moved(job, {path: str(top / name) for path, name in names.items()})
    with _ONE_AT_A_TIME:
        return places.attempted(replay, job)


def _moved(job: Job, files: dict[str, str]) -> Job:
    def plugin_there(plugin: str) -> str:
        place, colon, name = plugin.partition(":")
        return f"{files.get(place, place)}{colon}{name}"

    return replace(
        job,
        trace=files.get(job.trace, job.trace),
        nodes=files.get(job.nodes, job.nodes),
        plugins=tuple(map(plugin_there, job.plugins)),
    )


def _line(error: BaseException) -> str:
    return "; ".join(str(error).splitlines())
