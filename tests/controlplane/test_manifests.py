"""What `moorage manifests` prints for the examples: applied to a real API server, run with those rights."""

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from tests.controlplane.schedulers import (
    MOORAGE,
    Api,
    Document,
    deployed_configuration,
    moorage,
    node,
    pod,
)
from tests.controlplane.servers import ControlPlane, wait_for

ROOT = Path(__file__).parents[2]
EXAMPLES = sorted(path.parent for path in (ROOT / "examples").glob("*/scheduler-config.yaml"))
MOUNT = "/etc/moorage/plugins"
BUILT_IN = {"ClusterRole", "ClusterRoleBinding", "ConfigMap", "Deployment", "Pod", "Role", "RoleBinding"}
CRD = "CustomResourceDefinition"


def manifests(*options: str | Path) -> str:
    command = [str(MOORAGE), "manifests", *map(str, options)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def documents(text: str) -> list[Document]:
    return [each for each in yaml.safe_load_all(text) if each]


class Example:
    """A folder of examples/ and what is deployed for it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.name = folder.name.replace("_", "-")
        config, plugin = folder / "scheduler-config.yaml", folder / "plugin.py"
        self.text = manifests("--config", config, "--plugin", plugin, "--name", self.name)

    def surroundings(self) -> tuple[list[Document], list[Document]]:
        """The definitions of custom resources that the example brings, and its nodes and custom resources."""
        found = [
            each
            for file in sorted((self.folder / "manifests").glob("*.yaml"))
            for each in documents(file.read_text())
            if each["kind"] not in BUILT_IN
        ]
        own = [each for each in found if each["kind"] == CRD]
        kinds = {"Node", *(each["spec"]["names"]["kind"] for each in own)}
        return own, [each for each in found if each["kind"] in kinds]

    def run_flags(self, folder: Path) -> list[str]:
        """The flags of the Deployment for plugins, with the files of the ConfigMap in `folder`."""
        by_kind = {each["kind"]: each for each in documents(self.text)}
        for name, text in by_kind["ConfigMap"]["data"].items():
            (folder / name).write_text(text)
        [container] = by_kind["Deployment"]["spec"]["template"]["spec"]["containers"]
        flags = [word for word in container["command"] if word.startswith("--plugin=")]
        return [flag.replace(MOUNT, str(folder)) for flag in flags]


@pytest.fixture(scope="module")
def api(control_plane: ControlPlane) -> Api:
    return Api(control_plane)


@pytest.fixture(params=EXAMPLES, ids=lambda path: path.name)
def example(request: pytest.FixtureRequest, control_plane: ControlPlane, api: Api) -> Iterator[Example]:
    """An example with its own nodes and custom resources around it."""
    found = Example(request.param)
    definitions, objects = found.surroundings()
    for each in definitions:
        control_plane.kubectl("apply", "-f", "-", input=json.dumps(each))
        name = f"crd/{each['metadata']['name']}"
        control_plane.kubectl("wait", "--for=condition=Established", name, "--timeout=30s")
    nodes = [node("node-1")] if not any(each["kind"] == "Node" for each in objects) else []
    for each in (*nodes, *objects):
        control_plane.kubectl("apply", "-f", "-", input=json.dumps(each))
    yield found
    api.delete_all("pods", "nodes")
    for each in (*objects, *definitions):
        control_plane.kubectl("delete", "--ignore-not-found", "-f", "-", input=json.dumps(each))


def test_an_example_runs_with_exactly_these_rights(
    example: Example, control_plane: ControlPlane, api: Api, tmp_path: Path
) -> None:
    dry = control_plane.kubectl("apply", "--dry-run=server", "-f", "-", input=example.text)
    assert len(dry.splitlines()) == len(documents(example.text))
    control_plane.kubectl("apply", "-f", "-", input=example.text)

    kubeconfig = tmp_path / "kubeconfig"
    control_plane.kubeconfig_of(control_plane.token(example.name), kubeconfig)
    config = yaml.safe_load(deployed_configuration(example.text))
    config["clientConnection"] = {**config.get("clientConnection", {}), "kubeconfig": str(kubeconfig)}
    files = tmp_path / "plugins"
    files.mkdir()
    flags = [f"--{what}-kubeconfig={kubeconfig}" for what in ("authentication", "authorization")]
    with moorage(control_plane, *flags, *example.run_flags(files), config=config, serve=True) as process:
        api.create([pod("probe", scheduler=example.name)])
        process.wait_until("a bind", lambda: "probe" in api.bound())
        process.wait_until("its event", lambda: api.events("Scheduled", "probe"))
        answer = process.get("/metrics", token=control_plane.admin_token)
        assert answer is not None and answer.status == 200
        log = process.log_text()
    assert "Missing permission" not in log
    assert "forbidden" not in log.lower()
    control_plane.kubectl("delete", "-f", "-", "--wait=false", input=example.text)


def test_in_a_namespace_of_its_own_with_a_service(control_plane: ControlPlane) -> None:
    control_plane.kubectl("create", "namespace", "ops")
    text = manifests("--namespace=ops", "--metrics-service", "--name=mine", "--replicas=1")
    control_plane.kubectl("apply", "-f", "-", input=text)
    user = "--as=system:serviceaccount:ops:mine"

    def may(*question: str) -> str:
        return control_plane.kubectl("auth", "can-i", *question, user, check=False).strip()

    wait_for("the roles", lambda: may("list", "nodes") == "yes")
    assert may("update", "leases.coordination.k8s.io/mine", "-n", "ops") == "yes"
    assert may("update", "leases.coordination.k8s.io/mine", "-n", "kube-system") == "no"
    assert may("get", "configmaps/extension-apiserver-authentication", "-n", "kube-system") == "yes"
    assert "mine" in control_plane.kubectl("get", "service,pdb,deployment", "-n", "ops", "-o", "name")
    control_plane.kubectl("delete", "--wait=false", "-f", "-", input=text)


def test_in_place_of_the_default_scheduler(control_plane: ControlPlane) -> None:
    text = manifests("--replace-default")
    control_plane.kubectl("apply", "-f", "-", input=text)
    user = "--as=system:serviceaccount:kube-system:moorage"
    lease = ("update", "leases.coordination.k8s.io/kube-scheduler", "-n", "kube-system", user)
    wait_for(
        "the right", lambda: control_plane.kubectl("auth", "can-i", *lease, check=False).strip() == "yes"
    )
    control_plane.kubectl("delete", "--wait=false", "-f", "-", input=text)


def test_bin_packing_is_one_command(control_plane: ControlPlane) -> None:
    recipe = ROOT / "deploy" / "recipes" / "bin-packing.yaml"
    text = manifests("--name", "bin-packing", "--config", recipe)
    control_plane.kubectl("apply", "--dry-run=server", "-f", "-", input=text)
