"""`moorage manifests`: what it prints for which options."""

from __future__ import annotations

from importlib import metadata
from pathlib import Path
from typing import Any

import pytest
import yaml

from moorage import __version__
from moorage.api.decoding import from_document
from moorage.api.workloads import Service
from moorage.cli.deployment.access import rules
from moorage.cli.deployment.plugin_files import in_stock_image
from moorage.config import load, load_file
from moorage.framework.permissions import Permission
from moorage.testing import make_node, make_pod
from moorage.testing import run as run_plugins
from tests.cli.running import FILTER, Document, refused, run, run_alone, write, write_plugin

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
HEADER = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
READ = ["get", "list", "watch"]

CUSTOM = """
from moorage import Action, ClusterEvent, FilterPlugin, Permission


class Licensed(FilterPlugin):
    permissions = (
        Permission("patch", "shop.example.com", "licenses", "status"),
        Permission("get", "", "secrets", namespace="shop", name="key"),
    )

    def __init__(self, args, handle):
        super().__init__(args, handle)
        self.licenses = handle.lister("shop.example.com", "v1", "licenses")

    def filter(self, cycle, pod, node):
        return None

    def events(self):
        return [ClusterEvent("quotas.v2.shop.example.com", Action.ADD)]
"""


def rendered(*args: str | Path) -> dict[str, Document]:
    """What is printed, by kind and name."""
    result = run("manifests", *args)
    assert result.exit_code == 0, result.stderr
    return by_name(result.stdout)


def by_name(text: str) -> dict[str, Document]:
    return {f"{each['kind']}/{each['metadata']['name']}": each for each in yaml.safe_load_all(text)}


def configuration(objects: dict[str, Document], name: str = "moorage") -> Document:
    content: Document = yaml.safe_load(objects[f"ConfigMap/{name}"]["data"]["scheduler.yaml"])
    return content


def container(objects: dict[str, Document], name: str = "moorage") -> Document:
    (found,) = objects[f"Deployment/{name}"]["spec"]["template"]["spec"]["containers"]
    assert isinstance(found, dict)
    return found


def allowed(role: Document) -> dict[str, list[str]]:
    """Resource to verbs."""
    return {
        f"{what}.{group}" if group else what: rule["verbs"]
        for rule in role["rules"]
        for group in rule["apiGroups"]
        for what in rule["resources"]
    }


def config_file(folder: Path, **fields: Any) -> Path:
    document = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        **fields,
    }
    return write(folder / "scheduler.yaml", document)


def test_the_base_in_deploy_is_what_is_printed() -> None:
    assert (DEPLOY / "moorage.yaml").read_text() == run("manifests").stdout


def test_what_there_is_without_options() -> None:
    objects = rendered()
    assert list(objects) == [
        "ServiceAccount/moorage",
        "ClusterRole/moorage",
        "ClusterRoleBinding/moorage",
        "Role/moorage",
        "RoleBinding/moorage",
        "RoleBinding/moorage-extension-apiserver-authentication-reader",
        "ConfigMap/moorage",
        "Deployment/moorage",
        "PodDisruptionBudget/moorage",
    ]
    cluster_wide = {"ClusterRole", "ClusterRoleBinding"}
    for each in objects.values():
        expected = None if each["kind"] in cluster_wide else "kube-system"
        assert each["metadata"].get("namespace") == expected
    assert configuration(objects)["profiles"] == [{"schedulerName": "moorage"}]
    assert configuration(objects)["leaderElection"] == {
        "leaderElect": True,
        "resourceName": "moorage",
        "resourceNamespace": "kube-system",
    }
    assert container(objects)["image"] == f"moorage:{__version__}"


def test_the_output_is_stable_and_alone_on_standard_output(tmp_path: Path) -> None:
    plugin = write_plugin(tmp_path / "quiet.py")
    config = config_file(
        tmp_path,
        leaderElection={"leaderElect": False, "resourceName": "old"},
        clientConnection={"kubeconfig": "/home/me/config", "qps": 7},
        profiles=[{"plugins": {"filter": {"enabled": [{"name": "Quiet"}]}}}],
    )
    first, second = (run_alone("manifests", "--config", config, "--plugin", plugin) for _ in range(2))
    assert first.stdout == second.stdout
    assert first.stderr.splitlines() == [
        "Warning: profiles[0].schedulerName: default-scheduler is called moorage here",
        "Warning: leaderElection.leaderElect: false is true here",
        'Warning: leaderElection.resourceName: "old" is "moorage" here',
        "Warning: clientConnection.kubeconfig: left out, a pod uses its service account",
    ]
    content = load(yaml.safe_dump(configuration(by_name(first.stdout)))).config
    assert (content.client_connection.qps, content.client_connection.kubeconfig) == (7, "")


