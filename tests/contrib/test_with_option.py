"""`--with`: what it turns on, defines and allows."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import yaml

from moorage.api.meta import Object
from moorage.cli.plugin_resources import kinds_of
from moorage.cli.setup import find_features, set_up
from moorage.client.errors import Invalid
from moorage.config import expand_all
from moorage.contrib.features import FEATURES
from moorage.contrib.objects import ElasticQuota, PodGroup
from moorage.plugins.catalog import CONTRIB
from moorage.testing import ApiServer
from tests.cli.running import Document, node, pod, refused, run, write
from tests.cli.test_completion import completed, plain
from tests.contrib import stand_ins

BOTH = "coscheduling,capacity"
HEADER = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}


@pytest.fixture(autouse=True)
def _stand_ins(monkeypatch: pytest.MonkeyPatch) -> None:
    module = ModuleType(stand_ins.MODULE)
    vars(module).update(stand_ins.PLUGINS)
    monkeypatch.setitem(sys.modules, stand_ins.MODULE, module)
    for name, entry in stand_ins.CATALOG.items():
        monkeypatch.setitem(CONTRIB, name, entry)


def points(*features: str) -> dict[str, list[str]]:
    """The plugins of the default profile at each point."""
    setup = set_up(None, (), features=features)
    [found] = expand_all(setup.config, setup.registry.points_of())
    return {point: [ref.name for ref in refs] for point, refs in found.items()}


def config_file(folder: Path, *plugins: str) -> Path:
    enabled = {"multiPoint": {"enabled": [{"name": name} for name in plugins]}}
    if "Coscheduling" in plugins:
        enabled["queueSort"] = {"disabled": [{"name": "PrioritySort"}]}
    return write(folder / "scheduler.yaml", {**HEADER, "profiles": [{"plugins": enabled}]})


def test_gangs_replace_the_order_of_the_queue_and_quotas_the_preemption() -> None:
    usual, gangs, quotas, both = points(), points("coscheduling"), points("capacity"), points(BOTH)
    assert gangs["queueSort"] == both["queueSort"] == ["Coscheduling"]
    assert quotas["queueSort"] == usual["queueSort"] == ["PrioritySort"]
    assert "DefaultPreemption" in usual["postFilter"]
    assert gangs["postFilter"] == usual["postFilter"]
    without = [name for name in usual["postFilter"] if name != "DefaultPreemption"]
    assert quotas["postFilter"] == both["postFilter"] == without
    assert gangs["preFilter"] == [*usual["preFilter"], "Coscheduling"]
    assert both["preFilter"] == [*usual["preFilter"], "CapacityScheduling", "Coscheduling"]
    assert both["reserve"] == [*usual["reserve"], "CapacityScheduling"]
    assert points("coscheduling", "capacity") == both == points("capacity,coscheduling")


def test_which_features_there_are() -> None:
    assert sorted(feature.name for feature in FEATURES) == ["capacity", "coscheduling"]
    assert {feature.plugin for feature in FEATURES} == set(stand_ins.PLUGINS)


@pytest.mark.parametrize(
    "command", [("up",), ("simulate", "--nodes=1"), ("manifests",), ("run", "--leader-elect=false")]
)
@pytest.mark.parametrize("name", ["gangs", "coscheduling,gangs", ""])
def test_an_unknown_name_is_refused_in_one_line(command: tuple[str, ...], name: str) -> None:
    unknown = name.rpartition(",")[2]
    line = refused(run(*command, f"--with={name}"))
    assert line == f"--with: there is no {unknown!r}; choose of capacity, coscheduling"


def test_it_needs_a_scheduler() -> None:
    result = run("up", "--no-scheduler", "--with", "capacity")
    assert result.exit_code == 2
    assert "--no-scheduler leaves nothing for --plugin, --config and --with to do" in result.stderr


def test_names_are_completed() -> None:
    for command in ("up", "run", "simulate", "manifests"):
        assert completed(command, "--with", "cap") == plain("capacity")
    assert completed("up", "--with", "capacity,") == plain("capacity,capacity", "capacity,coscheduling")


def test_a_simulation_runs_with_it(tmp_path: Path) -> None:
    cluster = write(tmp_path / "cluster.yaml", node("a"), pod("p"))
    result = run("simulate", cluster, "--with", BOTH, "--show-placements")
    assert result.exit_code == 0, result.output
    assert "p" in result.stdout


# Definitions in the embedded cluster


def kinds(config: Path | None, *features: str) -> list[type[Object]]:
    setup = set_up(None if config is None else str(config), (), features=features)
    return kinds_of(setup, find_features(features))


def test_what_is_turned_on_is_defined(tmp_path: Path) -> None:
    assert kinds(None) == []
    assert kinds(None, "coscheduling") == [PodGroup]
    assert kinds(None, BOTH) == [ElasticQuota, PodGroup]
    assert kinds(config_file(tmp_path, "Coscheduling")) == [PodGroup]


def test_with_a_configuration_it_is_defined_and_what_is_missing_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = config_file(tmp_path, "Coscheduling")
    assert kinds(config, BOTH) == [ElasticQuota, PodGroup]
    [line] = capsys.readouterr().err.splitlines()
    assert line == f"Warning: --with capacity: no profile of {config} enables the plugin CapacityScheduling"


# Manifests


def rendered(*args: str | Path) -> dict[str, Document]:
    result = run("manifests", *args)
    assert result.exit_code == 0, result.stderr
    return {f"{each['kind']}/{each['metadata']['name']}": each for each in yaml.safe_load_all(result.stdout)}


def rights(role: Document) -> set[tuple[str, str, str]]:
    """Each right: the verb, the resource, and the name that it is tied to."""
    return {
        (verb, f"{what}.{group}" if group else what, name)
        for rule in role["rules"]
        for group in rule["apiGroups"]
        for what in rule["resources"]
        for name in rule.get("resourceNames", [""])
        for verb in rule["verbs"]
    }


def test_one_command_defines_allows_and_configures_it() -> None:
    usual, found = rendered(), rendered("--with", BOTH)
    new = [name for name in found if name not in usual]
    assert new == [
        "CustomResourceDefinition/elasticquotas.scheduling.x-k8s.io",
        "CustomResourceDefinition/podgroups.scheduling.x-k8s.io",
    ]
    assert list(found)[:2] == new  # before whatever needs them
    config = yaml.safe_load(found["ConfigMap/moorage"]["data"]["scheduler.yaml"])
    assert config["profiles"] == [
        {
            "schedulerName": "moorage",
            "plugins": {
                "multiPoint": {"enabled": [{"name": "CapacityScheduling"}, {"name": "Coscheduling"}]},
                "postFilter": {"disabled": [{"name": "DefaultPreemption"}]},
                "queueSort": {"disabled": [{"name": "PrioritySort"}]},
            },
        }
    ]


def test_no_more_is_allowed_than_is_needed() -> None:
    usual, found = rendered(), rendered("--with", BOTH)
    more = rights(found["ClusterRole/moorage"]) - rights(usual["ClusterRole/moorage"])
    plurals = [f"{name}.scheduling.x-k8s.io" for name in ("podgroups", "elasticquotas")]
    expected = {(verb, plural, "") for verb in ("get", "list", "watch") for plural in plurals}
    status = [f"{name}/status.scheduling.x-k8s.io" for name in ("podgroups", "elasticquotas")]
    assert more == expected | {("patch", plural, "") for plural in status}
    lease = rights(found["Role/moorage"]) - rights(usual["Role/moorage"])
    assert lease == {
        (verb, "leases.coordination.k8s.io", "sched-plugins-controllers") for verb in ("get", "update")
    }
    only_quotas = rights(rendered("--with", "capacity")["ClusterRole/moorage"])
    assert not any("podgroups" in what for _, what, _ in only_quotas)


def test_the_lease_has_a_role_in_its_own_namespace() -> None:
    found = run("manifests", "--with", "coscheduling", "--namespace", "schedulers")
    roles = {
        each["metadata"]["namespace"]: rights(each)
        for each in yaml.safe_load_all(found.stdout)
        if each["kind"] == "Role"
    }
    assert roles["kube-system"] == {
        ("create", "leases.coordination.k8s.io", ""),
        ("get", "leases.coordination.k8s.io", "sched-plugins-controllers"),
        ("update", "leases.coordination.k8s.io", "sched-plugins-controllers"),
    }
    assert ("update", "leases.coordination.k8s.io", "moorage") in roles["schedulers"]


def test_a_configuration_that_enables_a_plugin_needs_no_more_for_its_rights(tmp_path: Path) -> None:
    found = rendered("--config", config_file(tmp_path, "Coscheduling"))
    assert ("patch", "podgroups/status.scheduling.x-k8s.io", "") in rights(found["ClusterRole/moorage"])
    assert not any(name.startswith("CustomResourceDefinition") for name in found)


def test_manifests_warn_of_what_a_configuration_leaves_out(tmp_path: Path) -> None:
    config = config_file(tmp_path)
    result = run("manifests", "--config", config, "--with", "capacity", "--name", "other")
    assert f"no profile of {config} enables the plugin CapacityScheduling" in result.stderr
    assert "elasticquotas.scheduling.x-k8s.io" in result.stdout


def test_an_api_server_takes_all_of_it(api: ApiServer) -> None:
    result = run("manifests", "--with", BOTH)
    assert len(api.apply(result.stdout)) == len(result.stdout.split("\n---\n"))
    made = api.create(custom("PodGroup", minMember=2, minResources={"cpu": 1, "memory": "1Gi"}))
    assert api.patch(made, {"status": {"phase": "Running", "running": 2}}, subresource="status")["status"]
    api.create(custom("ElasticQuota", min={"cpu": 1}, max={"memory": "1Gi"}))
    with pytest.raises(Invalid):
        api.patch(made, {"spec": {"minMember": 0}})


def custom(kind: str, **spec: Any) -> Document:
    metadata = {"name": "made", "namespace": "default"}
    return {
        "apiVersion": "scheduling.x-k8s.io/v1alpha1",
        "kind": kind,
        "metadata": metadata,
        "spec": spec,
    }
