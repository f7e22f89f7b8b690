"""Pods that come, are bound and go, round after round: each has its event, and nothing of them stays."""

import asyncio
import gc
import json
import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from moorage.api.pods import Pod
from moorage.client.connection import find
from moorage.client.http import HttpClient
from moorage.client.pod_writer import PodWriter
from moorage.config import load
from moorage.plugins.catalog import in_tree_registry
from moorage.process.assembly import Assembly
from moorage.process.event_series import Reference, Series, SeriesKey
from tests.controlplane.schedulers import NAME, Api, Document, Moorage, configuration, moorage, node, pod
from tests.controlplane.servers import ControlPlane

NODES = 20
MOST_ROUNDS = 6
MOST_GROWTH = 1 << 20
"""What the eighth round may need beyond the second: 6000 pods later, less than 200 bytes for each."""


@pytest.fixture(scope="module")
def api(control_plane: ControlPlane) -> Api:
    api = Api(control_plane)
    api.create(node(f"n{number}", cpu="1000", memory="1000Gi", pods="1000") for number in range(NODES))
    return api


def make(prefix: str, count: int, **form: object) -> list[Document]:
    return [pod(f"{prefix}-{number}", **form) for number in range(count)]  # type: ignore[arg-type]


def resident(pid: int) -> int:
    """The bytes of memory that a process has."""
    [kibibytes] = re.findall(r"^VmRSS:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text(), re.MULTILINE)
    return int(kibibytes) * 1024


def metrics(process: Moorage, token: str) -> str:
    answer = process.get("/metrics", token=token)
    return answer.text if answer is not None else ""


def dropped(text: str) -> dict[str, float]:
    found = re.findall(r'^moorage_events_dropped_total\{reason="(\w+)"\} (\S+)$', text, re.MULTILINE)
    return {reason: float(count) for reason, count in found}


def events_of(api: Api, reason: str, prefix: str) -> Counter[str]:
    """How many events of a reason each pod has."""
    names = (event["involvedObject"]["name"] for event in api.events(reason))
    return Counter(name for name in names if name.startswith(prefix))


@pytest.mark.soak
def test_every_pod_of_a_burst_has_its_event_and_memory_stays_flat(
    control_plane: ControlPlane, api: Api, soak: bool
) -> None:
    backlog, rounds, pods_of_each = (2000, 8, 1000) if soak else (150, 2, 50)
    # Those that fit nowhere fail far faster than an API server takes events.
    api.create([*make("burst", backlog), *make("misfit", backlog, nodeSelector={"pool": "absent"})])
    memory: list[int] = []
    with moorage(control_plane, serve=True) as process:

        def wait_for(sample: str) -> None:
            """Asks the scheduler and not the API server, which is to be busy with binding alone."""
            process.wait_until(sample, lambda: f"{sample}\n" in metrics(process, token), seconds=120)

        def wait_for_binds(count: int) -> None:
            wait_for(f'scheduler_schedule_attempts_total{{profile="{NAME}",result="scheduled"}} {count}')

        def wait_for_events(reason: str, prefix: str, count: int) -> Counter[str]:
            def found() -> Counter[str] | None:
                events = events_of(api, reason, prefix)
                return events if len(events) == count else None

            events: Counter[str] = process.wait_until(f"{count} events", found, seconds=120)
            return events

        def delete_pods() -> None:
            api.delete_all("pods")
            wait_for('scheduler_cache_size{type="pods"} 0')

        token = control_plane.admin_token
        wait_for_binds(backlog)
        for reason, prefix in ("Scheduled", "burst-"), ("FailedScheduling", "misfit-"):
            assert set(wait_for_events(reason, prefix, backlog).values()) == {1}
        delete_pods()
        for number in range(rounds):
            api.create(make(f"round-{number}", pods_of_each))
            created = pods_of_each * (number + 1)
            wait_for_binds(backlog + created)
            events = wait_for_events("Scheduled", "round-", created)
            delete_pods()
            memory.append(resident(process.pid))
        assert set(events.values()) == {1}
        lost = dropped(metrics(process, token))
    assert lost
    assert set(lost.values()) == {0}
    if soak:
        assert memory[-1] - memory[1] <= MOST_GROWTH, [f"{each / (1 << 20):.1f} MiB" for each in memory]


def alive() -> Counter[type]:
    """Objects of Moorage's own types, by type; connections are kept for later, as many as were of use."""
    gc.collect()
    types = (type(each) for each in gc.get_objects())
    return Counter(
        each
        for each in types
        if each.__module__.startswith("moorage.") and each.__module__ != "moorage.client.wire"
    )


def test_what_is_gone_leaves_no_object_behind(control_plane: ControlPlane, api: Api) -> None:
    config = load(json.dumps(configuration(control_plane))).config

    async def until(condition: Callable[[], bool]) -> None:
        async with asyncio.timeout(60):
            while not condition():
                await asyncio.sleep(0.02)

    async def a_round(assembly: Assembly, number: int) -> Counter[type]:
        forms: dict[str, Document] = {
            "bound": {},
            "waiting": {"nodeSelector": {"pool": "absent"}},
            "gated": {"schedulingGates": [{"name": "example.com/later"}]},
        }
        documents = [each for case, form in forms.items() for each in make(f"{case}-{number}", 20, **form)]
        await asyncio.to_thread(api.create, documents)
        scheduler = assembly.scheduler
        await until(lambda: scheduler.state.pod_total == 20 and scheduler.queue.counts() == (0, 0, 20, 20))
        assert alive()[Pod] >= 60
        await asyncio.to_thread(api.delete_all, "pods")
        events = assembly._events
        await until(
            lambda: (
                not (
                    scheduler.door.pods()
                    or scheduler.state.pod_total
                    or any(scheduler.queue.counts())
                    or events._waiting
                )
            )
        )
        found = alive()
        # A pod that cannot be scheduled may say so again: its event is remembered for some minutes.
        assert {key.reason for key in events._series} == {"FailedScheduling"}
        for kind in (Reference, Series, SeriesKey):
            assert found.pop(kind) == len(events._series)
        return found

    async def main() -> Counter[type]:
        connection = find(str(control_plane.kubeconfig))
        http, late = HttpClient(connection, qps=-1), HttpClient(connection, qps=-1)
        writer = PodWriter(http, late=late)
        assembly = Assembly(config, in_tree_registry(), writer, http=http, events=late, others=(late,))
        try:
            await assembly.open()
            assembly.start()
            scheduling = asyncio.create_task(assembly.schedule())
            await until(lambda: assembly.scheduler.is_running)  # what was there before is not looked at
            left = [await a_round(assembly, 0)]
            # A label of a metric may be new in any round; what stays of pods stays in every round.
            while len(left) < MOST_ROUNDS and (len(left) < 2 or left[-1] - left[-2]):
                left.append(await a_round(assembly, len(left)))
            assert await assembly.end(scheduling) is None
            return left[-1] - left[-2]
        finally:
            await assembly.close()
            gc.unfreeze()

    assert asyncio.run(main()) == Counter()
