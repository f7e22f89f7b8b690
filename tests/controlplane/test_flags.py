"""The command line of kube-scheduler: both programs take the same flags and end and show themselves alike."""

import contextlib
import http.client
import json
import os
import re
import signal
import ssl
import subprocess
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

import pytest
from prometheus_client.parser import text_string_to_metric_families

from moorage.cli.kube_flags import KUBE_FLAGS
from moorage.cli.run import run
from moorage.config.feature_gates import FeatureGates
from moorage.version import GIT_VERSION
from tests.controlplane.programs import programs_for
from tests.controlplane.schedulers import MOORAGE
from tests.controlplane.servers import HOST, ControlPlane, free_ports, wait_for

OWN_FLAGS = {
    "dashboard",
    "decision-log",
    "decision-log-memory",
    "decision-log-redact",
    "decision-log-size",
    "legacy-scheduler-annotation",
    "plugin",
    "plugin-timeout",
    "strict-config-version",
    "with",
}

CONFIG = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
FILES = {
    "broken.yaml": "a: [b",
    "invalid.yaml": CONFIG + "parallelism: -1\n",
    "broken.kubeconfig": "apiVersion: v1\nkind: Config\nclusters: [",
}

FAILING = [
    "",  # nothing says where the cluster is
    "--nonsense",
    "extra",
    "--config",
    "--config missing.yaml",
    "--config broken.yaml",
    "--config invalid.yaml",
    "--kubeconfig missing.kubeconfig",
    "--kubeconfig broken.kubeconfig",
    "--leader-elect=maybe",
    "--leader-elect false",
    "--secure-port=abc",
    "--secure-port=70000",
    "--bind-address=nowhere",
    "-v=-1",
    "--logging-format=xml",
    "--logging-format=json --feature-gates=LoggingBetaOptions=false",
    "--leader-elect-lease-duration=soon",
    "--feature-gates=Nope=true",
    "--feature-gates=SchedulerQueueingHints=false",
    "--feature-gates=GangScheduling=true",
    "--emulated-version=1.30",
    "--log-text-split-stream",
    "--log-text-info-buffer-size=abc --feature-gates=LoggingAlphaOptions=true",
    "--log-flush-frequency=0s",
    "--vmodule=a=1 --logging-format=json",
    "--show-hidden-metrics-for-version=1.30",
    "--permit-port-sharing=maybe",
    "--allow-metric-labels=a",
    "--version --nonsense",
]

PRINTING = ("--version", "--version=raw", "--help", "-h")


class Ended(NamedTuple):
    code: int
    stdout: str
    stderr: str

    @property
    def streams(self) -> tuple[int, bool, bool]:
        return self.code, bool(self.stdout), bool(self.stderr)


@pytest.fixture(scope="module")
def kube_scheduler(pytestconfig: pytest.Config) -> Path:
    return programs_for(pytestconfig) / "kube-scheduler"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("flags")
    for name, text in FILES.items():
        (folder / name).write_text(text)
    return folder


