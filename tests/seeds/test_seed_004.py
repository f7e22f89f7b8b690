"""The walk with a scheduler run from the shell: T15 to T17 of the seed systems."""

import json
import os
import signal
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from examples.name_score.plugin import name_score
from tests.controlplane.schedulers import MOORAGE, SCHEDULES, Moorage
from tests.controlplane.servers import Program, wait_for
from tests.seeds.common import EXAMPLES, Cluster, Document, lines_with, pod
from tests.seeds.watching import lines_until

EXAMPLE = EXAMPLES / "name_score"
PLUGIN = f"--plugin={EXAMPLE / 'plugin.py'}"
PROFILE = "namescore-scheduler"
LOCK = "my-scheduler"
LEASE = ("lease", LOCK, "-n", "kube-system")
ATTEMPT, SUCCESS = '"Attempting to acquire leader lease..."', '"Successfully acquired lease"'
ACCOUNT = "system:serviceaccount:kube-system:my-scheduler"
MAY = {
    "update leases.coordination.k8s.io/my-scheduler -n kube-system": "yes",
    "update leases.coordination.k8s.io/other -n kube-system": "no",
    "create pods --subresource=binding": "yes",
    "patch pods --subresource=status": "yes",
    "watch clusterscopedresources.scheduling.sigs.k8s.io": "yes",
    "update endpoints/my-scheduler -n kube-system": "no",
}


def config(*, profile: str = PROFILE, **election: str) -> Document:
    """With leader election, whose times are short."""
    return {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "leaderElection": {
            "leaderElect": True,
            "resourceName": LOCK,
            "resourceNamespace": "kube-system",
            "leaseDuration": "3s",
            "renewDeadline": "2s",
            "retryPeriod": "500ms",
            **election,
        },
        "profiles": [
            {
                "schedulerName": profile,
                "plugins": {"score": {"enabled": [{"name": "name-score"}]}},
            }
        ],
    }


@pytest.fixture(scope="module")
def with_nodes(cluster: Cluster) -> Cluster:
    cluster.create_nodes("k8s-master01:4", "k8s-node01:4", "k8s-node02:4")
    return cluster


@pytest.fixture
def tidy(with_nodes: Cluster) -> Iterator[Cluster]:
    yield with_nodes
    with_nodes.delete_all("pods", "events")
    with_nodes.kubectl("delete", *LEASE, "--ignore-not-found")


def holder(cluster: Cluster) -> str:
    return cluster.kubectl("get", *LEASE, "-o", "jsonpath={.spec.holderIdentity}")


def leads(process: Moorage) -> bool:
    return bool(lines_with(process, SUCCESS))


def passive(process: Moorage) -> bool:
    return bool(lines_with(process, ATTEMPT)) and not leads(process)


def leader_events(cluster: Cluster) -> list[str]:
    chosen = f"--field-selector=reason=LeaderElection,involvedObject.name={LOCK}"
    events = json.loads(cluster.kubectl("get", "events", "-n", "kube-system", chosen, "-o", "json"))["items"]
    return [event["message"] for event in events]


def test_T15_one_of_several_leads(tidy: Cluster) -> None:
    with tidy.run(config(), PLUGIN) as first, tidy.run(config(), PLUGIN) as second:
        first.wait_until("its leadership", lambda: leads(first))
        second.wait_until("its attempt", lambda: passive(second))
        identity = holder(tidy)
        became = f"{identity} became leader"
        first.wait_until("the event", lambda: became in leader_events(tidy))

        tidy.apply(pod("one", PROFILE))
        assert tidy.bound("one") == "k8s-node02"
        assert len(wait_for("the event", lambda: tidy.notes("one", "Scheduled"))) == 1
        assert passive(second)

        # A process with the same lock and another profile stays passive.
        with tidy.run(config(profile="other"), PLUGIN, ready=False) as other:
            other.wait_until("its attempt", lambda: passive(other))
            tidy.apply(pod("others", "other"))
            tidy.apply(pod("ours", PROFILE))
            assert tidy.bound("ours") == "k8s-node02"
            assert passive(other)
            assert tidy.node_of("others") == ""

        # A clean end lets go of the lease.
        seen = "jsonpath={.spec.holderIdentity}{'\\n'}"
        with tidy.kubectl.started("get", *LEASE, "--watch", "-o", seen) as watch:
            lines_until(watch, identity)
            asked = time.monotonic()
            first.send(signal.SIGTERM)
            second.wait_until("its leadership", lambda: leads(second), seconds=5)
            assert time.monotonic() - asked < 5
            assert first.exit_code(5) == 0
            assert "" in lines_until(watch, holder(tidy))
        tidy.apply(pod("two", PROFILE))
        assert tidy.bound("two") == "k8s-node02"

        # A sudden end leaves it until it has run out.
        with tidy.run(config(), PLUGIN, ready=False) as third:
            third.wait_until("its attempt", lambda: passive(third))
            second.send(signal.SIGKILL)
            third.wait_until("its leadership", lambda: leads(third), seconds=20)
            tidy.apply(pod("three", PROFILE))
            assert tidy.bound("three") == "k8s-node02"