@pytest.mark.parametrize(
    ("profiles", "options", "name", "served"),
    [
        ([{}], (), "moorage", ["moorage"]),
        ([{"schedulerName": "default-scheduler"}], (), "moorage", ["moorage"]),
        ([{"schedulerName": "batch"}], (), "batch", ["batch"]),
        ([{"schedulerName": "batch"}], ("--name=night",), "night", ["night"]),
        ([{"schedulerName": "a"}, {"schedulerName": "b"}], (), "a", ["a", "b"]),
        ([{"schedulerName": "a"}, {"schedulerName": "b"}], ("--name=c",), "c", ["a", "b"]),
        (
            [{"schedulerName": "a"}, {"schedulerName": "default-scheduler"}],
            (),
            "moorage",
            ["a", "moorage"],
        ),
        ([{"schedulerName": "batch"}], ("--replace-default",), "moorage", ["default-scheduler"]),
        (None, ("--replace-default", "--name=mine"), "mine", ["default-scheduler"]),
        (None, ("--replace-default", "--name=kube-scheduler"), "kube-scheduler", ["default-scheduler"]),
    ],
)
def test_names(
    profiles: list[Document] | None, options: tuple[str, ...], name: str, served: list[str], tmp_path: Path
) -> None:
    config = config_file(tmp_path, **({} if profiles is None else {"profiles": profiles}))
    objects = rendered("--config", config, *options)
    content = configuration(objects, name)
    assert [each["schedulerName"] for each in content["profiles"]] == served
    replaces = "--replace-default" in options
    lease = "kube-scheduler" if replaces else name
    assert content["leaderElection"]["resourceName"] == lease
    assert objects[f"Role/{name}"]["rules"][1]["resourceNames"] == [lease]


def test_a_name_that_yaml_readers_differ_about_is_quoted() -> None:
    lines = {line.strip() for line in run("manifests", "--name", "y").stdout.splitlines()}
    assert {"name: 'y'", "app: 'y'", "- schedulerName: 'y'"} <= lines
    assert "name: y" not in lines


def test_a_role_holds_what_the_plugins_need_and_no_more(tmp_path: Path) -> None:
    plain = allowed(rendered()["ClusterRole/moorage"])
    assert plain["pods"] == [*READ, "delete"]
    assert plain["pods/binding"] == ["create"]
    assert plain["persistentvolumes"] == plain["persistentvolumeclaims"] == [*READ, "update"]
    assert plain["volumeattachments.storage.k8s.io"] == READ
    assert "secrets" not in plain

    plugin = write_plugin(tmp_path / "licensed.py", CUSTOM)
    objects = rendered("--plugin", plugin, "--namespace=ops")
    with_plugin = allowed(objects["ClusterRole/moorage"])
    assert {key: value for key, value in with_plugin.items() if key not in plain} == {
        "licenses.shop.example.com": READ,
        "quotas.shop.example.com": READ,
        "licenses/status.shop.example.com": ["patch"],
    }

    disabled = [{"name": "DefaultPreemption"}, {"name": "DynamicResources"}, {"name": "InterPodAffinity"}]
    config = config_file(tmp_path, profiles=[{"plugins": {"multiPoint": {"disabled": disabled}}}])
    few = allowed(rendered("--config", config)["ClusterRole/moorage"])
    assert few["pods"] == READ
    assert plain.keys() - few.keys() == {
        "namespaces",
        "pods/finalizers",
        "poddisruptionbudgets.policy",
        "resourceclaims.resource.k8s.io",
        "resourceclaims/binding.resource.k8s.io",
        "resourceclaims/status.resource.k8s.io",
        "resourceslices.resource.k8s.io",
    }


