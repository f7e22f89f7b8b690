"""What the HTTPS server shows, and to whom; the metrics by name, labels and buckets."""

import json
import socket
import ssl
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
import yaml
from prometheus_client import Metric
from prometheus_client.parser import text_string_to_metric_families

from moorage.config import load_file, show
from tests.controlplane.schedulers import (
    MOORAGE,
    Answer,
    Api,
    Moorage,
    condition,
    configuration,
    moorage,
    node,
    pod,
)
from tests.controlplane.servers import HOST, ControlPlane, Program

PERMIT = '''
from moorage import PermitPlugin, Status, Wait


class Patience(PermitPlugin):
    """Lets pods that ask for it wait for nothing."""

    def permit(self, cycle, pod, node_name):
        return Wait(0.2) if "wait" in pod.labels else None
'''


class Expected(NamedTuple):
    """A metric: its type, its labels, and for a histogram start, factor and number of its buckets."""

    type: str
    labels: str = ""
    buckets: tuple[float, float, int] | None = None


METRICS = {
    "schedule_attempts_total": Expected("counter", "result profile"),
    "scheduling_attempt_duration_seconds": Expected("histogram", "result profile", (0.001, 2, 15)),
    "framework_extension_point_duration_seconds": Expected(
        "histogram", "extension_point status profile", (0.0001, 2, 12)
    ),
    "preemption_victims": Expected("histogram", "", (1, 2, 7)),
    "preemption_attempts_total": Expected("counter"),
    "pending_pods": Expected("gauge", "queue"),
    "pod_scheduling_attempts": Expected("histogram", "", (1, 2, 5)),
    "queue_incoming_pods_total": Expected("counter", "queue event"),
    "pod_scheduling_sli_duration_seconds": Expected("histogram", "attempts", (0.01, 2, 20)),
    "permit_wait_duration_seconds": Expected("histogram", "result", (0.001, 2, 15)),
    "unschedulable_pods": Expected("gauge", "plugin profile"),
    "plugin_evaluation_total": Expected("counter", "plugin extension_point profile"),
    "goroutines": Expected("gauge", "operation"),
}


@pytest.fixture(scope="module")
def api(control_plane: ControlPlane) -> Api:
    return Api(control_plane)


@pytest.fixture(scope="module")
def served(
    control_plane: ControlPlane, api: Api, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Moorage]:
    """An instance that has bound, refused, preempted and let wait."""
    file = tmp_path_factory.mktemp("serving") / "patience.py"
    file.write_text(PERMIT)
    config = configuration(control_plane)
    config["profiles"][0]["plugins"] = {"permit": {"enabled": [{"name": "Patience"}]}}
    certificate = control_plane.ca_file
    flags = (
        f"--plugin={file}",
        f"--tls-cert-file={certificate}",
        f"--tls-private-key-file={certificate.with_suffix('.key')}",
    )
    high = {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": {"name": "high"},
        "value": 1000,
    }
    api.create([node("node-1", cpu="4"), high])
    with moorage(control_plane, *flags, config=config, serve=True) as process:
        api.create([pod("bound", requests={"cpu": "3"})])
        process.wait_until("a bind", lambda: "bound" in api.bound())
        api.create([pod("refused", requests={"cpu": "30"}), pod("wait", labels={"wait": "yes"})])
        process.wait_until("a refusal", lambda: condition(api.pod("refused")))
        process.wait_until("the end of patience", lambda: condition(api.pod("wait")))
        api.create([pod("urgent", requests={"cpu": "3"}, priorityClassName="high")])
        process.wait_until("preemption", lambda: "deletionTimestamp" in api.pod("bound")["metadata"])
        yield process


def asked(
    process: Moorage, path: str, token: str = "", method: str = "GET", body: str | None = None
) -> Answer:
    answer = process.get(path, token=token, method=method, body=body)
    assert answer is not None
    return answer


@pytest.mark.parametrize("path", ["/healthz", "/livez", "/readyz"])
def test_health_is_open_to_all(path: str, served: Moorage) -> None:
    assert asked(served, path) == (200, "ok")
    assert asked(served, f"{path}?verbose").text.endswith(f"{path[1:]} check passed\n")


def test_the_checks_behind_readiness(control_plane: ControlPlane, served: Moorage) -> None:
    lines = asked(served, "/readyz?verbose").text.splitlines()
    assert {"[+]shutdown ok", "[+]sched-handler-sync ok"} <= {*lines}
    assert asked(served, "/readyz/sched-handler-sync").status == 403
    assert asked(served, "/readyz/sched-handler-sync", control_plane.admin_token) == (200, "ok")


def test_the_certificate_is_the_given_one(control_plane: ControlPlane, served: Moorage) -> None:
    context = ssl.create_default_context(cafile=control_plane.ca_file)
    with (
        socket.create_connection((HOST, served.port), timeout=10) as plain,
        context.wrap_socket(plain, server_hostname=HOST) as secured,
    ):
        assert secured.version() in ("TLSv1.2", "TLSv1.3")


@pytest.mark.parametrize("path", ["/metrics", "/metrics/resources", "/configz", "/flagz"])
def test_who_may_look_inside(path: str, control_plane: ControlPlane, served: Moorage) -> None:
    anonymous = asked(served, path)
    assert anonymous.status == 403
    assert f'User \\"system:anonymous\\" cannot get path \\"{path}\\"' in anonymous.text
    assert asked(served, path, "wrong").status == 401
    assert asked(served, path, control_plane.admin_token).status == 200


