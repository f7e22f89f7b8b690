"""Embedded clusters as child processes, with the real kubectl at hand."""

import contextlib
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import NamedTuple, Self

import yaml

from tests.controlplane.build import assets
from tests.controlplane.schedulers import MOORAGE
from tests.controlplane.servers import ControlPlaneError, Program, wait_for
from tests.embedded import api_server

START_SECONDS = 60.0
COMMAND_SECONDS = 60.0


class Result(NamedTuple):
    """What a command did: its output on both streams, and its exit code."""

    output: str
    errors: str
    code: int


class Kubectl:
    """The kubectl of the control-plane folder, for one cluster; it runs in the given folder."""

    def __init__(self, kubeconfig: Path, cache: Path, folder: Path | None = None) -> None:
        programs = assets()
        assert programs is not None
        self._folder = folder
        self.kubeconfig = kubeconfig
        self._command = [str(programs / "kubectl"), f"--kubeconfig={kubeconfig}", f"--cache-dir={cache}"]

    def run(self, *arguments: str, input: str = "", seconds: float = COMMAND_SECONDS) -> Result:
        done = subprocess.run(
            [*self._command, *arguments],
            cwd=self._folder,
            env=os.environ | {"KUBECTL_KUBERC": "false"},
            input=input,
            capture_output=True,
            text=True,
            timeout=seconds,
            check=False,
        )
        return Result(done.stdout, done.stderr, done.returncode)

    def __call__(self, *arguments: str, input: str = "") -> str:
        """What it prints; an error if it fails."""
        result = self.run(*arguments, input=input)
        if result.code:
            raise ControlPlaneError(f"`kubectl {' '.join(arguments)}` failed: {result.errors.strip()}")
        return result.output

    @contextlib.contextmanager
    def started(self, *arguments: str) -> Iterator[subprocess.Popen[str]]:
        """A command that goes on, such as a watch, until the block ends."""
        with subprocess.Popen(
            [*self._command, *arguments],
            cwd=self._folder,
            env=os.environ | {"KUBECTL_KUBERC": "false"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        ) as process:
            try:
                yield process
            finally:
                process.terminate()


class Embedded:
    """A running `moorage up`, for the length of a `with` block.

    With `alone` it is the API server and nothing that acts by itself: no controllers, kubelets or scheduler.
    """

    def __init__(self, *flags: str, folder: Path | None = None, alone: bool = False) -> None:
        self._alone = alone
        self._flags = flags
        self._given_folder = folder
        self._stack = contextlib.ExitStack()
        self.folder = Path()
        self.program: Program

    @property
    def kubeconfig(self) -> Path:
        return self.folder / "kubeconfig"

    @property
    def token(self) -> str:
        token: str = yaml.safe_load(self.kubeconfig.read_text())["users"][0]["user"]["token"]
        return token

    @property
    def url(self) -> str:
        url: str = yaml.safe_load(self.kubeconfig.read_text())["clusters"][0]["cluster"]["server"]
        return url

    @property
    def kubectl(self) -> Kubectl:
        return Kubectl(self.kubeconfig, self.folder / "kubectl-cache")

    def __enter__(self) -> Self:
        with contextlib.ExitStack() as stack:
            if self._given_folder is None:
                self.folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="embedded-")))
            else:
                self.folder = self._given_folder
            self.start()
            stack.callback(self.stop)
            self._stack = stack.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()

    def start(self, *more: str) -> None:
        flags: Sequence[str] = ("up", f"--kubeconfig={self.kubeconfig}", *self._flags, *more)
        log = self.folder / "moorage.log"
        if self._alone:
            python = Path(sys.executable)
            self.program = Program(python, (api_server.__file__, *flags, "--no-scheduler", "--nodes=0"), log)
        else:
            self.program = Program(MOORAGE, flags, log)

        def ready() -> bool:
            self.program.check_running()
            return self.kubeconfig.exists()

        try:
            wait_for("the kubeconfig", ready, seconds=START_SECONDS)
        except BaseException as error:  # also when the test run is interrupted
            self.program.stop()
            if isinstance(error, ControlPlaneError):
                raise ControlPlaneError(f"{error}\n{self.program.log_end()}") from None
            raise

    def stop(self) -> None:
        self.program.stop()