def ended(command: Sequence[str | Path], folder: Path) -> Ended:
    environment = {key: value for key, value in os.environ.items() if not key.startswith("KUBERNETES_")}
    done = subprocess.run(
        command,
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    return Ended(done.returncode, done.stdout, done.stderr)


def test_wrong_command_lines_end_alike(kube_scheduler: Path, folder: Path) -> None:
    with ThreadPoolExecutor(2) as pool:
        theirs = [pool.submit(ended, [kube_scheduler, *line.split()], folder) for line in FAILING]
        ours = [pool.submit(ended, [MOORAGE, "run", *line.split()], folder) for line in FAILING]
    assert {line: one.result().streams for line, one in zip(FAILING, ours, strict=True)} == {
        line: one.result().streams for line, one in zip(FAILING, theirs, strict=True)
    }
    told = [one.result().stderr.splitlines() for one in ours]
    assert [
        lines for lines in told if len([line for line in lines if not line.startswith("Warning")]) != 1
    ] == []
    assert "Traceback" not in str(told)


def test_what_is_printed_goes_to_the_same_stream(kube_scheduler: Path, folder: Path) -> None:
    theirs = {line: ended([kube_scheduler, line], folder) for line in PRINTING}
    ours = {line: ended([MOORAGE, "run", line], folder) for line in PRINTING}
    assert {line: one.streams for line, one in ours.items()} == {
        line: one.streams for line, one in theirs.items()
    }
    assert ours["--version"].stdout == theirs["--version"].stdout.replace("v1.36.4", GIT_VERSION)
    names = [re.findall(r"(\w+):\"", one["--version=raw"].stdout) for one in (ours, theirs)]
    assert names[0] == names[1]


def test_every_flag_is_known_with_its_kind(kube_scheduler: Path, folder: Path) -> None:
    text = ended([kube_scheduler, "--help"], folder).stdout
    found = re.findall(r"^ +(?:-\w, )?--([\w-]+)(?: ([\w=,.]+))?(?:\[=true\])?  ", text, re.MULTILINE)
    kinds = {name: kind or "bool" for name, kind in found}
    assert {name: flag.kind for name, flag in KUBE_FLAGS.items()} == kinds
    assert {opt for param in run.params for opt in param.opts} >= {f"--{name}" for name in kinds} - {"--help"}


class Answer(NamedTuple):
    status: int
    type: str
    warning: str | None
    text: str


class Served(NamedTuple):
    """A running scheduler."""

    port: int
    token: str

    def get(self, path: str, accept: str = "") -> Answer:
        context = ssl.create_default_context()
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE  # its certificate is its own
        connection = http.client.HTTPSConnection(HOST, self.port, timeout=10, context=context)
        with contextlib.closing(connection):
            connection.request(
                "GET", path, headers={"Authorization": f"Bearer {self.token}", "Accept": accept}
            )
            answer = connection.getresponse()
            told = answer.headers
            return Answer(answer.status, told["Content-Type"], told["Warning"], answer.read().decode())

    def ready(self) -> bool:
        try:
            return self.get("/readyz").status == 200
        except (OSError, http.client.HTTPException):
            return False


@contextlib.contextmanager
def serving(command: Sequence[str | Path], plane: ControlPlane, folder: Path) -> Iterator[Served]:
    [port] = free_ports(1)
    flags = (
        f"--kubeconfig={plane.kubeconfig}",
        f"--authentication-kubeconfig={plane.kubeconfig}",
        f"--authorization-kubeconfig={plane.kubeconfig}",
        f"--bind-address={HOST}",
        f"--secure-port={port}",
    )
    served = Served(port, plane.admin_token)
    with (folder / f"{port}.out").open("wb") as out, (folder / f"{port}.err").open("wb") as err:
        process = subprocess.Popen([*command, *flags], stdout=out, stderr=err, stdin=subprocess.DEVNULL)
        try:
            wait_for("readiness", lambda: process.poll() is not None or served.ready())
            assert process.poll() is None, (folder / f"{port}.err").read_text()
            yield served
        finally:
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


FLAGS = (
    "--leader-elect=false",
    "--feature-gates=LoggingAlphaOptions=true,NodeDeclaredFeatures=1",
    "--feature-gates=ContextualLogging=true",
    "--kube-api-qps=100.5",
    "--leader-elect-lease-duration=90s",
    "--authorization-always-allow-paths=/healthz",
    "--authorization-always-allow-paths=/readyz,/livez",
    "--log-text-split-stream",
    "--log-text-info-buffer-size=1Mi",
    "--log-flush-frequency=1h",
    "--vmodule=nothing=3",
    "--emulated-version=kube=1.36",
    "-v=1",
)


@pytest.fixture(scope="module")
def both(control_plane: ControlPlane, kube_scheduler: Path, folder: Path) -> Iterator[tuple[Served, Served]]:
    """Ours and theirs, with the same flags."""
    with (
        serving([kube_scheduler, *FLAGS], control_plane, folder) as theirs,
        serving([MOORAGE, "run", *FLAGS], control_plane, folder) as ours,
    ):
        yield ours, theirs


def of(kind: str, version: str = "v1beta1", form: str = "json") -> str:
    return f"application/{form};v={version};g=config.k8s.io;as={kind}"


def test_the_flags_in_force(both: tuple[Served, Served]) -> None:
    ours, theirs = (json.loads(one.get("/flagz", of("Flagz")).text) for one in both)
    assert {*ours["flags"]} - {*theirs["flags"]} == OWN_FLAGS
    shown = {name: value for name, value in ours.pop("flags").items() if name not in OWN_FLAGS}
    expected = theirs.pop("flags") | {"secure-port": str(both[0].port)}
    assert shown == expected
    assert ours == theirs
    lines = [one.get("/flagz").text.splitlines() for one in both]
    assert lines[0][:3] == lines[1][:3]
    names = [[re.split("[:= ]", line)[0] for line in each[3:]] for each in lines]
    assert [name for name in names[0] if name not in OWN_FLAGS] == names[1]


def test_the_status(both: tuple[Served, Served]) -> None:
    ours, theirs = (json.loads(one.get("/statusz", of("Statusz")).text) for one in both)
    assert [*ours] == [*theirs]
    assert ours["paths"] == theirs["paths"]
    assert ours["binaryVersion"] == GIT_VERSION.removeprefix("v")
    for document in (ours, theirs):
        for changing in ("startTime", "uptimeSeconds", "goVersion", "binaryVersion"):
            del document[changing]
    assert ours == theirs
    texts = [one.get("/statusz").text.splitlines() for one in both]
    assert texts[0][:4] == texts[1][:4]
    labels = [[re.split("[:=]|  ", line)[0] for line in text[4:]] for text in texts]
    assert labels[0] == labels[1]


@pytest.mark.parametrize("path", ["/flagz", "/statusz"])
def test_what_is_negotiated(path: str, both: tuple[Served, Served]) -> None:
    kind = path[1:].title()
    accepts = ["", "*/*", "text/*", "text/html", "text/html, */*;q=0.5", "application/json", "application/*"]
    accepts += [of(kind), of(kind, form="yaml"), of(kind, "v1alpha1"), of(kind, "v1"), of("Pod")]
    accepts += [of(kind, form="*"), of(kind, form="cbor"), "garbage", f"text/plain;q=0.1,{of(kind)}"]
    for accept in accepts:
        ours, theirs = (one.get(path, accept) for one in both)
        assert ours[:3] == theirs[:3], accept
        if ours.status == 200:
            assert _form(ours.text) == _form(theirs.text), accept
        else:
            assert json.loads(ours.text) == json.loads(theirs.text), accept


def _form(text: str) -> str:
    """How a text begins, which tells JSON, compact or not, from YAML and plain text."""
    return text[:20] if text.startswith(("{", "apiVersion")) else text[:30]


def enabled(served: Served) -> dict[str, tuple[str, bool]]:
    text = served.get("/metrics").text
    [family] = [
        each for each in text_string_to_metric_families(text) if each.name == "kubernetes_feature_enabled"
    ]
    return {each.labels["name"]: (each.labels["stage"], bool(each.value)) for each in family.samples}


def test_the_gates(both: tuple[Served, Served]) -> None:
    gates = FeatureGates("LoggingAlphaOptions=true")
    assert {gate.name: (gate.stage, gate.enabled) for gate in gates.all()} == enabled(both[1])


def test_the_gates_of_an_older_version(
    control_plane: ControlPlane, kube_scheduler: Path, folder: Path
) -> None:
    given = "AllAlpha=true,DRAAdminAccess=true,AllBeta=true,ComponentStatusz=false"
    flags = (f"--feature-gates={given}", "--emulated-version=1.33", "--leader-elect=false")
    with serving([kube_scheduler, *flags], control_plane, folder) as theirs:
        shown = enabled(theirs)
    gates = FeatureGates(given, "1.33")
    assert {gate.name: (gate.stage, gate.enabled) for gate in gates.all()} == shown


def test_what_was_collected_is_written_at_the_end(control_plane: ControlPlane, folder: Path) -> None:
    with serving([MOORAGE, "run", *FLAGS], control_plane, folder) as served:
        out, err = folder / f"{served.port}.out", folder / f"{served.port}.err"
        assert out.read_text() == ""
    assert '"Stopping" signal="SIGTERM"' in out.read_text()
    assert "Starting Moorage" not in err.read_text()