def test_T15_other_locks_are_refused(tidy: Cluster) -> None:
    with tidy.run(config(resourceLock="endpoints"), PLUGIN, ready=False) as process:
        assert process.exit_code(10) != 0
        text = 'leaderElection.resourceLock: Invalid value: "endpoints": resourceLock value must be "leases"'
        assert text in process.log_text()


@pytest.fixture
def account(tidy: Cluster, tmp_path: Path) -> Iterator[Cluster]:
    """The cluster for the service account of T16."""
    manifest = str(EXAMPLE / "manifests" / "rbac.yaml")
    tidy.kubectl("apply", "-f", manifest)
    token = tidy.kubectl("create", "token", "my-scheduler", "-n", "kube-system").strip()
    content = yaml.safe_load(tidy.kubeconfig.read_text())
    for user in content["users"]:
        user["user"] = {"token": token}
    file = tmp_path / "kubeconfig"
    file.write_text(yaml.safe_dump(content))
    yield replace(tidy, kubeconfig=file)
    tidy.kubectl("delete", "-f", manifest)


def test_T16_what_the_identity_may_do(account: Cluster) -> None:
    # kubectl finds the group of a custom resource only where it is defined.
    account.kubectl("apply", "-f", str(EXAMPLES / "node_crd_resource_fit" / "manifests" / "crd.yaml"))
    answers = {
        question: account.kubectl.run("auth", "can-i", *question.split(), f"--as={ACCOUNT}").output.strip()
        for question in MAY
    }
    assert answers == MAY


def test_T16_the_identity_is_enough_until_the_lease_is_taken_from_it(account: Cluster) -> None:
    with account.run(config(), PLUGIN) as process:
        process.wait_until("its leadership", lambda: leads(process))
        account.apply(pod("one", PROFILE))
        assert account.bound("one") == "k8s-node02"
    account.kubectl("delete", *LEASE)
    change = [{"op": "replace", "path": "/rules/1/resourceNames", "value": ["kube-scheduler"]}]
    account.kubectl("patch", "clusterrole", "my-scheduler-lease", "--type=json", "-p", json.dumps(change))
    account.apply(pod("two", PROFILE))
    with account.run(config(), PLUGIN, ready=False) as process:
        # It has tried more than once, in vain.
        process.wait_until("the refusals", lambda: len(lines_with(process, "forbidden", "lease")) > 1)
        assert not leads(process)
        assert account.node_of("two") == ""


def test_T17_the_name_decides(tidy: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    names = ["k8s-master01", "k8s-node01", "k8s-node02", "n", "n7", "n10", "n123", "7n"]
    assert [name_score(name) for name in names] == [10, 10, 20, 0, 70, 100, 100, 0]

    old = {
        "apiVersion": "kubescheduler.config.k8s.io/v1beta3",
        "kind": "KubeSchedulerConfiguration",
        "clientConnection": {"kubeconfig": str(tidy.kubeconfig)},
        "leaderElection": {"leaderElect": False},
        "profiles": [{"schedulerName": PROFILE, "plugins": {"score": {"enabled": [{"name": "name-score"}]}}}],
    }
    file = tmp_path / "config.yaml"
    file.write_text(yaml.safe_dump(old))
    monkeypatch.setenv("PATH", f"{MOORAGE.parent}{os.pathsep}{os.environ['PATH']}")
    script = Program(EXAMPLE / "run.sh", (str(file), "--secure-port=0"), tmp_path / "sched.log")
    try:
        wait_for("its start", lambda: SCHEDULES in script.log_text())
        tidy.kubectl("apply", "-f", str(EXAMPLE / "manifests" / "pod.yaml"))
        assert tidy.bound("busybox-test-scheduler") == "k8s-node02"
        wide = ("get", "pod", "busybox-test-scheduler", "-n", "default", "-o", "wide")
        header, row = tidy.kubectl(*wide).splitlines()
        place = header.index("NODE ")
        assert row[place:].split()[0] == "k8s-node02"
        assert tidy.note("busybox-test-scheduler", "Scheduled").endswith("to k8s-node02")
        chosen = "--field-selector=involvedObject.name=busybox-test-scheduler,reason=Scheduled"
        source = "jsonpath={.items[*].reportingComponent}"
        assert tidy.kubectl("get", "events", chosen, "-o", source) == PROFILE
    finally:
        script.stop()
