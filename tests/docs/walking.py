"""Doing what a document says, block by block, in a folder of its own.

- Commands run in a shell, from one block to the next in the folder and with the variables they set. A command
  that goes on, such as `moorage up`, is started and kept until the next cluster or the document's end. A
  document that uses kubectl and starts no cluster is given one.
- The output block after commands is compared with what they printed. If the commands only look, and what
  they show is not there yet, they are tried again for some seconds.
- Python blocks are executed in one module per document.
- YAML blocks are parsed; configurations are loaded and objects are tried on an API server.
- A block whose first line is a comment with a file's name is saved under that name.
"""

import contextlib
import os
import re
import shutil
import signal
import subprocess
import sys
import time
import types
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from unittest import mock

import yaml

from moorage.config.load import load
from tests.controlplane.build import assets
from tests.controlplane.servers import wait_for
from tests.docs.blocks import COMMANDS, OUTPUT, PYTHON, ROOT, YAML, Block
from tests.docs.comparing import difference
from tests.embedded.clusters import Embedded

COMMAND_SECONDS = 60.0
START_SECONDS = 30.0
RETRY_SECONDS = 10.0
RETRY_PAUSE = 0.2
STOP_SECONDS = 15.0
STOP_PAUSE = 0.02

NEEDED = ("examples", "deploy", "Makefile", "README.md", "constraints.txt", "pyproject.toml", "conftest.py")
"""What documents use of the repository."""

CLUSTERS = ("moorage up", "make up")
GOING_ON = (
    *CLUSTERS,
    "moorage run",
    "python examples/license_server/server.py",
    "python examples/live_load/server.py",
    "python extender.py",
    "examples/name_score/run.sh",
)
"""How commands begin that do not end by themselves."""
LOOKING = re.compile(
    r"(kubectl (-n \S+ )?(get|describe|logs|wait)|curl -s|grep|cat|"
    r"moorage (evaluate|explain|pending|top))\b| "
)
"""How commands begin that change nothing."""
KEPT = ("export ", "cd ")
"""How lines begin that matter for later blocks."""


class Wrong(AssertionError):
    """A block does not do what the document says."""

    def __init__(self, block: Block, text: str) -> None:
        super().__init__(f"{block.place}\n{block.text}\n{text}")


