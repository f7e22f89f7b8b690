"""A chart with hooks: installed, upgraded, rolled back and removed by helm, on our cluster and a real one."""

from __future__ import annotations

import contextlib
import json
import os
import re
import subprocess
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.controlplane.others import CONTROLLER_MANAGER, HELM_PROGRAM, built
from tests.controlplane.real_clusters import real_cluster
from tests.controlplane.servers import ControlPlaneError, wait_for
from tests.embedded.clusters import Embedded, Kubectl, Result
from tests.embedded.comparing import Differences, mask, unlike

NAMESPACE = "market"
CHART = Path(__file__).parent / "charts/shop"
SECONDS = 150.0
SETTLING = 20.0
KINDS = (
    "configmaps,secrets,serviceaccounts,services,ingresses,horizontalpodautoscalers,networkpolicies,"
    "deployments,replicasets,jobs,pods"
)
MASKS = (
    mask(r"\b[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d \d{4}\b", "<time>"),
    mask(r"\b\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d+ \+\d{4} \w+\b", "<time>"),
    mask(r"\b10\.96\.\d+\.\d+\b", "<address>"),
    mask(r"\b(shop-(migrate|export|of-nginx:\d))-[0-9a-z]{5}\b", r"\1-<random>"),
)
HASH = "pod-template-hash"
UNLIKE = ("uid", "resourceVersion", "creationTimestamp", "managedFields", "generation")
"""What metadata say of when and how often somebody has written."""

Document = dict[str, Any]


class Helm:
    """One cluster, as helm and kubectl see it."""

    def __init__(self, program: Path, kubectl: Kubectl, folder: Path) -> None:
        self._program = program
        self._kubectl = kubectl
        homes = {f"HELM_{what}_HOME": str(folder / what) for what in ("CACHE", "CONFIG", "DATA")}
        place = {"KUBECONFIG": str(kubectl.kubeconfig), "HELM_NAMESPACE": NAMESPACE}
        self._environment = os.environ | homes | place

    def run(self, *arguments: str) -> Result:
        done = subprocess.run(
            [self._program, *arguments],
            env=self._environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
        )
        return Result(done.stdout, done.stderr, done.returncode)

    def left(self) -> str:
        """All that is in the namespace; empty while something is on its way out of it."""
        found = self._everything()
        if any("deletionTimestamp" in each["metadata"] for each in found):
            return ""
        text = json.dumps([_comparable(each) for each in found])
        for each in found:
            if each["kind"] == "ReplicaSet":  # its name ends with a hash, which is computed in many ways
                [container] = each["spec"]["template"]["spec"]["containers"]
                text = text.replace(each["metadata"]["labels"][HASH], f"of-{container['image']}")
        return json.dumps(sorted(json.loads(text), key=_key), indent=1, sort_keys=True)

    def _everything(self) -> list[Document]:
        found: list[Document] = json.loads(self._kubectl("get", KINDS, "-n", NAMESPACE, "-o", "json"))[
            "items"
        ]
        return found


class Both:
    """Our cluster and the real one, of which the same is asked."""

    def __init__(self, ours: Helm, real: Helm) -> None:
        self._helms = (ours, real)

    def helm(self, command: str) -> Result:
        """Raises unless helm says the same on both, and leaves the same behind; what it does on ours."""
        arguments = command.split()
        with ThreadPoolExecutor(2) as pool:
            done: list[Result] = list(pool.map(lambda helm: helm.run(*arguments), self._helms))
        ours, real = (f"{each.output}\n{each.errors}\nexit code {each.code}" for each in done)
        if told := unlike(f"$ helm {command}", ours, real, MASKS):
            raise Differences(told)
        self._compare_left(f"what `helm {command}` leaves behind")
        return done[0]

    def _compare_left(self, what: str) -> None:
        """Controllers have some time to come to an end: helm does not wait for what it has not made."""
        different = [what]

        def is_same() -> bool:
            ours, real = (helm.left() for helm in self._helms)
            different[:] = [unlike(what, ours, real, MASKS)]
            return bool(ours and real and not different[0])

        try:
            wait_for("the same to be left", is_same, seconds=SETTLING)
        except ControlPlaneError:
            raise Differences(different[0]) from None


