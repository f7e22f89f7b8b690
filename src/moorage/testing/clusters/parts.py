"""The parts of a cluster, put together in this process: an API server with nodes and a scheduler."""

from __future__ import annotations

import asyncio
import secrets
import ssl
import sys
import tempfile
import threading
import traceback
from collections.abc import Callable, Coroutine, Sequence
from concurrent.futures import Future
from contextlib import ExitStack
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

from moorage.client.errors import ApiError
from moorage.client.http import HttpClient
from moorage.client.loops import LoopThread
from moorage.client.self_signed import LOCAL_NAMES, self_signed
from moorage.cluster.access.kubeconfig import write_kubeconfig
from moorage.cluster.access.tokens import generate_key
from moorage.cluster.base.errors import Refusal
from moorage.cluster.base.store import Store
from moorage.cluster.embedded import ADMIN, EmbeddedCluster, Identity
from moorage.config import KubeSchedulerConfiguration
from moorage.framework.loading.registry import PluginLoadError, Registry
from moorage.framework.runtime.profile import Profile
from moorage.process.local_scheduler import LocalScheduler

T = TypeVar("T")

__tracebackhide__ = True  # pytest shows the line of the test instead

HOST = "127.0.0.1"
ANSWER_SECONDS = 10.0
"""How long the API server may take for what it does at once."""
SIGN_OF_LIFE_SECONDS = 0.5
STOP_SECONDS = 10.0
"""After so long without a sign of life it is given up; a machine may be busy with other things."""
_QUIET_TURNS = 20
_OWN_CODE = str(Path(__file__).parents[2])


class Stuck(RuntimeError):
    """A thread of the cluster does not answer; the text says where it is."""