class Going:
    """A command that goes on."""

    def __init__(
        self, block: Block, script: str, folder: Path, variables: Mapping[str, str], log: Path
    ) -> None:
        self.block = block
        self.log = log
        with log.open("wb") as output:
            self._process = subprocess.Popen(
                ["bash", "-c", script],
                cwd=folder,
                env=variables,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    @property
    def is_cluster(self) -> bool:
        return self.block.text.startswith(CLUSTERS)

    def check_running(self) -> None:
        if self._process.poll() is not None:
            raise Wrong(
                self.block, f"ended with exit code {self._process.returncode}:\n{self.log.read_text()}"
            )

    def stop(self) -> None:
        """Ends it with all that it has started, as Ctrl-C does."""
        group = self._process.pid
        deadline = time.monotonic() + STOP_SECONDS
        _signal(group, signal.SIGINT)
        while self._process.poll() is None or _signal(group, 0):
            if time.monotonic() > deadline:
                _signal(group, signal.SIGKILL)
            time.sleep(STOP_PAUSE)


def _signal(group: int, number: int) -> bool:
    """Whether a process group is still there; 0 only looks."""
    try:
        os.killpg(group, number)
    except ProcessLookupError:
        return False
    return True


class Walk:
    """The walk through one document; `judge` is an API server that is asked about objects."""

    def __init__(self, folder: Path, judge: Embedded) -> None:
        self._folder = folder / "work"
        self._here = self._folder
        self._home = folder / "home"
        self._logs = folder
        self._judge = judge
        self._kept: list[str] = []
        self._going: list[Going] = []
        self._module = types.ModuleType("document")
        self._variables = _variables(self._home)
        self._home.mkdir()
        self._folder.mkdir()
        for name in NEEDED:
            copy_of(ROOT / name, self._folder / name)

    def walk(self, blocks: list[Block]) -> None:
        sys.modules[self._module.__name__] = self._module
        with contextlib.ExitStack() as stack:
            stack.callback(self._forget_modules)
            stack.callback(self._stop)
            if _needs_cluster(blocks):
                cluster = stack.enter_context(Embedded())
                self._variables["KUBECONFIG"] = str(cluster.kubeconfig)
            for place, block in enumerate(blocks):
                following = blocks[place + 1 : place + 2]
                shown = [each.text for each in following if each.language == OUTPUT]
                if not block.not_run:
                    self._do(block, shown[0] if shown else None)

    def _do(self, block: Block, expected: str | None) -> None:
        if block.file_name:
            file = self._here / block.file_name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(block.text)
        if block.language == COMMANDS:
            if block.text.startswith(GOING_ON):
                self._start(block, expected)
            else:
                self._run(block, expected)
        elif block.language == PYTHON:
            self._execute(block)
        elif block.language == YAML:
            self._check_yaml(block)

    # Commands

    def _script(self, commands: str) -> str:
        return "\n".join(("set -e -o pipefail", *self._kept, commands))

    def _run(self, block: Block, expected: str | None) -> None:
        lines = [line for line in block.text.splitlines() if not line.startswith(("export ", "#"))]
        may_retry = all(LOOKING.match(line) for line in lines)
        deadline = time.monotonic() + RETRY_SECONDS
        while problem := self._problem(block, expected):
            if not may_retry or time.monotonic() > deadline:
                raise Wrong(block, problem + self._what_goes_on())
            time.sleep(RETRY_PAUSE)
        self._kept += [line for line in block.text.splitlines() if line.startswith(KEPT)]
        for line in block.text.splitlines():
            if line.startswith("cd "):
                self._here /= line.removeprefix("cd ")

    def _problem(self, block: Block, expected: str | None) -> str:
        done = subprocess.run(
            ["bash", "-c", self._script(block.text)],
            cwd=self._folder,
            env=self._variables,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=COMMAND_SECONDS,
            check=False,
        )
        if done.returncode:
            return f"exit code {done.returncode}:\n{done.stdout}"
        return "" if expected is None else difference(expected, done.stdout)

    def _start(self, block: Block, expected: str | None) -> None:
        is_cluster = block.text.startswith(CLUSTERS)
        if is_cluster and any(each.is_cluster for each in self._going):
            self._stop()
        log = self._logs / f"{block.line}.log"
        script = self._script(f"exec {block.text}")
        going = Going(block, script, self._folder, self._variables, log)
        self._going.append(going)
        if is_cluster:
            self._wait_for_cluster(going)
        if expected is not None:
            self._compare_log(going, expected)

    def _wait_for_cluster(self, going: Going) -> None:
        words = going.block.text.split()
        named = self._here / words[words.index("--kubeconfig") + 1] if "--kubeconfig" in words else None
        kubeconfig = named or self._home / ".moorage" / "kubeconfig"

        def ready() -> bool:
            going.check_running()
            return kubeconfig.exists()

        wait_for("the cluster", ready, seconds=START_SECONDS)

    def _compare_log(self, going: Going, expected: str) -> None:
        deadline = time.monotonic() + RETRY_SECONDS
        while problem := difference(expected, going.log.read_text()):
            going.check_running()
            if time.monotonic() > deadline:
                raise Wrong(going.block, problem)
            time.sleep(RETRY_PAUSE)

    def _what_goes_on(self) -> str:
        return "".join(f"\n\n{each.block.place}:\n{each.log.read_text()[-3000:]}" for each in self._going)

    def _stop(self) -> None:
        for going in reversed(self._going):
            going.stop()
        self._going.clear()

    # Python and YAML

    def _execute(self, block: Block) -> None:
        code = compile("\n" * block.line + block.text, str(block.document), "exec")
        with (
            contextlib.chdir(self._here),
            mock.patch.dict(os.environ, self._variables),
            mock.patch.object(sys, "path", [str(self._here), *sys.path]),
        ):
            exec(code, self._module.__dict__)

    def _forget_modules(self) -> None:
        """The document's own module, and those of files it had saved."""
        for name, module in list(sys.modules.items()):
            file = getattr(module, "__file__", None) or ""
            if module is self._module or Path(file).is_relative_to(self._folder):
                del sys.modules[name]

    def _check_yaml(self, block: Block) -> None:
        for document in yaml.safe_load_all(block.text):
            if not isinstance(document, dict):
                raise Wrong(block, "holds no mapping")
            if document.get("kind") == "KubeSchedulerConfiguration":
                loaded = load(yaml.safe_dump(document).encode(), source=block.place)
                if loaded.warnings:
                    raise Wrong(block, "\n".join(loaded.warnings))
            elif "kind" in document:
                self._try_object(block, document)

    def _try_object(self, block: Block, document: dict[str, Any]) -> None:
        result = self._judge.kubectl.run(
            "apply", "--dry-run=server", "-f", "-", input=yaml.safe_dump(document)
        )
        if result.code:
            raise Wrong(block, result.errors)


def _needs_cluster(blocks: list[Block]) -> bool:
    """Whether a document takes it for granted that there is a cluster."""
    commands = [block.text for block in blocks if block.language == COMMANDS and not block.not_run]
    starts = any(text.startswith(CLUSTERS) for text in commands)
    return not starts and any("kubectl " in text for text in commands)


def copy_of(source: Path, target: Path) -> None:
    if source.is_dir():
        shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__"))
    else:
        shutil.copy2(source, target)


def _variables(home: Path) -> dict[str, str]:
    programs = assets()
    assert programs is not None
    scripts = Path(sys.executable).parent
    of_pytest = ("PYTEST_CURRENT_TEST", "PYTEST_XDIST_WORKER", "PYTEST_XDIST_WORKER_COUNT")
    unwanted = ("KUBECONFIG", "MAKELEVEL", *of_pytest)
    inherited = {name: value for name, value in os.environ.items() if name not in unwanted}
    return inherited | {
        "HOME": str(home),
        "PATH": os.pathsep.join((str(scripts), str(programs), os.environ["PATH"])),
        "KUBECTL_KUBERC": "false",
        # `make` is not to install anything from the copy.
        "MAKEFLAGS": f"READY= BIN={scripts}",
        "COLUMNS": "120",
    }
