"""The walk with a custom resource: T8 to T11 of the seed systems, on both kinds of cluster."""

import asyncio
import itertools
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from examples.node_crd_resource_fit.api import ClusterScopedResource
from moorage.client.connection import find
from moorage.client.http import HttpClient
from moorage.client.informer import Informer
from moorage.client.resource_client import ResourceClient
from tests.cli.running import run_alone
from tests.controlplane.schedulers import Moorage
from tests.controlplane.servers import wait_for
from tests.seeds.common import EXAMPLES, RETRY_SECONDS, Cluster, Document, lines_with, pod

EXAMPLE = EXAMPLES / "node_crd_resource_fit"
MANIFESTS = EXAMPLE / "manifests"
CONFIG = EXAMPLE / "scheduler-config.yaml"
PLUGIN = f"--plugin={EXAMPLE / 'plugin.py'}"
CLASS = "examples.node_crd_resource_fit.api:ClusterScopedResource"
DEFINITION = "clusterscopedresources.scheduling.sigs.k8s.io"
APPROVED = "https://github.com/kubernetes/kubernetes/pull/78458"
SCHEDULER = "secondary-scheduler"
NODES = ["aaa", "bbb", "ccc", "ddd", "eee", "fff"]


def crd(*flags: str) -> tuple[str, str]:
    """What `moorage crd` prints from the repository's root, on both streams."""
    done = run_alone("crd", CLASS, *flags, cwd=EXAMPLES.parent)
    assert done.returncode == 0, done.stderr
    return done.stdout, done.stderr


def resource(
    name: str, filters: Mapping[str, bool] | None = None, scores: Mapping[str, int] | None = None
) -> Document:
    return {
        "apiVersion": "scheduling.sigs.k8s.io/v1alpha1",
        "kind": "ClusterScopedResource",
        "metadata": {"name": name},
        "spec": {"resourcesFilter": dict(filters or {}), "resourcesScore": dict(scores or {})},
    }


@pytest.fixture(scope="module")
def defined(cluster: Cluster) -> Cluster:
    """With the definition and six nodes."""
    cluster.kubectl("apply", "-f", str(MANIFESTS / "crd.yaml"))
    cluster.kubectl("wait", "--for=condition=Established", f"crd/{DEFINITION}", "--timeout=20s")
    cluster.create_nodes(*(f"{name}:4" for name in NODES))
    return cluster


@pytest.fixture
def tidy(defined: Cluster) -> Iterator[Cluster]:
    yield defined
    defined.delete_all("pods", "clusterscopedresources")


@pytest.fixture
def scheduler(tidy: Cluster) -> Iterator[Moorage]:
    with tidy.run(CONFIG, PLUGIN) as process:
        yield process


# T8: the definition and its objects


def test_T8_the_definition(cluster: Cluster) -> None:
    cluster.kubectl("delete", "crd", DEFINITION, "--ignore-not-found")
    text, warning = crd()
    refusal = cluster.kubectl.run("create", "-f", "-", input=text)
    assert refusal.code != 0
    assert (
        'protected groups must have approval annotation "api-approved.kubernetes.io", '
        "see https://github.com/kubernetes/enhancements/pull/1111"
    ) in refusal.errors
    assert f"{DEFINITION}: the API server will refuse this" in warning

    text, warning = crd("--api-approved", APPROVED)
    assert warning == ""
    said = cluster.kubectl("apply", "-f", "-", input=text)
    assert said.strip() == f"customresourcedefinition.apiextensions.k8s.io/{DEFINITION} created"
    cluster.kubectl("wait", "--for=condition=Established", f"crd/{DEFINITION}", "--timeout=20s")

    listed = cluster.kubectl("api-resources", "--api-group=scheduling.sigs.k8s.io").splitlines()
    assert [line.split() for line in listed] == [
        ["NAME", "SHORTNAMES", "APIVERSION", "NAMESPACED", "KIND"],
        ["clusterscopedresources", "scheduling.sigs.k8s.io/v1alpha1", "false", "ClusterScopedResource"],
    ]


def test_T8_the_resources(tidy: Cluster, tmp_path: Path) -> None:
    right = MANIFESTS / "clusterscopedresources-cr.yaml"
    as_in_the_seed = tmp_path / "wrong.yaml"
    as_in_the_seed.write_text(
        right.read_text().replace("kind: ClusterScopedResource", "kind: ClusterScopedResources")
    )
    refusal = tidy.kubectl.run("apply", "-f", str(as_in_the_seed))
    assert refusal.code != 0
    wrong_kind = 'no matches for kind "ClusterScopedResources" in version "scheduling.sigs.k8s.io/v1alpha1"'
    assert wrong_kind in refusal.errors

    said = tidy.kubectl("apply", "-f", str(right)).splitlines()
    assert said == [
        "clusterscopedresource.scheduling.sigs.k8s.io/eee created",
        "clusterscopedresource.scheduling.sigs.k8s.io/fff created",
    ]
    listed = tidy.kubectl("get", "clusterscopedresources").splitlines()[1:]
    assert [line.split()[0] for line in listed] == ["eee", "fff"]
    path = r"jsonpath={.spec.resourcesScore.company\.net/memory}"
    assert tidy.kubectl("get", "clusterscopedresource", "eee", "-o", path) == "55"


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"spec": {"resourcesScore": {"x": "high"}}}, "spec.resourcesScore.x: Invalid value"),
        ({"spec": None}, "spec"),
        ({"spec": {"resourcesFilter": {"x": 1}}}, "spec.resourcesFilter.x: Invalid value"),
    ],
)
def test_T8_resources_that_are_refused(tidy: Cluster, change: Document, reason: str) -> None:
    document = {key: value for key, value in (resource("ggg") | change).items() if value is not None}
    refusal = tidy.try_to("create", document)
    assert refusal.code != 0
    assert 'ClusterScopedResource "ggg" is invalid' in refusal.errors
    assert reason in refusal.errors