class Parts:
    """An API server that listens on this machine, and a scheduler on demand, from `start` to `stop`.

    Each lives in a thread of its own. What is asked of them comes from another one and is waited for there.
    """

    def __init__(self, nodes: Sequence[dict[str, Any]] = ()) -> None:
        self._nodes = nodes
        self._stack = ExitStack()
        self._scheduler: LocalScheduler | None = None
        self._scheduling: LoopThread | None = None
        self._failure: PluginLoadError | None = None
        self.folder: Path
        self.url: str
        self.client: HttpClient

    def start(self) -> None:
        with ExitStack() as stack:
            self._temporary = tempfile.TemporaryDirectory(prefix="moorage-test-")
            stack.callback(self._temporary.cleanup)
            self.folder = Path(self._temporary.name)
            self._thread = LoopThread("moorage-test-cluster")
            self._thread.start()
            stack.callback(self._thread.stop)
            self.who = Identity(_certificate(), _signing_key(), secrets.token_hex(16))
            cluster = self._cluster = EmbeddedCluster(self.who, folder=self.folder, run_namespaces=())
            try:
                self.ask(cluster.start(HOST, 0, _tls(), self._nodes))
            except Refusal as refusal:
                raise ValueError(f"nodes: {refusal}") from None
            stack.callback(lambda: self.ask(cluster.stop()))
            self.ask(_settled(cluster.store))
            self.url = f"https://{HOST}:{cluster.port}"
            self.client = HttpClient(cluster.connection(ADMIN), user_agent="moorage-test")
            write_kubeconfig(self.kubeconfig, server=self.url, ca=self.who.ca, token=self.who.admin_token)
            self._stack = stack.pop_all()

    def start_scheduler(self, registry: Registry, config: KubeSchedulerConfiguration) -> None:
        """Raises what is wrong with the configuration or a plugin."""
        scheduler = LocalScheduler(self._cluster.scheduler_client, for_good=False)
        thread = self._scheduling = LoopThread("moorage-test-scheduler")
        thread.start()
        self._stack.callback(thread.stop)
        self._asked(thread, scheduler.start(registry, config, self._fail))
        self._scheduler = scheduler
        self._stack.callback(lambda: self._asked(thread, scheduler.stop(at_once=True)))

    def stop(self) -> None:
        """Leaves nothing behind. Raises Stuck if a plugin does not return; if it does, call it again."""
        if self._scheduler is not None:
            self._scheduler.hurry()
        if where := self.stuck(STOP_SECONDS):
            self._temporary.cleanup()
            raise Stuck(f"the cluster cannot be stopped\n{where}")
        self._stack.close()

    @property
    def kubeconfig(self) -> Path:
        return self.folder / "kubeconfig"

    @property
    def profiles(self) -> dict[str, Profile]:
        """Those of the scheduler, by the name that pods call them."""
        running = self._scheduler.scheduler if self._scheduler is not None else None
        return {} if running is None else dict(running.profiles)

    @property
    def idle_because(self) -> str:
        """Why the scheduler schedules nothing, if that is so."""
        if self._failure is not None:
            return f"the scheduler has ended: {self._failure}"
        waits_for = self._scheduler.waits_for if self._scheduler is not None else []
        return f"the scheduler waits for {', '.join(waits_for)}" if waits_for else ""

    def holding(self, uid: str) -> list[str]:
        """The plugins for which a pod waits at Permit."""
        running = self._scheduler.scheduler if self._scheduler is not None else None
        waiting = running.services.waiting_pods.with_uid(uid) if running is not None else None
        return [] if waiting is None else waiting.pending_plugins

    def on_error(self, note: Callable[[str, str, BaseException], None]) -> None:
        """Has the scheduler tell what plugins raise: which plugin, where, and what."""
        running = self._scheduler.scheduler if self._scheduler is not None else None
        assert running is not None
        running.services.plugin_raised = note

    def ask(self, work: Coroutine[Any, Any, T], seconds: float = ANSWER_SECONDS) -> T:
        """The result of what the cluster does; raises Stuck if it does not come."""
        return self._asked(self._thread, work, seconds)

    def _asked(self, thread: LoopThread, work: Coroutine[Any, Any, T], seconds: float = ANSWER_SECONDS) -> T:
        if self._scheduling is not None and threading.get_ident() == self._scheduling.ident:
            work.close()
            raise RuntimeError(
                "a plugin cannot wait for the cluster it runs in; what it needs is in its handle"
            )
        try:
            return thread.run(work, seconds)
        except ApiError as refused:
            raise refused.with_traceback(None) from None  # its text says it all
        except TimeoutError:
            if where := self.stuck():
                raise Stuck(f"no answer after {seconds:g} s\n{where}") from None
            raise

    def submit(self, work: Coroutine[Any, Any, T]) -> Future[T]:
        """Starts something there that goes on until it is cancelled."""
        return self._thread.submit(work)

    def stuck(self, seconds: float = SIGN_OF_LIFE_SECONDS) -> str:
        """Where the scheduler's thread hangs, if it gives no sign of life for so long."""
        thread = self._scheduling
        if thread is None:
            return ""
        try:
            thread.run(asyncio.sleep(0), seconds)
        except TimeoutError:
            return f"the scheduler is stuck in:\n{_where(thread.ident)}"
        return ""

    def _fail(self, error: PluginLoadError) -> None:
        self._failure = error


async def _settled(store: Store) -> None:
    """Until nothing is written any more: nodes have told who they are, and namespaces have their accounts.

    A scheduler that comes later does not try a pod twice for that.
    """
    revision, quiet = -1, 0
    while quiet < _QUIET_TURNS:
        await asyncio.sleep(0)
        quiet = quiet + 1 if store.revision == revision else 0
        revision = store.revision


def _where(thread: int) -> str:
    """The calls that a thread has made last, from the first that is not Moorage's own."""
    frames = traceback.extract_stack(sys._current_frames()[thread])
    own = [place for place, frame in enumerate(frames) if frame.filename.startswith(_OWN_CODE)]
    others = frames[own[-1] + 1 :] if own else frames
    return "".join(traceback.format_list(others or frames[-1:])).rstrip()


_certificate: Callable[[], bytes] = cache(lambda: self_signed(LOCAL_NAMES))
_signing_key: Callable[[], bytes] = cache(generate_key)


@cache
def _tls() -> ssl.SSLContext:
    """One for all clusters of the process."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    with tempfile.NamedTemporaryFile(prefix="moorage-test-") as file:
        file.write(_certificate())
        file.flush()
        context.load_cert_chain(file.name)
    return context
