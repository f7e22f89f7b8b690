"""The same kubectl commands on the embedded cluster's API server and on the real one, side by side."""

import contextlib
import difflib
import json
import re
import shlex
import subprocess
import threading
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

import yaml

from tests.embedded.clusters import Kubectl, Result


class Mask(NamedTuple):
    """What differs between any two clusters, and the word it is compared as."""

    pattern: re.Pattern[str]
    word: str

    def __call__(self, text: str) -> str:
        return self.pattern.sub(self.word, text)


def mask(pattern: str, word: str) -> Mask:
    return Mask(re.compile(pattern, re.MULTILINE), word)


_ALWAYS = (
    mask(r"\b[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b", "<uid>"),
    mask(r"\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)", "<time>"),
    mask(r"\b[A-Z][a-z]{2}, \d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d [+-]\d{4}\b", "<time>"),
    mask(r"\b\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d+ [+-]\d{4}\b", "<time>"),
    mask(r"\b[A-Z]\d{4} \d\d:\d\d:\d\d\.\d{6} +\d+ (?=\w+\.go:)", "<log>"),
    mask(r'(?<=resourceVersion: ")\d+(?=")', "<version>"),
    mask(r'(?<="resourceVersion": ")\d+(?=")', "<version>"),
    mask(r"(?<=Resource Version:)( +)\d+", r"\1<version>"),
    mask(r"\b127\.0\.0\.1:\d{2,5}\b", "<server>"),
    mask(r"\bkube-api-access-[0-9a-z]{5}\b", "kube-api-access-<random>"),
    # An age also decides how wide its column is.
    mask(r"(?<=\s)(\d{1,3}s|[2-9]m\d{1,2}s)(?=\s|$) *", "<age>"),
    mask(r"\bAGE +", "AGE "),
)


class Differences(AssertionError):
    """All commands of a script that did not do the same on both servers."""


class Pair:
    """Two servers that are to do the same: ours, and the real one."""

    def __init__(self, ours: Kubectl, real: Kubectl) -> None:
        self._servers = (ours, real)

    @property
    def kubeconfigs(self) -> tuple[Path, Path]:
        ours, real = self._servers
        return ours.kubeconfig, real.kubeconfig

    def on_both(self, command: str) -> tuple[Result, Result]:
        """What a command does on ours and on the real one, at the same time."""
        arguments = shlex.split(command)
        with ThreadPoolExecutor(len(self._servers)) as pool:
            ours, real = pool.map(lambda kubectl: kubectl.run(*arguments), self._servers)
        return ours, real

    def prepare(self, script: str) -> None:
        """Runs commands that have to succeed on both servers, without comparing what they print."""
        for command in _commands(script):
            for result in self.on_both(command):
                assert result.code == 0, f"kubectl {command}\n{result.errors}"

    def compare(self, script: str, *masks: Mask) -> None:
        """Runs a script of commands, one a line, and raises if any of them does not do the same.

        The masks come on top of those for ages, times, uids, resource versions and the server's address.
        """
        self.compare_all(_commands(script), *masks)

    def compare_all(self, commands: Iterable[str], *masks: Mask) -> None:
        """The same for commands that are made by a test."""
        different = [text for command in commands if (text := self._difference(command, masks))]
        if different:
            raise Differences("\n".join(["", *different]))

    def _difference(self, command: str, masks: Sequence[Mask]) -> str:
        ours, real = self.on_both(command)
        if "--show-managed-fields" in command:
            ours, real = _with_sorted_managers(ours), _with_sorted_managers(real)
        return unlike(f"$ kubectl {command}", _shown(ours), _shown(real), masks)

    def compare_watch(self, watch: str, changes: str, lines: int, *masks: Mask) -> None:
        """Compares the first lines of a watch during which the changes are made."""
        with ThreadPoolExecutor(len(self._servers)) as pool:
            seen = pool.map(lambda kubectl: _watched(kubectl, watch, changes, lines), self._servers)
            ours, real = ("\n".join(each) for each in seen)
        if different := unlike(f"$ kubectl {watch}", ours, real, masks):
            raise Differences(different)


def unlike(what: str, ours: str, real: str, masks: Sequence[Mask]) -> str:
    """How two texts differ, but for what differs between any two clusters; empty if they do not."""
    shown = [_masked(text, masks).splitlines() for text in (ours, real)]
    if shown[0] == shown[1]:
        return ""
    lines = difflib.unified_diff(shown[1], shown[0], "the real one", "ours", lineterm="")
    return "\n".join([what, *lines])


def _commands(script: str) -> Iterator[str]:
    """The lines of a script; empty ones and comments are left out."""
    for line in script.splitlines():
        command = line.strip()
        if command and not command.startswith("#"):
            yield command


def _with_sorted_managers(result: Result) -> Result:
    """The managers of fields are listed by time, to the second, which may be another on each server."""
    if result.code:
        return result
    document = yaml.safe_load(result.output)
    for each in document.get("items", [document]):
        each["metadata"].get("managedFields", []).sort(
            key=lambda entry: (entry["manager"], entry["operation"], entry.get("subresource", ""))
        )
    return result._replace(output=json.dumps(document, indent=2))


def _shown(result: Result) -> str:
    return f"{result.output}\n--- errors ---\n{result.errors}\n--- exit code {result.code} ---"


def _masked(text: str, masks: Sequence[Mask]) -> str:
    for each in (*masks, *_ALWAYS):
        text = each(text)
    return text


def _watched(kubectl: Kubectl, watch: str, changes: str, lines: int) -> list[str]:
    """The first lines of a watch; the changes are made once the first one is there."""
    seen: list[str] = []
    with kubectl.started(*shlex.split(watch)) as process, _ended_after(process, seconds=20):
        assert process.stdout is not None
        for line in process.stdout:
            seen.append(line.rstrip("\n"))
            if len(seen) == 1:
                for command in _commands(changes):
                    kubectl(*shlex.split(command))
            if len(seen) == lines:
                break
    return seen


@contextlib.contextmanager
def _ended_after(process: subprocess.Popen[str], seconds: float) -> Iterator[None]:
    """Ends a process that goes on for too long, so that reading its output comes to an end."""
    timer = threading.Timer(seconds, process.terminate)
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
