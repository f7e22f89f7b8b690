"""`moorage shadow` beside kube-scheduler, and what its service account may not do."""

import json
import signal
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import yaml

from tests.cli.running import run
from tests.controlplane import shadowed
from tests.controlplane.schedulers import MOORAGE, Api, Document, configuration, node, pod
from tests.controlplane.servers import ControlPlane, ControlPlaneError, Program, free_ports, wait_for
from tests.controlplane.volume_controller import VolumeController

FOLLOWS = "judging pods of"
STOP_SECONDS = 60.0
AGREED = 'moorage_shadow_decisions_total{profile="default-scheduler",verdict="agreed"}'


class Shadow(Program):
    """A running `moorage shadow`."""

    def __init__(self, folder: Path, *flags: str) -> None:
        [self.port] = free_ports(1)
        self.report_file = folder / "report.json"
        given = (f"--report={self.report_file}", f"--metrics-port={self.port}", *flags)
        super().__init__(MOORAGE, ("shadow", *given), folder / "shadow.log")

    def wait_ready(self) -> None:
        def follows() -> bool:
            self.check_running()
            return FOLLOWS in self.log_text()

        wait_for("the shadow", follows, seconds=60)

    def metrics(self) -> dict[str, float]:
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/metrics", timeout=10) as answer:
            lines = answer.read().decode().splitlines()
        return {
            name: float(value)
            for name, _, value in (line.rpartition(" ") for line in lines if not line.startswith("#"))
        }

    def end(self) -> tuple[int, Document]:
        """The exit code and the report."""
        self.send(signal.SIGINT)
        code = self.exit_code(STOP_SECONDS)
        report: Document = json.loads(self.report_file.read_text())
        return code, report


@contextmanager
def both(plane: ControlPlane, folder: Path, *flags: str, percentage: int = 100) -> Iterator[Shadow]:
    """kube-scheduler and a shadow beside it with the same configuration."""
    config = configuration(plane, "default-scheduler") | {"percentageOfNodesToScore": percentage}
    file = folder / "scheduler.yaml"
    file.write_text(json.dumps(config))
    with plane.kube_scheduler(f"--config={file}"):
        shadow = Shadow(folder, f"--config={file}", *flags)
        try:
            shadow.wait_ready()
            yield shadow
        finally:
            shadow.stop()


@pytest.fixture
def api(control_plane: ControlPlane) -> Iterator[Api]:
    opened = Api(control_plane)
    yield opened
    opened.delete_all("pods", "nodes", "persistentvolumeclaims", "persistentvolumes", "storageclasses")
    opened.delete_all("resourceslices", "deviceclasses")


@pytest.mark.soak
def test_kube_scheduler_with_the_same_configuration_is_agreed_with(
    control_plane: ControlPlane, api: Api, tmp_path: Path, soak: bool
) -> None:
    count, size = (2000, 120) if soak else (300, 40)
    api.create(shadowed.priority_classes())
    api.create(shadowed.storage(size))
    api.create(shadowed.devices(size))
    api.create(shadowed.nodes(size))
    with VolumeController(api).running(), shadowed.kubelets(api), both(control_plane, tmp_path) as shadow:
        shadowed.play(api, count, seed=1)
        bound = sum(each["spec"].get("nodeName", "") != "" for each in api.pods().values())
        metrics = shadow.metrics()
        code, report = shadow.end()
    text = json.dumps(report, indent=1)
    verdicts = report["verdicts"]
    assert report["decisions"] >= bound > count / 2
    assert (verdicts["disagreed"], verdicts["infeasible"], verdicts["sampled"]) == (0, 0, 0), text
    assert report["notJudged"] == report["notLookedInto"] == 0
    # Of few pods, two for which something happened at the same moment are more than that.
    assert report["agreement"] >= (0.995 if soak else 0.97), text
    assert all("when it was seen" in each["words"] for each in report["last"]["timing"])
    assert code == 0
    assert 0 < metrics[AGREED] <= verdicts["agreed"]
    assert metrics["moorage_shadow_agreement_ratio"] > 0.9


