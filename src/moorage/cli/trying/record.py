"""`moorage record`: what happens in a cluster, written down to be tried again."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from moorage.cli.completion import files
from moorage.cli.setup import (
    BadInput,
    as_bytes,
    errors_in_lines,
    find_features,
    span_in_seconds,
    verbose_option,
    with_option,
)

if TYPE_CHECKING:
    from moorage.api.meta import Object
    from moorage.client.connection import ConnectionConfig
    from moorage.process.recording import Recording
    from moorage.what_if.trace.anonymizing import Anonymizer
    from moorage.what_if.trace.files import TraceWriter

FULL = 3
"""The exit code when the trace has become as large as it may."""
_LEAST_BYTES = 64 << 10


@click.command()
@click.option(
    "--out",
    required=True,
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    shell_complete=files,
    help="The trace, for its owner only. One of the same cluster is gone on with.",
)
@click.option(
    "--kubeconfig",
    metavar="FILE",
    shell_complete=files,
    help="The cluster.  [$KUBECONFIG, ~/.kube/config, that of the pod, or of `moorage up`]",
)
@click.option(
    "--for",
    "seconds",
    metavar="DURATION",
    callback=span_in_seconds("span of time", "90s, 30m or 24h"),
    help="End after so long, such as 24h.",
)
@click.option(
    "--max-size",
    default="1Gi",
    show_default=True,
    metavar="SIZE",
    callback=as_bytes,
    help="End when FILE would become larger.",
)
@click.option(
    "--anonymize",
    is_flag=True,
    help="Replace names, namespaces, labels, annotations and images; FILE.key has what is needed to go on.",
)
@with_option
@verbose_option
def record(
    out: Path,
    kubeconfig: str | None,
    seconds: float | None,
    max_size: int,
    anonymize: bool,
    features: tuple[str, ...],
    verbose: bool,
) -> None:
    """Write down what happens in a cluster: nodes, pods and all else that decides, with times.

    Nothing is written to the cluster; the rights to list and watch are enough. What a scheduler does not read
    is left out. Kinds that may not be listed are named, with the rule that is missing, and left out, too;
    only nodes and pods are needed. --with adds the custom resources of gangs and quotas.

    Ctrl-C ends it, and what has happened up to then is in the file. If the network breaks, or the process
    ends in another way, `record --out` of the same file goes on: what has changed meanwhile is written as
    changes.

    With --anonymize a scheduler would still decide the same, and without FILE.key nobody can find out a
    name by trying. docs/traces.md tells what stays as it is.

    The exit code is 3 if the file has reached --max-size, 1 if the cluster cannot be recorded, otherwise 0.

    \b
    Examples:
      moorage record --out monday.moor
      moorage record --out monday.moor --for 24h --max-size 500Mi
      moorage record --out shared.moor --anonymize --kubeconfig production.yaml
      moorage record --out gangs.moor --with coscheduling
    """
    with errors_in_lines(verbose):
        if max_size < _LEAST_BYTES:
            raise BadInput("--max-size: too little for a trace; give it 64Ki or more")
        if out.exists() and not out.is_file():
            raise BadInput(f"--out: {out} is a device or a pipe; give a file")
        from moorage.process.recording import RECORDED

        kinds = [*RECORDED, *(kind for feature in find_features(features) for kind in feature.kinds)]
        is_full = _record(_connection(kubeconfig), out, kinds, seconds, max_size, anonymize)
    if is_full:
        raise click.exceptions.Exit(FULL)


def _connection(kubeconfig: str | None) -> ConnectionConfig:
    from moorage.client.connection import from_kubeconfig, in_cluster
    from moorage.client.errors import ConfigurationError

    of_up = Path.home() / ".moorage" / "kubeconfig"
    try:
        if kubeconfig is not None:
            return from_kubeconfig(kubeconfig)
        if os.environ.get("KUBECONFIG") or (Path.home() / ".kube" / "config").exists():
            return from_kubeconfig()
        if os.environ.get("KUBERNETES_SERVICE_HOST"):
            return in_cluster()
        if of_up.exists():
            return from_kubeconfig(str(of_up))
    except ConfigurationError as error:
        raise BadInput(f"{error}; name a cluster with --kubeconfig") from None
    raise BadInput("there is no cluster to record; name one with --kubeconfig, or start `moorage up`")


def _record(
    connection: ConnectionConfig,
    out: Path,
    kinds: list[type[Object]],
    seconds: float | None,
    max_size: int,
    anonymize: bool,
) -> bool:
    """Returns whether the file is full."""
    import asyncio

    from moorage.cli import interrupts
    from moorage.cli.terminal.printable import printable
    from moorage.client.errors import ApiError
    from moorage.client.http import HttpClient
    from moorage.client.loops import loop_factory
    from moorage.process.recording import CannotRecord, Recording, identity_of, version_of
    from moorage.version import user_agent
    from moorage.what_if.trace.files import TraceFull

    async def main() -> bool:
        client = HttpClient(connection, user_agent=user_agent("moorage", "record"), qps=-1)
        async with client:
            version, cluster = await version_of(client), await identity_of(client)
            is_new = not out.exists()
            trace, anonymizer = _open(out, connection.server, version, cluster, max_size, anonymize)
            with trace, _Shown(trace) as shown:
                recording = Recording(client, trace, kinds, anonymizer=anonymizer, tell=shown.say)
                shown.recording = recording
                try:
                    await _until_stopped(recording.run(), seconds, shown.draw)
                    full = False
                except TraceFull:
                    full = True
                except CannotRecord:
                    if is_new:
                        out.unlink()
                        _key_file(out).unlink(missing_ok=True)
                    raise
            trace.close()
            shown.sum_up(full)
            return full

    interrupts.raise_again()
    try:
        with _quiet(), asyncio.Runner(loop_factory=loop_factory()) as runner:
            return runner.run(main())
    except CannotRecord as error:
        raise BadInput(f"{connection.server}: {error}") from None
    except ApiError as error:
        text = printable(" ".join(str(error).split()))
        raise BadInput(f"{connection.server}: {text}; is the cluster running, and may you read it?") from None
    except OSError as error:
        why = error.strerror or str(error)
        raise BadInput(f"{out}: cannot be written: {why}; give another file with --out") from None


@contextmanager
def _quiet() -> Iterator[None]:
    """Keeps the client from logging each failed request: the recording tells, in fewer words."""
    logger = logging.getLogger("moorage.client")
    before = logger.level
    logger.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        logger.setLevel(before)


async def _until_stopped(
    running: Coroutine[Any, Any, None], seconds: float | None, draw: Callable[[], None]
) -> None:
    """Until a signal comes or the time is over; raises what the recording raises."""
    import asyncio
    import signal

    task = asyncio.ensure_future(running)
    loop = asyncio.get_running_loop()
    stopping = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stopping.set)
    ended = asyncio.ensure_future(stopping.wait())
    until = None if seconds is None else loop.time() + seconds
    try:
        while not task.done() and not ended.done():
            draw()
            left = 1.0 if until is None else min(1.0, until - loop.time())
            if left <= 0:
                break
            await asyncio.wait({task, ended}, timeout=left, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.remove_signal_handler(number)
        ended.cancel()
        if not task.done():
            task.cancel()
        await asyncio.wait({task})
    if not task.cancelled():
        task.result()


def _open(
    out: Path, server: str, version: str, cluster: str, max_size: int, anonymize: bool
) -> tuple[TraceWriter, Anonymizer | None]:
    """The trace to write to, a new one or one to go on with, and what replaces names in it."""
    import time

    from moorage.what_if.trace.anonymizing import Anonymizer
    from moorage.what_if.trace.changes import Head
    from moorage.what_if.trace.files import BadTrace, TraceWriter

    if not out.exists() or not out.stat().st_size:
        out.unlink(missing_ok=True)
        anonymizer = Anonymizer(_new_key(out)) if anonymize else None
        source = f"Kubernetes {version}" if anonymize else f"{server}, Kubernetes {version}"
        known = cluster if anonymizer is None else anonymizer.words.word(cluster)
        head = Head(began=time.time(), source=source, anonymized=anonymize, cluster=known)
        return TraceWriter(out, head, most_bytes=max_size), anonymizer
    try:
        trace = TraceWriter.resumed(out, most_bytes=max_size)
    except BadTrace as error:
        raise BadInput(f"--out: {error}, or give a new file") from None
    try:
        if anonymize and not trace.head.anonymized:
            raise BadInput(f"--anonymize: {out} holds names already; give a new file with --out")
        anonymizer = Anonymizer(_old_key(out)) if trace.head.anonymized else None
        known = cluster if anonymizer is None else anonymizer.words.word(cluster)
        if known != trace.head.cluster:
            of_key = "" if anonymizer is None else f", or {_key_file(out)} is the key of another trace"
            raise BadInput(f"--out: {out} is a trace of another cluster{of_key}; give a new file")
    except BaseException:
        trace.close()
        raise
    return trace, anonymizer


def _key_file(out: Path) -> Path:
    return out.with_name(f"{out.name}.key")


def _new_key(out: Path) -> bytes:
    import secrets

    from moorage.what_if.blocks import append, open_private

    key = secrets.token_bytes(32)
    with open_private(_key_file(out), os.O_TRUNC) as stream:
        append(stream, key.hex().encode() + b"\n")
    return key


def _old_key(out: Path) -> bytes:
    try:
        return bytes.fromhex(_key_file(out).read_text())
    except (OSError, ValueError):
        raise BadInput(
            f"--out: {out} is anonymized, and {_key_file(out)} that it was begun with is not there;"
            " give a new file"
        ) from None


class _Shown:
    """One line that tells how far it is, where there is a terminal, and lines above it."""

    def __init__(self, trace: TraceWriter) -> None:
        from rich.console import Console
        from rich.live import Live

        self.recording: Recording | None = None
        self._trace = trace
        self._console = Console(stderr=True, highlight=False, soft_wrap=True)
        self._live = Live(console=self._console, transient=True, auto_refresh=False)

    def __enter__(self) -> _Shown:
        if self._console.is_terminal:
            self._live.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._live.stop()

    def say(self, line: str) -> None:
        self._console.print(line, markup=False)

    def draw(self) -> None:
        from rich.text import Text

        if self._console.is_terminal:
            text = Text(f"Recording: {self._counts()}. Ctrl-C ends it.", overflow="ellipsis", no_wrap=True)
            self._live.update(text, refresh=True)

    def sum_up(self, is_full: bool) -> None:
        path = self._trace.path
        click.echo(f"{path}: {self._counts()}")
        if is_full:
            click.echo(
                f"{path} has reached --max-size and holds everything up to then; give a larger --max-size to"
                " go on with it, or another --out",
                err=True,
            )
        sys.stdout.flush()

    def _counts(self) -> str:
        from moorage.cli.trying.amounts import bytes_in_words

        pods = 0 if self.recording is None else self.recording.pods
        changes = self._trace.changes
        return f"{changes:,} changes, {pods:,} pods now, {bytes_in_words(self._trace.size)}"
