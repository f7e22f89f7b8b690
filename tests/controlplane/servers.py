"""A real control plane on loopback: etcd and kube-apiserver, with kubectl and kube-scheduler at hand."""

import contextlib
import http.client
import json
import os
import secrets
import socket
import ssl
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, Protocol, Self, TypeVar

HOST = "127.0.0.1"
START_SECONDS = 120.0
STOP_SECONDS = 3.0  # an API server with open watches takes far longer, and its data is thrown away
COMMAND_SECONDS = 60.0
POLL_SECONDS = 0.05
LOG_LINES = 20
WITHOUT_CONTROLLERS = ("ServiceAccount", "TaintNodesByCondition")
"""Admission plugins that need a controller manager: it makes service accounts and takes taints away."""

AUDIT_POLICY = {
    "apiVersion": "audit.k8s.io/v1",
    "kind": "Policy",
    "omitStages": ["RequestReceived"],
    "rules": [
        {"level": "Metadata", "resources": [{"group": "", "resources": ["pods/binding"]}]},
        {"level": "None"},
    ],
}

T = TypeVar("T")


class ControlPlaneError(Exception):
    """A program of the control plane did not do what it was asked."""


def wait_for(what: str, condition: Callable[[], T], *, seconds: float = 30.0) -> T:
    """The first true value of `condition`, which is called until then or until the time is over."""
    deadline = time.monotonic() + seconds
    while not (value := condition()):
        if time.monotonic() > deadline:
            raise ControlPlaneError(f"{what} did not happen within {seconds:.0f} s")
        time.sleep(POLL_SECONDS)
    return value


def free_ports(count: int) -> list[int]:
    """Distinct loopback ports that nothing listens on."""
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for each in sockets:
            each.bind((HOST, 0))
        return [each.getsockname()[1] for each in sockets]


class Program:
    """A running program that writes to a log file."""

    def __init__(self, program: Path, flags: Sequence[str], log: Path) -> None:
        self.name = program.name
        self.log = log
        with log.open("wb") as output:
            self._process = subprocess.Popen(
                [program, *flags],
                cwd=log.parent,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
            )

    @property
    def pid(self) -> int:
        return self._process.pid

    def check_running(self) -> None:
        code = self._process.poll()
        if code is not None:
            raise ControlPlaneError(f"{self.name} ended with exit code {code}:\n{self.log_end()}")

    def log_end(self) -> str:
        return "\n".join(self.log.read_text(errors="replace").splitlines()[-LOG_LINES:])

    def log_text(self) -> str:
        return self.log.read_text(errors="replace")

    def send(self, number: int) -> None:
        self._process.send_signal(number)

    def exit_code(self, seconds: float) -> int:
        """The code it ends with by itself, within the given time."""
        try:
            return self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            raise ControlPlaneError(
                f"{self.name} did not end within {seconds:.0f} s:\n{self.log_end()}"
            ) from None

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()

    def stop(self) -> None:
        self._process.terminate()
        try:
            self._process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


class Bound(NamedTuple):
    """A request to bind a pod."""

    pod: str
    code: int
    time: float


class Cluster(Protocol):
    """Any API server that a kubeconfig leads to."""

    @property
    def kubeconfig(self) -> Path: ...


