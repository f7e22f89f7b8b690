"""With the rights that deploy/ gives, and no others, over TLS that is verified."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import yaml

from tests.controlplane.schedulers import Api, Document, condition, deployed_configuration, moorage, node, pod
from tests.controlplane.servers import ControlPlane, wait_for
from tests.controlplane.volume_controller import VolumeController, claim, mount, storage_class, volume

DEPLOY = Path(__file__).parents[2] / "deploy"
USER = "system:serviceaccount:kube-system:moorage"
LEASE = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/moorage"
ROLE = "/apis/rbac.authorization.k8s.io/v1/clusterroles/moorage"


@pytest.fixture(scope="module")
def api(control_plane: ControlPlane) -> Api:
    control_plane.kubectl("apply", "-k", str(DEPLOY))
    opened = Api(control_plane)
    high = {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": {"name": "high"},
        "value": 1000,
    }
    opened.create([node("node-1", cpu="4"), high])
    return opened


@pytest.fixture(scope="module")
def kubeconfig(control_plane: ControlPlane, api: Api, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The service account's; it names the authority to check the API server by."""
    file = tmp_path_factory.mktemp("rbac") / "kubeconfig"
    control_plane.kubeconfig_of(control_plane.token("moorage"), file)
    cluster = json.loads(file.read_text())["clusters"][0]["cluster"]
    assert cluster.keys() == {"server", "certificate-authority"}
    return file


@pytest.fixture
def config(kubeconfig: Path) -> Document:
    """The configuration of deploy/, with what a pod would find by itself."""
    content: Document = yaml.safe_load(deployed_configuration((DEPLOY / "moorage.yaml").read_text()))
    content["clientConnection"] = {"kubeconfig": str(kubeconfig)}
    return content


@pytest.fixture
def flags(kubeconfig: Path) -> list[str]:
    return [f"--{what}-kubeconfig={kubeconfig}" for what in ("authentication", "authorization")]


@pytest.fixture
def change_role(control_plane: ControlPlane, api: Api) -> Iterator[Callable[[str, str], None]]:
    """Takes a verb on a resource away, for one test."""
    before = api.request("GET", ROLE)

    def change(verb: str, resource: str) -> None:
        rules = []
        for rule in before["rules"]:
            if resource in rule["resources"] and verb in rule["verbs"]:
                others = [each for each in rule["resources"] if each != resource]
                verbs = [each for each in rule["verbs"] if each != verb]
                rules += [{**rule, "resources": others}] if others else []
                rules += [{**rule, "resources": [resource], "verbs": verbs}] if verbs else []
            else:
                rules.append(rule)
        _write(api, rules)
        what, _, part = resource.partition("/")
        question = ("auth", "can-i", verb, what, f"--as={USER}", *([f"--subresource={part}"] if part else []))
        wait_for("the change", lambda: control_plane.kubectl(*question, check=False).strip() == "no")

    yield change
    _write(api, before["rules"])


def _write(api: Api, rules: list[Document]) -> None:
    role = api.request("GET", ROLE)
    role["rules"] = rules
    api.request("PUT", ROLE, role)


def test_nothing_else_is_needed(
    control_plane: ControlPlane, api: Api, config: Document, flags: list[str]
) -> None:
    with moorage(control_plane, *flags, config=config, serve=True) as process:
        leader = api.request("GET", LEASE)["spec"]["holderIdentity"]
        assert leader

        api.create([pod("small", requests={"cpu": "3"}), pod("large", requests={"cpu": "30"})])
        process.wait_until("a bind", lambda: "small" in api.bound())
        process.wait_until("a condition", lambda: condition(api.pod("large")).get("reason"))
        process.wait_until("the event of a bind", lambda: api.events("Scheduled", "small"))
        process.wait_until("the event of a failure", lambda: api.events("FailedScheduling", "large"))

        api.create([pod("urgent", requests={"cpu": "3"}, priorityClassName="high")])
        process.wait_until("a deletion", lambda: "deletionTimestamp" in api.pod("small")["metadata"])
        assert condition(api.pod("small"), "DisruptionTarget")["reason"] == "PreemptionByScheduler"
        process.wait_until("the event of the victim", lambda: api.events("Preempted", "small"))
        api.delete("/api/v1/namespaces/default/pods/small")
        process.wait_until("the bind of the preemptor", lambda: api.bound().get("urgent") == "node-1")

        api.create([storage_class("local"), storage_class("made", "csi.example.com")])
        api.create([volume("disk", "local"), claim("found", "local"), claim("made", "made")])
        api.create([pod("claims", volumes=mount("found", "made"))])
        with VolumeController(api).running():
            process.wait_until("the bind of a pod with claims", lambda: "claims" in api.bound())

        answer = process.get("/metrics", token=control_plane.admin_token)
        assert answer is not None and answer.status == 200
        log = process.log_text()
        assert "Missing permission" not in log
        assert "forbidden" not in log.lower()
        became = f"{leader} became leader"
        process.wait_until(
            "the event of the election",
            lambda: [
                event for event in api.events("LeaderElection", "moorage") if event["message"] == became
            ],
        )
    api.delete_all("pods")


def test_a_missing_right_to_read_is_named_and_may_be_given_later(
    control_plane: ControlPlane,
    api: Api,
    config: Document,
    flags: list[str],
    change_role: Callable[[str, str], None],
) -> None:
    whole = api.request("GET", ROLE)["rules"]
    change_role("list", "nodes")
    with moorage(control_plane, *flags, config=config, serve=True, ready=False) as process:
        named = '"Missing permission" permission="list nodes"'
        process.wait_until(named, lambda: named in process.log_text())
        assert process.log_text().count("Missing permission") == 1

        def reason() -> str:
            found = process.get("/readyz/sched-handler-sync", token=control_plane.admin_token)
            return found.text if found and found.status == 500 else ""

        process.wait_until("the reason", lambda: 'cannot list resource "nodes"' in reason())
        assert "waiting for nodes (" in reason()
        for_all = process.get("/readyz")
        assert for_all is not None and for_all.status == 500
        assert "[-]sched-handler-sync failed: reason withheld" in for_all.text
        _write(api, whole)
        process.wait_ready()


def test_a_missing_right_to_write_volumes_is_named(
    control_plane: ControlPlane, api: Api, config: Document, change_role: Callable[[str, str], None]
) -> None:
    change_role("update", "persistentvolumes")
    with moorage(control_plane, config=config) as process:
        named = '"Missing permission" permission="update persistentvolumes"'
        process.wait_until(named, lambda: named in process.log_text())


def test_a_missing_right_to_bind_is_named(
    control_plane: ControlPlane, api: Api, config: Document, change_role: Callable[[str, str], None]
) -> None:
    change_role("create", "pods/binding")
    with moorage(control_plane, config=config) as process:
        named = '"Missing permission" permission="create pods/binding"'
        process.wait_until(named, lambda: named in process.log_text())
        api.create([pod("unbound")])
        said = process.wait_until("the condition", lambda: condition(api.pod("unbound")))
        assert said["reason"] == "SchedulerError"
        assert 'cannot create resource "pods/binding"' in said["message"]
