"""The way of somebody new: a clean virtual environment, a plugin project, its tests, a cluster, an edit."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from tests.controlplane.servers import Program, wait_for
from tests.embedded.clusters import START_SECONDS, Kubectl

ROOT = Path(__file__).parents[2]
IMAGE_FOLDER = "/opt/moorage"
INSTALL_SECONDS = 600.0
PREFIX = "quiet-nodes.example.com"

Instruction = tuple[str, str]


def dockerfile() -> list[list[Instruction]]:
    """The instructions of deploy/Dockerfile, stage by stage."""
    text = (ROOT / "deploy" / "Dockerfile").read_text().replace("\\\n", " ")
    lines = [line.split(maxsplit=1) for line in text.splitlines() if line and not line.startswith("#")]
    stages: list[list[Instruction]] = []
    for name, rest in lines:
        if name == "FROM":
            stages.append([])
        stages[-1].append((name, rest))
    return stages


def environment(fresh: Path) -> dict[str, str]:
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("PYTHON", "VIRTUAL_ENV"))}
    return {**kept, "PATH": f"{fresh}:{kept['PATH']}", "PYTHONDONTWRITEBYTECODE": "1"}


def succeed(words: Sequence[str], folder: Path, fresh: Path, seconds: float = 120.0) -> str:
    """What a command prints; it must end well."""
    done = subprocess.run(
        words,
        cwd=folder,
        env=environment(fresh),
        capture_output=True,
        text=True,
        timeout=seconds,
        check=False,
    )
    assert done.returncode == 0, f"{' '.join(words)}: {done.stdout}{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def fresh(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the programs of a fresh environment are, made by the install steps of the container file."""
    folder = tmp_path_factory.mktemp("image")
    build, target = folder / "build", folder / "moorage"
    build.mkdir()
    for name, rest in dockerfile()[0]:
        if name == "COPY":
            *sources, place = rest.split()
            for source in sources:
                subprocess.run(["cp", "-r", ROOT / source, build / place], check=True, timeout=60)
        elif name == "RUN":
            command = rest.replace(IMAGE_FOLDER, str(target)).replace("python ", f"{sys.executable} ", 1)
            succeed(["sh", "-c", command], build, target / "bin", INSTALL_SECONDS)
    return target / "bin"


@pytest.fixture(scope="module")
def project(fresh: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("home")
    said = succeed(["moorage", "new", "plugin", "quiet-nodes", "--points", "filter,score"], folder, fresh)
    assert said.startswith("quiet-nodes: the plugin QuietNodes is in quiet_nodes/plugin.py.")
    return folder / "quiet-nodes"


class Up:
    """`moorage up` of the fresh environment, with the real kubectl."""

    def __init__(self, project: Path, fresh: Path, *flags: str) -> None:
        self.project = project
        self.kubeconfig = project / "kubeconfig"
        self.program = Program(
            fresh / "moorage", ("up", f"--kubeconfig={self.kubeconfig}", *flags), project / "moorage.log"
        )
        self.kubectl = Kubectl(self.kubeconfig, project / "kubectl-cache", project)

    def wait(self) -> None:
        def ready() -> bool:
            self.program.check_running()
            return self.kubeconfig.exists()

        wait_for("the cluster", ready, seconds=START_SECONDS)

    def node_of(self, pod: str) -> str:
        def node() -> str:
            return self.kubectl("get", "pod", pod, "-o", "jsonpath={.spec.nodeName}")

        return wait_for(f"a node for {pod}", node)


@pytest.fixture
def up(request: pytest.FixtureRequest, programs: Path, project: Path, fresh: Path) -> Iterator[Up]:
    running = Up(project, fresh, *request.param)
    try:
        running.wait()
        yield running
    finally:
        running.program.stop()


def test_the_image_starts_the_scheduler(fresh: Path) -> None:
    final = dict(dockerfile()[-1])
    assert final["ENTRYPOINT"] == '["moorage", "run"]'
    assert f"PATH={IMAGE_FOLDER}/bin:" in final["ENV"]
    assert final["USER"] == "65532:65532"
    assert "--leader-elect" in succeed(["moorage", "run", "--help"], fresh, fresh)


def test_its_tests_pass_as_generated(project: Path, fresh: Path) -> None:
    readme = (project / "README.md").read_text()
    [install] = re.findall(r"^pip install -e '(.+)'$", readme, re.MULTILINE)
    words = ["pip", "install", "--disable-pip-version-check", "-q", "-c", str(ROOT / "constraints.txt")]
    succeed([*words, "-e", install], project, fresh, INSTALL_SECONDS)
    assert "2 passed" in succeed(["pytest", "-q", "-p", "no:cacheprovider"], project, fresh)
    listed = succeed(["moorage", "plugins"], project, fresh)
    assert re.search(r"^QuietNodes +quiet-nodes 0\.1\.0 +filter, score$", listed, re.MULTILINE)


CONFIG = ("--config", "scheduler-config.yaml")


@pytest.mark.parametrize(
    "up",
    [
        (*CONFIG, "--plugin", "quiet_nodes/plugin.py", "--reload"),
        (*CONFIG, "--plugin", "quiet_nodes", "--reload"),
    ],
    indirect=True,
    ids=["file", "package"],
)
def test_an_edit_changes_the_next_placement_without_a_restart(up: Up) -> None:
    kubectl, plugin = up.kubectl, up.project / "quiet_nodes" / "plugin.py"
    before = plugin.read_text()
    kubectl("label", "node", "node-2", f"{PREFIX}/prefer=true")
    kubectl("label", "node", "node-3", f"{PREFIX}/like=true")
    try:
        kubectl("apply", "-f", "manifests/pod.yaml")
        assert up.node_of("first") == "node-2"

        pid = up.program.pid
        plugin.write_text(before.replace("/prefer", "/like"))
        wait_for("the reload", lambda: "reloaded; waiting pods are tried again" in up.program.log_text())
        second = (up.project / "manifests" / "pod.yaml").read_text().replace("first", "second")
        kubectl("apply", "-f", "-", input=second)
        assert up.node_of("second") == "node-3"
        up.program.check_running()
        assert up.program.pid == pid
    finally:
        plugin.write_text(before)


@pytest.mark.parametrize("up", [()], indirect=True, ids=["deployed"])
def test_it_is_deployed_without_an_image(up: Up, project: Path, fresh: Path) -> None:
    words = ["moorage", "manifests", *CONFIG, "--plugin", "quiet_nodes/plugin.py"]
    up.kubectl("apply", "-f", "-", input=succeed(words, project, fresh))
    deployment = ("-n", "kube-system", "deployment/quiet-nodes")
    up.kubectl("rollout", "status", "--timeout=60s", *deployment)
    up.kubectl("label", "node", "node-3", f"{PREFIX}/prefer=true")
    up.kubectl("apply", "-f", "manifests/pod.yaml")
    assert up.node_of("first") == "node-3"
    said = up.kubectl("logs", "-n", "kube-system", "-l", "app=quiet-nodes", "--tail=-1")
    assert "Missing permission" not in said
    assert "forbidden" not in said.lower()