def test_T8_the_client(tidy: Cluster) -> None:
    tidy.create(resource("eee", scores={"company.net/memory": 55}), resource("fff"))
    asyncio.run(_use_client(tidy))


async def _use_client(cluster: Cluster) -> None:
    seen: list[str] = []
    third = asyncio.Event()

    def added(item: ClusterScopedResource) -> None:
        seen.append(item.name)
        if item.name == "ggg":
            third.set()

    async with HttpClient(find(str(cluster.kubeconfig))) as http:
        client = ResourceClient(http, ClusterScopedResource)
        assert [item.name for item in await client.list()] == ["eee", "fff"]
        cache = Informer(http, client.resource, added=added, updated=_ignore, deleted=_ignore)
        assert not cache.synced
        watching = asyncio.create_task(cache.run())
        await asyncio.wait_for(cache.wait_synced(), 10)
        assert seen == ["eee", "fff"]
        await asyncio.to_thread(cluster.create, resource("ggg"))
        await asyncio.wait_for(third.wait(), 2)
        assert cache.store.get("ggg") is not None
        watching.cancel()
        await asyncio.gather(watching, return_exceptions=True)

        found = await client.get("eee")
        found.spec.resources_score["company.net/gpu"] = 7
        changed = await client.update(found)
        assert changed.spec.resources_score == {"company.net/memory": 55, "company.net/gpu": 7}
        patched = await client.patch("eee", {"spec": {"resourcesScore": {"company.net/gpu": None}}})
        assert patched.spec.resources_score == {"company.net/memory": 55}
        made = await client.create(ClusterScopedResource(metadata=named("hhh"), spec=patched.spec))
        assert made.uid
        await client.delete("hhh")
        assert [item.name for item in await client.list()] == ["eee", "fff", "ggg"]


def named(name: str) -> Any:
    from moorage import ObjectMeta

    return ObjectMeta(name=name)


def _ignore(*_: object) -> None: ...


# T9: end to end


def test_T9_a_pod_lands_where_its_resource_is_enabled(tidy: Cluster) -> None:
    tidy.kubectl("apply", "-f", str(MANIFESTS / "clusterscopedresources-cr.yaml"))
    with tidy.run(CONFIG, PLUGIN) as process:
        tidy.create(pod("of-nobody", requests={"company.net/memory": "100Mi"}))
        tidy.kubectl("apply", "-f", str(MANIFESTS / "simple-pod.yaml"))
        node = tidy.bound("nginx")
        bound = '"Successfully bound pod to node" pod="default/nginx"'
        process.wait_until("the last line", lambda: lines_with(process, bound))
        assert tidy.node_of("of-nobody") == ""
    assert node in ("eee", "fff")

    lines = [line.partition("] ")[2] for line in process_lines(process)]
    expected = [
        '"Add event for unscheduled pod" pod="default/nginx"',
        '"About to try and schedule pod" pod="default/nginx"',
        '"Attempting to schedule pod" pod="default/nginx"',
        *(f'"CRD for node not found" nodeName="{name}"' for name in NODES[:4]),
        *(f'"Scoring node" nodeName="{name}"' for name in ("eee", "fff")),
        *(
            f'"Resources and score" podName="nginx" nodeName="{name}" score=55'
            for name in ("eee", "fff")
        ),
        f'"Attempting to bind pod to node" pod="default/nginx" node="{node}"',
        f'"Successfully bound pod to node" pod="default/nginx" node="{node}" evaluatedNodes=6 feasibleNodes=2',
    ]
    places = [lines.index(line) for line in expected]
    phases = [places[:3], places[3:7], places[7:11], places[11:]]
    # Which node is asked first is free.
    assert places[:3] == sorted(places[:3])
    assert places[11:] == sorted(places[11:])
    assert all(max(before) < min(after) for before, after in itertools.pairwise(phases))
    assert all(lines.count(line) == 1 for line in expected)


def process_lines(process: Moorage) -> list[str]:
    return KEPT[process.pid]


KEPT: dict[int, list[str]] = {}


# T10: rejections and retries


def test_T10_rejections_and_retries(tidy: Cluster, scheduler: Moorage) -> None:
    pass


# T11: scores

SCORES = yaml.safe_load("{}")
_Factory = Callable[[int], Document]
_ = RETRY_SECONDS, wait_for