def test_another_configuration_is_told_with_the_plugin(
    control_plane: ControlPlane, api: Api, tmp_path: Path
) -> None:
    """kube-scheduler spreads load; a shadow that packs prefers the fuller node."""
    api.create([node("empty"), node("fuller")])
    there = pod("there", nodeName="fuller", requests={"cpu": "8", "memory": "16Gi"})
    api.create([there])
    args = {"scoringStrategy": {"type": "MostAllocated", "resources": [{"name": "cpu", "weight": 1}]}}
    packing = configuration(control_plane, "default-scheduler")
    packing["profiles"][0]["pluginConfig"] = [{"name": "NodeResourcesFit", "args": args}]
    file = tmp_path / "packing.yaml"
    file.write_text(json.dumps(packing))
    with control_plane.kube_scheduler():
        shadow = Shadow(tmp_path, f"--config={file}")
        try:
            shadow.wait_ready()
            api.create([pod("new", scheduler="default-scheduler", requests={"cpu": "1", "memory": "1Gi"})])
            wait_for("the bind", lambda: api.bound().get("new") == "empty")
            wait_for("the verdict", lambda: "disagreed" in shadow.log_text())
            code, report = shadow.end()
        finally:
            shadow.stop()
    assert code == 3
    [told] = report["last"]["disagreed"]
    assert (told["pod"], told["node"], told["best"]) == ("default/new", "empty", ["fuller"])
    assert told["plugin"] == "NodeResourcesFit"


@pytest.fixture(scope="module")
def kubeconfig(control_plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of the service account that `moorage manifests --shadow` makes."""
    control_plane.kubectl("apply", "-f", "-", input=run("manifests", "--shadow").stdout)
    file = tmp_path_factory.mktemp("shadow") / "kubeconfig"
    return control_plane.kubeconfig_of(control_plane.token("moorage-shadow"), file)


class TestRights:
    """Of the service account that `moorage manifests --shadow` makes."""

    def test_it_may_write_nothing(self, control_plane: ControlPlane, kubeconfig: Path) -> None:
        review = {
            "apiVersion": "authorization.k8s.io/v1",
            "kind": "SelfSubjectRulesReview",
            "spec": {"namespace": "kube-system"},
        }
        flags = (f"--kubeconfig={kubeconfig}", "--validate=false", "-o", "json")
        answer = control_plane.kubectl("create", "-f", "-", *flags, input=json.dumps(review))
        rules = json.loads(answer)["status"]["resourceRules"]
        # Everybody may ask the API server about oneself; that stores nothing.
        about_oneself = {"authorization.k8s.io", "authentication.k8s.io"}
        verbs = {
            verb for rule in rules if not set(rule["apiGroups"]) <= about_oneself for verb in rule["verbs"]
        }
        assert verbs == {"get", "list", "watch"}

    @pytest.mark.parametrize(
        "what",
        (
            ("create", "pods/binding"),
            ("patch", "pods/status"),
            ("delete", "pods"),
            ("create", "events"),
            ("create", "events.events.k8s.io"),
            ("update", "leases.coordination.k8s.io"),
            ("patch", "nodes"),
        ),
    )
    def test_and_is_refused(
        self, what: tuple[str, str], control_plane: ControlPlane, kubeconfig: Path
    ) -> None:
        answer = control_plane.kubectl(
            f"--kubeconfig={kubeconfig}", "auth", "can-i", *what, "-n", "kube-system", check=False
        )
        assert answer.strip() == "no"

    def test_a_write_is_refused(self, control_plane: ControlPlane, kubeconfig: Path) -> None:
        made = json.dumps(node("made-by-shadow"))
        flags = (f"--kubeconfig={kubeconfig}", "--validate=false")
        with pytest.raises(ControlPlaneError, match='cannot create resource "nodes"'):
            control_plane.kubectl("create", "-f", "-", *flags, input=made)
        assert "made-by-shadow" not in control_plane.kubectl("get", "nodes", "-o", "name")

    def test_it_is_enough_to_judge(
        self, control_plane: ControlPlane, kubeconfig: Path, api: Api, tmp_path: Path
    ) -> None:
        text = run("manifests", "--shadow").stdout
        [made] = [each for each in yaml.safe_load_all(text) if each["kind"] == "ConfigMap"]
        file = tmp_path / "scheduler.yaml"
        file.write_text(made["data"]["scheduler.yaml"])
        api.create([node("only")])
        with control_plane.kube_scheduler():
            shadow = Shadow(tmp_path, f"--config={file}", f"--kubeconfig={kubeconfig}")
            try:
                shadow.wait_ready()
                api.create([pod("one", scheduler="default-scheduler")])
                wait_for("the bind", lambda: api.bound().get("one"))
                wait_for("the verdict", lambda: shadow.metrics().get(AGREED) == 1)
                code, report = shadow.end()
            finally:
                shadow.stop()
        assert (code, report["verdicts"]["agreed"]) == (0, 1)
        assert "orbidden" not in shadow.log_text()
