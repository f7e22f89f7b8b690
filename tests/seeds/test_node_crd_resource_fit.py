"""The walk with a custom resource: T8 to T11 of the seed systems, on both kinds of cluster."""

import asyncio
import itertools
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
import yaml

from examples.node_crd_resource_fit.api import ClusterScopedResource
from moorage import ObjectMeta
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
        assert cache.by_key.get("ggg") is not None
        watching.cancel()
        await asyncio.gather(watching, return_exceptions=True)

        found = await client.get("eee")
        found.spec.resources_score["company.net/gpu"] = 7
        changed = await client.update(found)
        assert changed.spec.resources_score == {"company.net/memory": 55, "company.net/gpu": 7}
        patched = await client.patch("eee", {"spec": {"resourcesScore": {"company.net/gpu": None}}})
        assert patched.spec.resources_score == {"company.net/memory": 55}
        made = await client.create(ClusterScopedResource(metadata=ObjectMeta(name="hhh"), spec=patched.spec))
        assert made.uid
        await client.delete("hhh")
        assert [item.name for item in await client.list()] == ["eee", "fff", "ggg"]


def _ignore(*_: object) -> None: ...


# T9: end to end


def test_T9_a_pod_lands_where_its_resource_is_enabled(tidy: Cluster) -> None:
    tidy.kubectl("apply", "-f", str(MANIFESTS / "clusterscopedresources-cr.yaml"))
    with tidy.run(CONFIG, PLUGIN) as process:
        tidy.create(pod("of-nobody", requests={"company.net/memory": "100Mi"}))
        tidy.kubectl("apply", "-f", str(MANIFESTS / "simple-pod.yaml"))
        node = tidy.bound("nginx")
        last = f'"Successfully bound pod to node" pod="default/nginx" node="{node}"'
        last += " evaluatedNodes=6 feasibleNodes=2"
        process.wait_until("the last line", lambda: lines_with(process, last))
        lines = [line.partition("] ")[2] for line in process.log_text().splitlines()]
        assert tidy.node_of("of-nobody") == ""
    assert node in ("eee", "fff")
    about_the_pod = [
        '"Add event for unscheduled pod" pod="default/nginx"',
        '"About to try and schedule pod" pod="default/nginx"',
        '"Attempting to schedule pod" pod="default/nginx"',
    ]
    filtering = [f'"CRD for node not found" nodeName="{name}"' for name in NODES[:4]]
    scoring = [f'"Scoring node" nodeName="{name}"' for name in ("eee", "fff")]
    scoring += [
        f'"Resources and score" podName="nginx" nodeName="{name}" score=55' for name in ("eee", "fff")
    ]
    binding = [f'"Attempting to bind pod to node" pod="default/nginx" node="{node}"', last]
    phases = [*([line] for line in about_the_pod), filtering, scoring, *([line] for line in binding)]
    assert [lines.count(line) for phase in phases for line in phase] == [1] * 13
    # Within a phase it is free which node is asked first.
    places = [[lines.index(line) for line in phase] for phase in phases]
    assert all(max(before) < min(after) for before, after in itertools.pairwise(places))


# T10: rejections and retries

GPU, MEMORY = "company.net/gpu", "company.net/memory"
NUMBERS = itertools.count()
NO_VICTIMS = "preemption: 0/6 nodes are available: 6 No preemption victims found for incoming pod."


def test_T10_a_change_of_a_resource_brings_a_rejected_pod_back(tidy: Cluster, scheduler: Moorage) -> None:
    tidy.create(*(resource(name, {MEMORY: True}, {MEMORY: 55}) for name in ("eee", "fff")))
    expected = f"0/6 nodes are available: 2 Node does not enable resource {GPU}, 4 CRD for node not found. "
    name = rejected(tidy, expected, {GPU: "1"})
    assert tidy.note(name) == f"{expected}no new claims to deallocate, {NO_VICTIMS}"
    assert tidy.condition(name)["reason"] == "Unschedulable"

    patch = f'{{"spec":{{"resourcesFilter":{{"{GPU}":true}}}}}}'
    tidy.kubectl("patch", "clusterscopedresource", "eee", "--type=merge", "-p", patch)
    assert tidy.bound(name, RETRY_SECONDS) == "eee"
    assert not lines_with(scheduler, "Resources and score", name), "a single node is not scored"


def test_T10_what_is_false_and_what_is_absent(tidy: Cluster, scheduler: Moorage) -> None:
    tidy.create(resource("eee", {MEMORY: True}), resource("fff", {GPU: False}))
    rejected(tidy, f" 2 Node does not enable resource {GPU}, ", {GPU: "1"})
    rejected(tidy, " Node does not enable resource cpu", {"cpu": "100m", MEMORY: "1Mi"})


