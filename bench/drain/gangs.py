"""The third mode: gangs wait, for Moorage with Coscheduling and for kube-scheduler with its alpha gates.

The pods are the same: they name their group by the label of scheduler-plugins, which Moorage reads, and by
the field of the API that is alpha in Kubernetes v1.36, which kube-scheduler reads. Beside them Moorage has as
many plain pods to place, without Coscheduling.
"""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from statistics import median

from bench.bounds import Check, Failed, Outcomes
from bench.drain.contest import in_turns
from bench.drain.draining import Drained, drain
from bench.drain.loading import fill
from bench.drain.programs import NOT_MEASURED, programs, told
from bench.drain.schedulers import ORIGINAL, Scheduler, schedulers
from bench.drain.workload import NAMESPACE, Bounds, Document, Objects, Size, Workload, for_the_bench
from bench.drain.workloads import WORKLOADS
from bench.machine import write_results
from moorage.api.custom_resources.definitions import custom_resource_definition
from moorage.api.meta import Object
from moorage.client.connection import from_kubeconfig
from moorage.client.http import HttpClient
from moorage.client.resources import Resource
from moorage.contrib.objects import GROUP, GROUP_LABEL, PodGroup
from moorage.what_if.workloads import make_pods
from tests.controlplane.servers import ControlPlane

MEMBERS = 4
SIZE = Size(5000, 3000)
GATES = "--feature-gates=GenericWorkload=true,GangScheduling=true"
_SERVED = "--runtime-config=scheduling.k8s.io/v1alpha2=true"
_PLAIN, _GANGS = "moorage, plain", "moorage, gangs"
_LEAST_SHARE = 0.7
_ENABLED = """\
    plugins:
      multiPoint: {enabled: [{name: Coscheduling}]}
      queueSort: {disabled: [{name: PrioritySort}]}
"""


class AlphaPodGroup(Object, kw_only=True):
    """The PodGroup of Kubernetes itself."""

    group = "scheduling.k8s.io"
    version = "v1alpha2"
    resource = "podgroups"
    kind = "PodGroup"


def measure(nodes: int = SIZE.nodes, pods: int = SIZE.pods, rounds: int = 3) -> Outcomes:
    found_programs, size = programs(), Size(nodes, pods - pods % MEMBERS)
    print(f"\n{size.pods // MEMBERS} gangs of {MEMBERS}, {nodes} nodes, rounds: {rounds}", flush=True)
    flags = ("--delete-collection-workers=16", GATES, _SERVED)
    try:
        with (
            tempfile.TemporaryDirectory(prefix="bench-gangs-") as folder,
            ControlPlane(found_programs, apiserver_flags=flags) as plane,
        ):
            asyncio.run(_fill(plane, size))
            runs = in_turns(_entrants(found_programs, plane, size, Path(folder)), rounds)
    except NOT_MEASURED as error:
        yield Failed("gangs", told(error))
        return
    rates = {name: median(run.pods_per_second for run in each) for name, each in runs.items()}
    for name, rate in rates.items():
        cpu = median(run.cpu_per_thousand for run in runs[name])
        print(f"{name:17}{rate:7.0f} pods/s {cpu:7.2f} CPU s/1000")
    figures = {name: [str(run) for run in each] for name, each in runs.items()}
    print(f"all figures: {write_results('gangs', {**size._asdict(), 'runs': figures})}\n")
    share = rates[_GANGS] / rates[_PLAIN]
    yield Check("gangs: pods per second against plain pods", share, _LEAST_SHARE, "x", at_least=True)
    ratio = rates[_GANGS] / rates[ORIGINAL]
    yield Check("gangs: pods per second against kube-scheduler", ratio, 1, "x", at_least=True)


def _entrants(
    found_programs: Path, plane: ControlPlane, size: Size, folder: Path
) -> dict[str, partial[Drained]]:
    moorage, original = schedulers(found_programs, plane.kubeconfig, folder)
    config = folder / "gangs.yaml"
    text = (folder / "scheduler.yaml").read_text().rstrip()
    profile = text.splitlines()[-1].removeprefix("profiles: [{").removesuffix("}]")
    lines = text.splitlines()[:-1]
    config.write_text("\n".join([*lines, "profiles:", f"  - {profile}", _ENABLED]))
    gangs = moorage._replace(
        arguments=("run", f"--config={config}", "--secure-port=0"), log=folder / "gangs.log"
    )
    with_gates = original._replace(arguments=(*original.arguments, GATES))

    def drained(scheduler: Scheduler, workload: Workload) -> partial[Drained]:
        return partial(_drain, plane.kubeconfig, scheduler, workload, size)

    return {
        _PLAIN: drained(moorage, WORKLOADS["plain"]),
        _GANGS: drained(gangs, WORKLOAD),
        ORIGINAL: drained(with_gates, WORKLOAD),
    }


def _drain(kubeconfig: Path, scheduler: Scheduler, workload: Workload, size: Size, prefix: str) -> Drained:
    return asyncio.run(drain(kubeconfig, scheduler, workload, size, prefix.replace(",", "")))


async def _fill(plane: ControlPlane, size: Size) -> None:
    definition = custom_resource_definition(PodGroup)
    async with HttpClient(from_kubeconfig(str(plane.kubeconfig)), qps=-1) as client:
        path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
        await client.request_json("POST", path, definition)
        plane.kubectl("wait", "--for=condition=Established", f"crd/podgroups.{GROUP}", "--timeout=20s")
        await fill(client, WORKLOAD, size)


# The pods and their groups


def _pods(prefix: str, size: Size) -> Iterator[Document]:
    for number, pod in enumerate(make_pods("plain", size.pods, prefix)):
        name = _name(prefix, number // MEMBERS)
        document = for_the_bench(pod.raw, schedulingGroup={"podGroupName": name})
        metadata = document["metadata"]
        labels = {**metadata["labels"], GROUP_LABEL: name}
        yield {**document, "metadata": {**metadata, "labels": labels}}


def _groups(prefix: str, size: Size) -> Objects:
    for number in range(size.pods // MEMBERS):
        metadata = {"name": _name(prefix, number), "namespace": NAMESPACE}
        specs: dict[type[Object], Document] = {
            PodGroup: {"minMember": MEMBERS},
            AlphaPodGroup: {"schedulingPolicy": {"gang": {"minCount": MEMBERS}}},
        }
        for kind, spec in specs.items():
            names = {"apiVersion": kind.api_version(), "kind": kind.kind}
            yield kind, {**names, "metadata": metadata, "spec": spec}


async def _remove_groups(client: HttpClient) -> None:
    for kind in (PodGroup, AlphaPodGroup):
        await client.request_json("DELETE", Resource.of(kind).path(NAMESPACE), {})


def _name(prefix: str, number: int) -> str:
    return f"{prefix}-gang-{number}"


WORKLOAD = Workload("gangs", _pods, Bounds(1, None), size=SIZE, company=_groups, afterwards=_remove_groups)