def _comparable(item: Document) -> Document:
    """What does not depend on the moment and on the node; of helm's releases, that they are there."""
    metadata = {name: each for name, each in item["metadata"].items() if name not in UNLIKE}
    if labels := metadata.get("labels"):
        metadata["labels"] = {name: each for name, each in labels.items() if name != "modifiedAt"}
    for owner in metadata.get("ownerReferences", ()):
        owner.pop("uid")
    found = {**item, "metadata": metadata}
    if item["kind"] == "Secret":
        found["data"] = sorted(item["data"])
    if item["kind"] == "ConfigMap" and metadata["name"] == "kube-root-ca.crt":
        found["data"] = sorted(item["data"])
    if item["kind"] == "Pod":
        spec = {name: each for name, each in item["spec"].items() if name != "nodeName"}
        found |= {"spec": spec, "status": item["status"]["phase"]}
    if item["kind"] in ("Deployment", "ReplicaSet"):
        found["status"].pop("observedGeneration", None)
    shown: Document = _without_uids(found)
    return shown


def _without_uids(value: Any) -> Any:
    if isinstance(value, list):
        return [_without_uids(each) for each in value]
    if isinstance(value, Mapping):
        return {name: _without_uids(each) for name, each in value.items() if not name.endswith("-uid")}
    return value


def _key(item: Document) -> tuple[str, str]:
    # The names of several pods of one owner are by chance.
    return item["kind"], re.sub(r"-[0-9a-z]{5}$", "", item["metadata"]["name"])


def has_account(kubectl: Kubectl) -> bool:
    return not kubectl.run("get", "serviceaccount", "default", "-n", NAMESPACE).code


@pytest.fixture(scope="module")
def both(
    pytestconfig: pytest.Config, programs: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Both]:
    helm = built(HELM_PROGRAM, pytestconfig)
    manager = built(CONTROLLER_MANAGER, pytestconfig)
    folder = tmp_path_factory.mktemp("helm")
    with contextlib.ExitStack() as stack:
        ours = stack.enter_context(Embedded("--nodes=1"))
        real = stack.enter_context(real_cluster(programs, manager))
        kubectls = (ours.kubectl, Kubectl(real.kubeconfig, folder / "kubectl"))
        for kubectl in kubectls:
            kubectl("create", "namespace", NAMESPACE)
            wait_for("the account of its pods", partial(has_account, kubectl))
        helms = [Helm(helm, each, folder / str(side)) for side, each in enumerate(kubectls)]
        yield Both(helms[0], helms[1])


def test_a_chart_with_hooks_from_its_install_to_its_end(both: Both) -> None:
    waiting = "--wait --wait-for-jobs --timeout=60s"
    assert not both.helm(f"install shop {CHART} {waiting}").code
    changed = "--set=host=new.example.com,replicas=3,image=nginx:2,mostReplicas=7,closed=false"
    assert not both.helm(f"upgrade shop {CHART} {waiting} {changed}").code
    assert "Phase:          Succeeded" in both.helm("test shop").output
    failed = both.helm(f"upgrade shop {CHART} {waiting} --set=migration.exitCode=3")
    assert failed.code and "job shop-migrate failed: BackoffLimitExceeded" in failed.errors
    assert not both.helm(f"rollback shop 1 {waiting}").code
    both.helm("get manifest shop")
    both.helm("get hooks shop")
    both.helm("status shop")
    history = json.loads(both.helm("history shop -o json").output)
    assert [each["status"] for each in history] == ["superseded", "superseded", "failed", "deployed"]
    assert not both.helm("uninstall shop --wait --timeout=60s").code
    assert both.helm("list --all").output.split("\n")[1:] == [""]


def test_an_upgrade_that_fails_is_taken_back(both: Both) -> None:
    assert not both.helm(f"upgrade shop {CHART} --install --atomic --timeout=60s").code
    failed = both.helm(f"upgrade shop {CHART} --atomic --timeout=60s --set=host=Not_a_host")
    assert failed.code and "spec.rules[0].host" in failed.errors
    both.helm("history shop --max=2")
    assert not both.helm("uninstall shop --wait --cascade=foreground --timeout=60s").code


def test_what_helm_asks_of_the_server_before_it_writes(both: Both) -> None:
    both.helm(f"install shop {CHART} --dry-run=server")
    both.helm(f"template shop {CHART} --validate --is-upgrade")


def test_what_the_server_does_not_take(both: Both) -> None:
    refused = both.helm(f"install shop {CHART} --set=replicas=many")
    assert refused.code and "spec.replicas" in refused.errors
    assert not both.helm("uninstall shop --wait --timeout=60s").code