def test_a_right_in_one_namespace_is_given_there(tmp_path: Path) -> None:
    plugin = write_plugin(tmp_path / "licensed.py", CUSTOM)
    result = run("manifests", "--plugin", plugin, "--namespace=ops")
    roles = {
        each["metadata"]["namespace"]: each["rules"]
        for each in yaml.safe_load_all(result.stdout)
        if each["kind"] == "Role"
    }
    assert roles["shop"] == [
        {"apiGroups": [""], "resources": ["secrets"], "resourceNames": ["key"], "verbs": ["get"]}
    ]
    assert roles["ops"] == [
        {"apiGroups": ["coordination.k8s.io"], "resources": ["leases"], "verbs": ["create"]},
        {
            "apiGroups": ["coordination.k8s.io"],
            "resources": ["leases"],
            "resourceNames": ["moorage"],
            "verbs": [*READ, "update"],
        },
    ]


def test_rules_are_few_and_in_order() -> None:
    permissions = [
        Permission("watch", "", "nodes"),
        Permission("approve", "", "nodes"),
        Permission("get", "", "nodes"),
        Permission("get", "", "pods"),
        Permission("watch", "", "pods"),
        Permission("approve", "", "pods"),
        Permission("get", "", "pods", "log"),
    ]
    expected = [
        {"apiGroups": [""], "resources": ["nodes", "pods"], "verbs": ["get", "watch", "approve"]},
        {"apiGroups": [""], "resources": ["pods/log"], "verbs": ["get"]},
    ]
    assert rules(permissions) == rules(reversed(permissions)) == expected


def test_a_file_is_carried_along_with_what_it_imports(tmp_path: Path) -> None:
    text = "import json\nimport numpy\nfrom .shared import LIMIT\nimport aside\n" + FILTER
    plugin = write_plugin(tmp_path / "quiet.py", text)
    write_plugin(tmp_path / "shared.py", "from . import deeper\nLIMIT = 3\n")
    write_plugin(tmp_path / "deeper.py", "# Grüße\nX = 1\n")
    write_plugin(tmp_path / "aside.py", "Y = 1\n")
    write_plugin(tmp_path / "unrelated.py", "import nonsense\n")
    objects = rendered("--name", "quiet", "--plugin", f"{plugin}:Quiet")
    data = objects["ConfigMap/quiet"]["data"]
    assert list(data) == ["scheduler.yaml", "aside.py", "deeper.py", "quiet.py", "shared.py"]
    assert all(data[name] == (tmp_path / name).read_text() for name in data if name != "scheduler.yaml")
    assert "--plugin=/etc/moorage/plugins/quiet.py:Quiet" in container(objects, "quiet")["command"]
    volume = objects["Deployment/quiet"]["spec"]["template"]["spec"]["volumes"][0]
    assert {item["key"]: item["path"] for item in volume["configMap"]["items"]} == {
        "scheduler.yaml": "scheduler.yaml",
        **{name: f"plugins/{name}" for name in list(data)[1:]},
    }
    enabled = configuration(objects, "quiet")["profiles"][0]["plugins"]
    assert enabled == {"multiPoint": {"enabled": [{"name": "Quiet"}]}}


def test_another_plugin_replaces_the_pods(tmp_path: Path) -> None:
    plugin = write_plugin(tmp_path / "quiet.py")
    before = rendered("--plugin", plugin)["Deployment/moorage"]["spec"]["template"]["metadata"]
    plugin.write_text(FILTER.replace("noisy", "loud"))
    after = rendered("--plugin", plugin)["Deployment/moorage"]["spec"]["template"]["metadata"]
    assert before["labels"] == after["labels"]
    assert before["annotations"] != after["annotations"]


def test_options_of_the_deployment() -> None:
    objects = rendered("--namespace=ops", "--replicas=3", "--image=registry:5000/mine@sha256:abc", "--name=x")
    spec = objects["Deployment/x"]["spec"]
    assert spec["replicas"] == 3
    assert container(objects, "x")["image"] == "registry:5000/mine@sha256:abc"
    assert "priorityClassName" not in spec["template"]["spec"]
    assert configuration(objects, "x")["leaderElection"]["resourceNamespace"] == "ops"
    reader = objects["RoleBinding/x-extension-apiserver-authentication-reader"]
    assert reader["metadata"]["namespace"] == "kube-system"
    assert reader["subjects"] == [{"kind": "ServiceAccount", "name": "x", "namespace": "ops"}]
    in_kube_system = rendered()["Deployment/moorage"]["spec"]["template"]["spec"]
    assert in_kube_system["priorityClassName"] == "system-cluster-critical"


