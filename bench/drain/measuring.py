"""Measures workloads one after the other, tells what was found and checks it."""

from __future__ import annotations

import time
from collections.abc import Sequence

from bench.bounds import Check, Failed, Outcomes
from bench.drain import page, picture, ratios
from bench.drain.contest import EMBEDDED, contest
from bench.drain.programs import NOT_MEASURED, programs, told
from bench.drain.report import HEADINGS, Compared, middle
from bench.drain.workload import Size, Workload
from bench.drain.workloads import WORKLOADS
from bench.machine import describe, write_results

ROUNDS = 3
_FIRST_BIND, _MEGABYTES = 10.0, 500.0


def measure(
    names: Sequence[str] = (),
    nodes: int | None = None,
    pods: int | None = None,
    rounds: int = ROUNDS,
    record: bool = False,
) -> Outcomes:
    """The workloads of these names, or all; each of its own size where no other is given."""
    if record:
        picture.check_possible()
    found_programs = programs()
    cases = [
        (WORKLOADS[name], size_of(WORKLOADS[name], nodes, pods)) for name in dict.fromkeys(names or WORKLOADS)
    ]
    minutes = sum(seconds_for(workload, size, rounds) for workload, size in cases) / 60
    print(
        f"\nMoorage and kube-scheduler in turns, workloads: {len(cases)}, rounds: {rounds}, "
        f"minutes on two cores: about {minutes:.0f}",
        flush=True,
    )
    found: list[Compared] = []
    failed: list[Failed] = []
    try:
        for number, (workload, size) in enumerate(cases, start=1):
            began = time.monotonic()
            print(
                f"{workload.name} ({number} of {len(cases)}): {size.nodes} nodes, {size.pods} pods",
                flush=True,
            )
            try:
                found.append(Compared(workload, size, contest(found_programs, workload, size, rounds)))
            except NOT_MEASURED as error:
                failed.append(Failed(f"drain {workload.name}", told(error)))
                print(f"  {failed[-1]}", flush=True)
            print(f"  took {time.monotonic() - began:.0f} s", flush=True)
    finally:
        _report(found)  # of a run that is interrupted, too
    if record:
        ratios.write(found, describe())
        page.write()
        print(f"on record: {ratios.FILE}, {page.FILE} and {picture.FILE}")
    yield from failed
    on_record = {} if record else ratios.read()
    for each in found:
        yield from checks(each)
        yield from ratios.against_record(each, on_record)


def size_of(workload: Workload, nodes: int | None, pods: int | None) -> Size:
    """What is given, or else the workload's own; never more pods than have a place on the nodes given."""
    usual = workload.size
    size = Size(nodes or usual.nodes, pods or usual.pods)
    most = size.nodes * workload.most_per_node
    return size if pods else Size(size.nodes, min(size.pods, most))


def seconds_for(workload: Workload, size: Size, rounds: int) -> float:
    """About how long a workload takes."""
    share = size.pods / workload.size.pods
    return 20 + size.nodes / 400 + rounds * (10 + workload.round_seconds * share)


def checks(found: Compared) -> Outcomes:
    """The bounds, which hold for the workload's own size alone."""
    if not found.of_full_size:
        return
    name, bounds, ours = found.workload.name, found.workload.bounds, found.moorage
    yield Check(
        f"{name}: pods per second against kube-scheduler",
        found.rate_ratio,
        bounds.pods_per_second,
        "x",
        at_least=True,
    )
    if bounds.cpu is not None:
        yield Check(f"{name}: CPU per pod against kube-scheduler", found.cpu_ratio, bounds.cpu, "x")
    if EMBEDDED in found.runs:
        inside = middle(found.runs[EMBEDDED]).pods_per_second
        yield Check(f"{name}: first bind after the start of the process", ours.first_bind, _FIRST_BIND, "s")
        yield Check(f"{name}: memory", ours.megabytes, _MEGABYTES, "MB")
        yield Check(
            f"{name}: pods per second of the embedded cluster, at least those of `moorage run`",
            inside,
            ours.pods_per_second,
            "pods/s",
            at_least=True,
        )


def _report(found: Sequence[Compared]) -> None:
    if not found:
        return
    print(f"\n{HEADINGS}")
    for each in found:
        print(each.row())
    print(f"all figures: {write_results('drain', [each.data() for each in found])}\n", flush=True)