class ControlPlane:
    """etcd and kube-apiserver between `start` and `stop`, or for the length of a `with` block.

    `programs` is the folder with the binaries; `apiserver_flags` come last, so they win over the flags given
    here. With `audit`, every request to bind a pod is recorded, or what another `audit_policy` says.
    """

    def __init__(
        self,
        programs: Path,
        *,
        apiserver_flags: Sequence[str] = (),
        disabled_admission: Sequence[str] = WITHOUT_CONTROLLERS,
        audit: bool = False,
        audit_policy: Mapping[str, Any] = AUDIT_POLICY,
    ) -> None:
        self._programs = programs
        self._apiserver_flags = apiserver_flags
        self._disabled_admission = disabled_admission
        self._audit = audit
        self._audit_policy = audit_policy
        self._stack = contextlib.ExitStack()
        self._folder = Path()
        self._port = self.etcd_port = 0
        self.admin_token = secrets.token_hex(16)

    @property
    def url(self) -> str:
        return f"https://{HOST}:{self._port}"

    @property
    def kubeconfig(self) -> Path:
        return self._folder / "kubeconfig"

    @property
    def ca_file(self) -> Path:
        """The API server's own certificate and, behind it in the same file, the authority that signed it."""
        return self._folder / "certificates" / "apiserver.crt"

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def start(self) -> None:
        with contextlib.ExitStack() as stack:
            self._folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="controlplane-")))
            self.etcd_port, peer_port, self._port = free_ports(3)
            self._etcd_running_flags = self._etcd_flags(self.etcd_port, peer_port)
            self._etcd = self._start(stack, "etcd", self._etcd_running_flags)
            self._running_flags = self._prepare_apiserver()
            self._write_kubeconfig()
            self._start_apiserver(stack)
            self._stack = stack.pop_all()

    def stop(self) -> None:
        self._stack.close()

    def restart_apiserver(self) -> None:
        """Stops the API server, which breaks all its connections, and starts it with the same data."""
        self.stop_apiserver()
        self.start_apiserver()

    def stop_apiserver(self) -> None:
        self._apiserver.stop()

    def start_apiserver(self) -> None:
        """Starts it again, at the same address with the same data."""
        self._start_apiserver(self._stack)

    def kill_apiserver(self) -> None:
        """Ends the API server as a crash would."""
        self._apiserver.kill()

    def restart_etcd(self) -> None:
        """Kills etcd and starts it again, at the same address with the same data."""
        self._etcd.kill()
        self._etcd = self._start(self._stack, "etcd", self._etcd_running_flags)

    @contextlib.contextmanager
    def etcd_without_space(self) -> Iterator[None]:
        """etcd refuses to write for the length of a `with` block, as it does when its quota is used up."""
        alarm = {"alarm": "NOSPACE", "memberID": self._ask_etcd("/v3/maintenance/status", {})["leader"]}
        self._ask_etcd("/v3/maintenance/alarm", {"action": "ACTIVATE", **alarm})
        try:
            yield
        finally:
            self._ask_etcd("/v3/maintenance/alarm", {"action": "DEACTIVATE", **alarm})

    def start_another_apiserver(self) -> str:
        """One more API server for the same data, with the same certificate; returns its URL."""
        [port] = free_ports(1)
        audit = (f"--audit-log-path={self._folder / f'audit-{port}.log'}",) if self._audit else ()
        flags = (*self._running_flags, f"--secure-port={port}", *audit)
        another = self._start(self._stack, "kube-apiserver", flags, log=f"kube-apiserver-{port}")
        self._wait_for_path("/readyz", (self._etcd, another), port=port)
        return f"https://{HOST}:{port}"

    def compact(self, revision: int | None = None) -> None:
        """Makes etcd forget all but the state at a revision, or else the present one."""
        revision = revision or self.revision()
        self._ask_etcd("/v3/kv/compaction", {"revision": str(revision), "physical": True})

    def revision(self) -> int:
        """How many writes etcd has seen."""
        return int(self._ask_etcd("/v3/maintenance/status", {})["header"]["revision"])

    def bindings(self) -> list[Bound]:
        """Every request to bind a pod so far, in the order of the answers; needs `audit`."""
        return [
            Bound(
                f"{entry['objectRef']['namespace']}/{entry['objectRef']['name']}",
                entry["responseStatus"]["code"],
                datetime.fromisoformat(entry["requestReceivedTimestamp"]).timestamp(),
            )
            for entry in self.audit_log()
        ]

    def audit_log(self) -> list[dict[str, Any]]:
        """What all API servers have recorded so far."""
        whole = (
            line
            for file in sorted(self._folder.glob("audit*.log"))
            for line in file.read_text().splitlines(keepends=True)
            if line.endswith("\n")
        )
        return [json.loads(line) for line in whole]

    def token(self, service_account: str, namespace: str = "kube-system") -> str:
        """A token that a pod of the service account would get."""
        return self.kubectl("create", "token", service_account, "-n", namespace).strip()

    def kubeconfig_of(self, token: str, file: Path) -> Path:
        """A kubeconfig for the bearer of a token, without any right beyond the token's."""
        content = json.loads(self.kubeconfig.read_text())
        content["users"] = [{"name": "admin", "user": {"token": token}}]
        file.write_text(json.dumps(content, indent=2))
        return file

    def kubectl(self, *arguments: str, input: str | None = None, check: bool = True) -> str:
        """What kubectl writes to its standard output."""
        done = subprocess.run(
            [
                self._programs / "kubectl",
                f"--kubeconfig={self.kubeconfig}",
                f"--cache-dir={self._folder / 'kubectl-cache'}",
                *arguments,
            ],
            env=os.environ | {"KUBECTL_KUBERC": "false"},  # a user's preferences change no test
            input=input or "",
            capture_output=True,
            text=True,
            timeout=COMMAND_SECONDS,
            check=False,
        )
        if check and done.returncode:
            raise ControlPlaneError(f"`kubectl {' '.join(arguments)}` failed: {done.stderr.strip()}")
        return done.stdout

    @contextlib.contextmanager
    def kube_scheduler(self, *flags: str) -> Iterator[Program]:
        """The real kube-scheduler, running against this control plane; `flags` come last."""
        [port] = free_ports(1)
        defaults = (
            f"--kubeconfig={self.kubeconfig}",
            f"--authentication-kubeconfig={self.kubeconfig}",
            f"--authorization-kubeconfig={self.kubeconfig}",
            "--leader-elect=false",
            "--kube-api-qps=5000",
            "--kube-api-burst=5000",
            f"--bind-address={HOST}",
            f"--secure-port={port}",
        )
        with contextlib.ExitStack() as stack:
            yield self._start(stack, "kube-scheduler", (*defaults, *flags))

    def _start_apiserver(self, stack: contextlib.ExitStack) -> None:
        self._apiserver = self._start(stack, "kube-apiserver", self._running_flags)
        for path in ("/readyz", "/api/v1/namespaces/default"):
            self._wait_for_path(path, (self._etcd, self._apiserver))

    def _start(
        self, stack: contextlib.ExitStack, name: str, flags: Sequence[str], *, log: str = ""
    ) -> Program:
        program = Program(self._programs / name, flags, self._folder / f"{log or name}.log")
        stack.callback(program.stop)
        return program

    def _etcd_flags(self, client_port: int, peer_port: int) -> list[str]:
        client, peer = (f"http://{HOST}:{port}" for port in (client_port, peer_port))
        return [
            f"--data-dir={self._folder / 'etcd'}",
            f"--listen-client-urls={client}",
            f"--advertise-client-urls={client}",
            f"--listen-peer-urls={peer}",
            f"--initial-advertise-peer-urls={peer}",
            f"--initial-cluster=default={peer}",
            "--unsafe-no-fsync",
        ]

    def _prepare_apiserver(self) -> list[str]:
        """Write the files kube-apiserver reads, and return its flags."""
        tokens = self._folder / "tokens.csv"
        tokens.write_text(f"{self.admin_token},admin,admin,system:masters\n")
        key = self._folder / "service-account.key"
        _make_key(key)
        return [
            f"--etcd-servers=http://{HOST}:{self.etcd_port}",
            f"--bind-address={HOST}",
            f"--advertise-address={HOST}",
            f"--secure-port={self._port}",
            "--endpoint-reconciler-type=none",  # it refuses to publish a loopback address
            f"--cert-dir={self.ca_file.parent}",
            f"--token-auth-file={tokens}",
            "--authorization-mode=RBAC",
            f"--disable-admission-plugins={','.join(self._disabled_admission)}",
            f"--service-account-issuer={self.url}",
            f"--service-account-key-file={key}",
            f"--service-account-signing-key-file={key}",
            "--service-cluster-ip-range=10.0.0.0/24",
            "--allow-privileged=true",
            *(self._audit_flags() if self._audit else ()),
            *self._apiserver_flags,
        ]

    def _audit_flags(self) -> tuple[str, str]:
        policy = self._folder / "audit-policy.json"
        policy.write_text(json.dumps(self._audit_policy))
        return f"--audit-policy-file={policy}", f"--audit-log-path={self._folder / 'audit.log'}"

    def _write_kubeconfig(self) -> None:
        cluster = {"server": self.url, "certificate-authority": str(self.ca_file)}
        content = {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "test", "cluster": cluster}],
            "users": [{"name": "admin", "user": {"token": self.admin_token}}],
            "contexts": [{"name": "test", "context": {"cluster": "test", "user": "admin"}}],
            "current-context": "test",
        }
        self.kubeconfig.write_text(json.dumps(content, indent=2))

    def _wait_for_path(self, path: str, programs: Sequence[Program], *, port: int = 0) -> None:
        def served() -> bool:
            for program in programs:
                program.check_running()
            return self._status(path, port or self._port) == http.HTTPStatus.OK

        try:
            wait_for(f"a good answer to {path}", served, seconds=START_SECONDS)
        except ControlPlaneError as error:
            raise ControlPlaneError(f"{error}\n{programs[-1].log_end()}") from None

    def _ask_etcd(self, path: str, question: dict[str, Any]) -> dict[str, Any]:
        connection = http.client.HTTPConnection(HOST, self.etcd_port, timeout=COMMAND_SECONDS)
        with contextlib.closing(connection):
            connection.request("POST", path, json.dumps(question))
            answer = connection.getresponse()
            text = answer.read().decode(errors="replace")
        if answer.status != http.HTTPStatus.OK:
            raise ControlPlaneError(f"etcd refused {path}: {text}")
        found: dict[str, Any] = json.loads(text)
        return found

    def _status(self, path: str, port: int) -> int | None:
        """The status the API server answers with; None while it does not answer."""
        try:
            context = ssl.create_default_context(cafile=self.ca_file)
            connection = http.client.HTTPSConnection(HOST, port, timeout=5, context=context)
            with contextlib.closing(connection):
                connection.request("GET", path, headers={"Authorization": f"Bearer {self.admin_token}"})
                return connection.getresponse().status
        except (OSError, http.client.HTTPException):
            return None


def _make_key(path: Path) -> None:
    command = ["openssl", "ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", str(path)]
    try:
        subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, timeout=COMMAND_SECONDS, check=True
        )
    except FileNotFoundError:
        raise ControlPlaneError("openssl is not on PATH; it makes the service accounts' key") from None
    except subprocess.CalledProcessError as error:
        raise ControlPlaneError(f"openssl made no key: {error.stderr.decode(errors='replace')}") from None