def test_metrics_on_request() -> None:
    assert rendered("--metrics-service").keys() - rendered().keys() == {"Service/moorage"}
    objects = rendered("--service-monitor")
    assert objects.keys() - rendered().keys() == {"Service/moorage", "ServiceMonitor/moorage"}
    assert objects["ServiceMonitor/moorage"]["spec"]["selector"]["matchLabels"] == {"app": "moorage"}
    assert objects["Service/moorage"]["metadata"]["labels"]["app"] == "moorage"


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (("--name", "Not_Good"), "--name: 'Not_Good' cannot be the name of objects; use at most 63 "),
        (("--name", "x" * 64), "cannot be the name of objects"),
        (("--name", "default-scheduler"), "two of one name race for the same pods"),
        (("--name", "kube-scheduler"), "--name: kube-scheduler is the name of something that the cluster "),
        (("--name", "default"), "--name: default is the name of something that the cluster itself has"),
        (("--replace-default", "--name", "view"), "--name: view is the name of something that the cluster "),
        (("--namespace", "a.b"), "--namespace: 'a.b': must not contain dots"),
        (("--image", "a b"), "--image: 'a b' is not the name of an image; write registry/name:tag"),
        (("--config", "none.yaml"), "none.yaml: cannot read the file: No such file or directory"),
        (("--plugin", "none.py"), "none.py: no such file; check the path"),
        (("--plugin", "nonsense_module"), "nonsense_module: no such module"),
        (("--plugin", "examples.quiet_nodes.plugin"), "is not a single file, so an image must hold it"),
    ],
)
def test_bad_input_is_one_line(args: tuple[str, ...], message: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    assert message in refused(run("manifests", *args))


def test_bad_configurations_are_one_line(tmp_path: Path) -> None:
    two = [{"schedulerName": "a"}, {"schedulerName": "b"}]
    config = config_file(tmp_path, profiles=two)
    line = refused(run("manifests", "--config", config, "--replace-default"))
    assert line == "--replace-default: no profile is called default-scheduler; rename one of them"
    config = config_file(tmp_path, profiles=[*two, {"schedulerName": "default-scheduler"}])
    line = refused(run("manifests", "--config", config, "--name", "b"))
    assert line == "--name: b is a profile already, and default-scheduler cannot be called that, too"
    config = config_file(tmp_path, extenders=[{"urlPrefix": "somewhere", "filterVerb": "f"}])
    assert refused(run("manifests", "--config", config)).startswith(f"{config}: extenders[0].urlPrefix: ")
    config = config_file(tmp_path, profiles=[{"plugins": {"filter": {"enabled": [{"name": "Gone"}]}}}])
    assert "Gone" in refused(run("manifests", "--config", config))
    config = config_file(tmp_path, profiles=[{"schedulerName": "Strange Name"}])
    assert "--name" in refused(run("manifests", "--config", config))


def test_what_the_stock_image_lacks_needs_another_image(tmp_path: Path) -> None:
    plugin = write_plugin(tmp_path / "quiet.py", "import pytest\n" + FILTER)
    line = refused(run("manifests", "--plugin", plugin))
    expected = "imports pytest, which Moorage's own image does not have: build one with it and give --image"
    assert line == f"{plugin}: {expected}"
    assert rendered("--plugin", plugin, "--image", "mine:1")["ConfigMap/moorage"]["data"]["quiet.py"]
    plugin.write_text(f"from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import pytest\n{FILTER}")
    assert rendered("--plugin", plugin)


def test_what_the_stock_image_has() -> None:
    found = in_stock_image()
    assert {"json", "moorage", "numpy", "yaml", "aiohttp", "multidict", "msgspec"} <= found
    assert not {"pytest", "kubernetes", "mypy", "examples"} & found


def test_two_files_of_one_name(tmp_path: Path) -> None:
    for folder, name in (("a", "Quiet"), ("b", "Loud")):
        (tmp_path / folder).mkdir()
        write_plugin(tmp_path / folder / "plugin.py", FILTER.replace("Quiet", name))
    line = refused(
        run("manifests", "--plugin", tmp_path / "a" / "plugin.py", "--plugin", tmp_path / "b" / "plugin.py")
    )
    assert line.endswith("plugin.py has the same name; rename one of them")


def test_a_file_that_is_too_large(tmp_path: Path) -> None:
    plugin = write_plugin(tmp_path / "quiet.py", FILTER + f"# {'x' * 1024 * 1024}\n")
    assert "too large for a ConfigMap" in refused(run("manifests", "--plugin", plugin))


def test_a_plugin_of_a_package_needs_an_image(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "packaged_quiet.py").write_text(FILTER)
    monkeypatch.syspath_prepend(tmp_path)
    point = metadata.EntryPoint("quiet", "packaged_quiet:Quiet", "moorage.plugins")
    monkeypatch.setattr(metadata, "entry_points", lambda **_: [point])
    config = config_file(tmp_path, profiles=[{"plugins": {"filter": {"enabled": [{"name": "Quiet"}]}}}])
    assert "plugin Quiet: Moorage's own image does not have" in refused(run("manifests", "--config", config))
    objects = rendered("--config", config, "--image", "mine:1")
    assert not any(word.startswith("--plugin") for word in container(objects)["command"])


def test_a_package_is_named_in_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    objects = rendered("--plugin", "examples.quiet_nodes.plugin:QuietNodes", "--image", "mine:1")
    assert "--plugin=examples.quiet_nodes.plugin:QuietNodes" in container(objects)["command"]
    assert list(objects["ConfigMap/moorage"]["data"]) == ["scheduler.yaml"]


EXAMPLES = sorted(path.parent for path in (ROOT / "examples").glob("*/scheduler-config.yaml"))


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.name)
def test_examples_need_no_image(example: Path) -> None:
    name = example.name.replace("_", "-")
    objects = rendered(
        "--config", example / "scheduler-config.yaml", "--plugin", example / "plugin.py", "--name", name
    )
    assert load(objects[f"ConfigMap/{name}"]["data"]["scheduler.yaml"]).config.profiles