def test_T10_a_new_resource_brings_a_rejected_pod_back(tidy: Cluster, scheduler: Moorage) -> None:
    tidy.create(resource("eee", {GPU: True}))
    tidy.delete_all("clusterscopedresources")
    name = rejected(tidy, "0/6 nodes are available: 6 CRD for node not found. ", {GPU: "1"})
    tidy.create(resource("aaa", {GPU: True}))
    assert tidy.bound(name, RETRY_SECONDS) == "aaa"


def rejected(cluster: Cluster, expected: str, requests: Mapping[str, str]) -> str:
    """The name of a pod that was rejected with these words.

    When a change was made just before, the scheduler may not know of it yet: then another pod is tried.
    """

    def attempt() -> str:
        name = f"p-{next(NUMBERS)}"
        cluster.create(pod(name, SCHEDULER, requests=requests))
        heard = wait_for(
            f"a decision for {name}",
            lambda: cluster.node_of(name) or cluster.notes(name, "FailedScheduling"),
        )
        return name if expected in heard[0] else ""

    return wait_for(f"a pod rejected with {expected!r}", attempt)


# T11: scores

ROWS: list[tuple[dict[str, int], dict[str, int], list[str], tuple[int, int], str]] = [
    ({"x": 55}, {"x": 60}, ["x"], (55, 60), "fff"),
    ({"x": 55, "y": 60}, {"x": 57, "y": 57}, ["x", "y"], (58, 57), "eee"),
    ({"x": 250}, {"x": 99}, ["x"], (100, 99), "eee"),
    ({"x": -7}, {"x": 1}, ["x"], (0, 1), "fff"),
    ({}, {"x": 1, "y": 2, "z": 2}, ["x", "y", "z"], (0, 2), "fff"),
    ({"x": 55}, {"x": 55}, [], (0, 0), ""),
]
"""The scores of `eee` and of `fff`, what a pod requests, how it scores, and where it goes."""


def test_T11_scores(tidy: Cluster) -> None:
    # Each row has resources of its own, so that nothing needs to change while the scheduler runs.
    both: dict[str, dict[str, int]] = {"eee": {}, "fff": {}}
    for row, (of_eee, of_fff, *_) in enumerate(ROWS):
        both["eee"] |= {f"company.net/{key}{row}": score for key, score in of_eee.items()}
        both["fff"] |= {f"company.net/{key}{row}": score for key, score in of_fff.items()}
    enabled = {f"company.net/{key}{row}": True for row in range(len(ROWS)) for key in "xyz"}
    tidy.create(*(resource(name, enabled, scores) for name, scores in both.items()))
    pods = [
        pod(f"row-{row}", SCHEDULER, requests={f"company.net/{key}{row}": "1" for key in keys})
        for row, (_, _, keys, _, _) in enumerate(ROWS)
    ]
    with tidy.run(CONFIG, PLUGIN) as process:
        tidy.create(*pods)
        for row, (_, _, _, scores, node) in enumerate(ROWS):
            assert tidy.bound(f"row-{row}") in ([node] if node else ["eee", "fff"])
            for name, score in zip(("eee", "fff"), scores, strict=True):
                keys = f'podName="row-{row}" nodeName="{name}" score={score}'
                assert len(lines_with(process, f'"Resources and score" {keys}')) == 1, (row, name)


# Without the definition


def test_the_start_fails_when_the_definition_is_missing(cluster: Cluster) -> None:
    cluster.kubectl("delete", "crd", DEFINITION, "--ignore-not-found")
    config = yaml.safe_load(CONFIG.read_text())
    args = {"name": "NodeCRDResourceFit", "args": {"cacheSyncTimeoutSeconds": 1}}
    config["profiles"][0]["pluginConfig"] = [args]
    with cluster.run(config, PLUGIN, ready=False) as process:
        assert process.exit_code(30) == 1
        *lines, last = process.log_text().splitlines()
    assert last == 'initializing plugin "NodeCRDResourceFit": WaitForCacheSync failed'
    assert any('"Cannot sync caches" err="WaitForCacheSync failed"' in line for line in lines)


def test_the_start_waits_for_a_definition_that_comes(cluster: Cluster) -> None:
    cluster.kubectl("delete", "crd", DEFINITION, "--ignore-not-found")
    with cluster.run(CONFIG, PLUGIN, ready=False) as process:
        process.wait_until(
            "the wait", lambda: lines_with(process, "Nothing is scheduled before a custom resource")
        )
        answer = process.get("/readyz")
        assert answer is not None and answer.status == 500
        cluster.kubectl("apply", "-f", str(MANIFESTS / "crd.yaml"))
        process.wait_ready()