def test_a_right_to_the_path_is_enough(control_plane: ControlPlane, served: Moorage) -> None:
    for name in ("reader", "nobody"):
        control_plane.kubectl("create", "serviceaccount", name)
    control_plane.kubectl("create", "clusterrole", "reader", "--verb=get", "--non-resource-url=/metrics")
    control_plane.kubectl(
        "create", "clusterrolebinding", "reader", "--clusterrole=reader", "--serviceaccount=default:reader"
    )
    reader, nobody = (control_plane.token(name, "default") for name in ("reader", "nobody"))
    assert asked(served, "/metrics", nobody).status == 403
    assert "scheduler_schedule_attempts_total" in asked(served, "/metrics", reader).text
    assert asked(served, "/configz", reader).status == 403


def test_the_configuration_in_force(control_plane: ControlPlane, served: Moorage) -> None:
    shown = json.loads(asked(served, "/configz", control_plane.admin_token).text)["componentconfig"]
    assert [profile["schedulerName"] for profile in shown["profiles"]] == ["moorage"]
    assert shown["profiles"][0]["plugins"]["permit"]["enabled"] == [{"name": "Patience", "weight": 0}]
    assert shown["clientConnection"]["burst"] == 5000


@pytest.fixture(scope="module")
def families(control_plane: ControlPlane, served: Moorage) -> dict[str, Metric]:
    text = asked(served, "/metrics", control_plane.admin_token).text
    return {family.name: family for family in text_string_to_metric_families(text)}


@pytest.mark.parametrize("name", METRICS)
def test_every_metric(name: str, families: dict[str, Metric]) -> None:
    expected = METRICS[name]
    family = families[f"scheduler_{name.removesuffix('_total')}"]
    assert family.type == expected.type
    assert family.samples
    labels = {*expected.labels.split()}
    bounds: dict[frozenset[tuple[str, str]], list[float]] = {}
    for sample in family.samples:
        assert {*sample.labels} - {"le"} == labels
        if "le" in sample.labels:
            of = frozenset((key, value) for key, value in sample.labels.items() if key != "le")
            bounds.setdefault(of, []).append(float(sample.labels["le"]))
    if expected.buckets is not None:
        start, factor, number = expected.buckets
        right = [*(start * factor**power for power in range(number)), float("inf")]
        assert bounds
        for found in bounds.values():
            assert found == pytest.approx(right)


def values(families: dict[str, Metric], name: str, label: str) -> dict[str, float]:
    return {sample.labels[label]: sample.value for sample in families[f"scheduler_{name}"].samples}


def test_the_numbers_fit_what_happened(families: dict[str, Metric]) -> None:
    assert values(families, "pending_pods", "queue").keys() == {"active", "backoff", "unschedulable", "gated"}
    attempts = values(families, "schedule_attempts", "result")
    assert attempts["scheduled"] == 1
    assert attempts["unschedulable"] >= 3
    assert values(families, "unschedulable_pods", "plugin").get("NodeResourcesFit", 0) >= 1
    points = values(families, "framework_extension_point_duration_seconds", "extension_point").keys()
    assert points >= {"PreEnqueue", "PreFilter", "Filter", "PostFilter", "Reserve", "Permit", "Bind"}


def test_the_resources_of_pods(control_plane: ControlPlane, served: Moorage) -> None:
    text = asked(served, "/metrics/resources", control_plane.admin_token).text
    [family] = [
        family
        for family in text_string_to_metric_families(text)
        if family.name == "kube_pod_resource_request"
    ]
    sample = next(sample for sample in family.samples if sample.labels["pod"] == "refused")
    assert sample.labels == {
        "namespace": "default",
        "pod": "refused",
        "node": "",
        "scheduler": "moorage",
        "priority": "0",
        "resource": "cpu",
        "unit": "cores",
    }
    assert sample.value == 30


def test_the_metrics_can_be_reset(control_plane: ControlPlane, served: Moorage, families: object) -> None:
    assert asked(served, "/metrics", control_plane.admin_token, "DELETE") == (200, "metrics reset\n")
    text = asked(served, "/metrics", control_plane.admin_token).text
    assert 'scheduler_schedule_attempts_total{profile="moorage",result="scheduled"}' not in text


def test_the_whole_configuration_is_written(control_plane: ControlPlane, tmp_path: Path) -> None:
    given, ours, theirs = (tmp_path / name for name in ("given.yaml", "ours.yaml", "theirs.yaml"))
    given.write_text(json.dumps(configuration(control_plane, "one", "two")))
    flags = (f"--config={given}", f"--write-config-to={ours}")
    program = Program(MOORAGE, ("run", *flags), tmp_path / "log")
    assert program.exit_code(30) == 0
    with control_plane.kube_scheduler(f"--config={given}", f"--write-config-to={theirs}") as kube:
        assert kube.exit_code(30) == 0
    assert show(load_file(ours).config) == yaml.safe_load(ours.read_text())
    assert yaml.safe_load(ours.read_text()) == yaml.safe_load(theirs.read_text())