def test_bin_packing_fills_nodes() -> None:
    config = load_file(DEPLOY / "recipes" / "bin-packing.yaml").config
    nodes = [make_node(name, cpu="4", memory="8Gi") for name in ("empty", "half", "full")]
    web = {"app": "web"}
    # The pods of a Service are spread by default.
    service = from_document(
        Service, {"metadata": {"name": "web", "namespace": "default"}, "spec": {"selector": web}}
    )
    pods = [
        make_pod("a", node="half", cpu="2", memory="4Gi", labels=web),
        make_pod("b", node="full", cpu="4", memory="8Gi"),
    ]
    packed = make_pod("new", cpu="1", memory="1Gi", scheduler="bin-packing", labels=web)
    assert run_plugins([], packed, nodes, pods=pods, objects=[service], config=config).node == "half"
    usual = make_pod("new", cpu="1", memory="1Gi", labels=web)
    assert run_plugins([], usual, nodes, pods=pods, objects=[service]).node == "empty"


def test_extenders_go_into_the_cluster_and_their_certificates_with_them(tmp_path: Path) -> None:
    extender = {"urlPrefix": "https://extender.kube-system", "filterVerb": "f"}
    data = {**extender, "tlsConfig": {"caData": "Q0E="}}
    config = config_file(tmp_path, extenders=[data])
    made = rendered("--config", config)
    assert configuration(made)["extenders"] == [data]
    # Pods that extenders reject are tried again whatever changes.
    assert "csidrivers.storage.k8s.io" in allowed(made["ClusterRole/moorage"])
    config = config_file(tmp_path, extenders=[{**extender, "tlsConfig": {"caFile": "/etc/ca.crt"}}])
    assert refused(run("manifests", "--config", config)) == (
        "extenders[0].tlsConfig.caFile: the pod has no file /etc/ca.crt: "
        "write its content in base64 as caData, or build an image with it and give --image"
    )
    assert run("manifests", "--config", config, "--image", "mine:1").exit_code == 0
