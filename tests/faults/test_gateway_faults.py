"""Requests and answers go wrong on the way to the API server; one scheduler lives through all of it."""

from collections.abc import Iterator

import pytest

from tests.controlplane.schedulers import Moorage
from tests.controlplane.servers import ControlPlane
from tests.faults.gateway import (
    Gateway,
    any_of,
    commit_late,
    cut,
    hang,
    hang_after_commit,
    lose_answer,
    refuse,
    refuse_after_commit,
    slow,
)
from tests.faults.scene import SMALL, Scene

BINDING = "/binding$"

pytestmark = pytest.mark.soak


@pytest.fixture(scope="module")
def gateway(plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    with Gateway(plane.url, plane.ca_file, tmp_path_factory.mktemp("gateway")) as running:
        yield running


@pytest.fixture(scope="module")
def scheduler(
    plane: ControlPlane, gateway: Gateway, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Moorage]:
    scene = Scene(plane, SMALL, tmp_path_factory.mktemp("scheduler"))
    scene.clean_up()
    kubeconfig = scene.kubeconfig("moorage", gateway.url, gateway.ca_file)
    with scene.scheduler(kubeconfig, serve=True) as running:
        yield running


def test_the_answer_to_a_bind_is_lost_after_it_was_committed(
    scene: Scene, gateway: Gateway, scheduler: Moorage
) -> None:
    for _ in range(scene.size.rounds):
        with gateway.fault(lose_answer, method="POST", path=BINDING, share=0.5) as fault:
            names = scene.create_pods(scene.size.pods)
            scene.wait_until_all_are_bound(scheduler)
        assert fault.happened > len(names) / 4
        scene.audit()
        scene.delete_pods(names)


def test_the_answer_to_a_bind_does_not_come_though_it_was_committed(
    scene: Scene, gateway: Gateway, scheduler: Moorage
) -> None:
    with gateway.fault(hang_after_commit, method="POST", path=BINDING, times=5) as fault:
        scene.create_pods(scene.size.pods)
        scene.wait_until_all_are_bound(scheduler)
    assert fault.happened == 5
    scene.audit()


def test_a_bind_is_committed_and_refused(scene: Scene, gateway: Gateway, scheduler: Moorage) -> None:
    """As an API server does whose etcd is too slow to answer it in time; watches are behind, too."""
    for _ in range(scene.size.rounds):
        with (
            gateway.fault(
                any_of(refuse_after_commit(500), refuse_after_commit(504)), path=BINDING, share=0.5
            ),
            gateway.late_streams(1.0),
        ):
            names = scene.create_pods(scene.size.pods)
            scene.wait_until_all_are_bound(scheduler)
        scene.audit()
        scene.delete_pods(names)


def test_a_bind_is_committed_when_the_scheduler_has_given_it_up(
    scene: Scene, gateway: Gateway, scheduler: Moorage
) -> None:
    with gateway.fault(commit_late(7.0), method="POST", path=BINDING, times=scene.size.pods // 3):
        scene.create_pods(scene.size.pods)
        scene.wait_until_all_are_bound(scheduler)
        scheduler.wait_until("the last late bind", lambda: not gateway.late)
    scene.audit()


def test_events_and_conditions_hang_and_pods_are_bound_all_the_same(
    scene: Scene, gateway: Gateway, scheduler: Moorage
) -> None:
    with (
        gateway.fault(hang, path="/events") as events,
        gateway.fault(hang, method="PATCH", path="/status") as conditions,
    ):
        too_many = scene.create_pods(scene.size.pods + 1)
        scheduler.wait_until("all but one are bound", lambda: scene.bound() == scene.size.pods)
        scheduler.wait_until("the condition of the last", lambda: conditions.happened)
        left_over = set(too_many) - set(scene.api.bound())
        scene.audit(not_fitting=left_over)
        scene.delete_pods([next(name for name in too_many if name not in left_over)])
        scene.wait_until_all_are_bound(scheduler)
    assert events.happened
    scene.audit()


GARBAGE = (
    b"\x00\xff\xfe neither JSON nor text\n",
    b'{"type": "ADDED", "object": {"kind": "Pod", "apiVersion": "v1", "metadata": {"na',
    b'{"type": "ADDED", "object": {"spec": {"schedulerName": "moorage"}, "status": {}}}\n',
    b"null\n",
    b'{"type": "ADDED", "object": null}\n',
    b'{"type": "NEWS", "object": {"metadata": {"name": "news", "namespace": "default"}}}\n',
    b'{"type": "MODIFIED", "object": {"metadata": {"name": 7}}}\n',
    b'{"type": "ERROR", "object": {"kind": "Status", "code": 500, "message": "etcd is not well"}}\n',
)


def test_garbage_in_watch_streams(scene: Scene, gateway: Gateway, scheduler: Moorage, soak: bool) -> None:
    watches = r"/(pods|nodes)\?"
    garbage = GARBAGE if soak else GARBAGE[:3]
    for piece in garbage:
        # The watches may be on their way back from the last time.
        scheduler.wait_until("both watches", lambda: gateway.open_streams(watches) == 2)
        gateway.inject(watches, piece, then_cut=not piece.endswith(b"\n"))
        scene.create_pods(scene.size.pods // len(garbage))
    scene.wait_until_all_are_bound(scheduler)
    scene.audit()
    assert scheduler.log_text().count("a record cannot be read") >= 2


def test_nodes_go_while_only_their_watch_hangs(scene: Scene, gateway: Gateway, scheduler: Moorage) -> None:
    """It goes on with the nodes it knows, until it knows better."""
    gone = ["node-0", "node-1"]
    with gateway.fault(hang, path=r"/nodes\?") as fault:
        gateway.inject(r"/nodes\?", b"", then_cut=True)
        scheduler.wait_until("the next watch of nodes", lambda: fault.happened)
        scene.api.delete(*(f"/api/v1/nodes/{name}" for name in gone))
        scene.create_pods(scene.size.cores)
        scene.wait_until_all_are_bound(scheduler)
    known = f'scheduler_cache_size{{type="nodes"}} {scene.size.nodes - len(gone)}'
    scheduler.wait_until("the nodes that are left", lambda: known in scene.metrics(scheduler))
    later = scene.create_pods(scene.size.cores)
    scene.wait_until_all_are_bound(scheduler)
    scene.audit(gone=gone)
    assert not {scene.api.bound()[name] for name in later} & set(gone)


def test_nearly_a_third_of_all_requests_fail(scene: Scene, gateway: Gateway, scheduler: Moorage) -> None:
    ways = (
        refuse(500),
        refuse(429, retry_after=1),
        refuse(503, retry_after=1),
        refuse(503),
        cut,
        lose_answer,
    )
    for _ in range(scene.size.rounds):
        with gateway.fault(any_of(*ways), share=0.3) as fault:
            gateway.inject("", b"", then_cut=True)  # watches begin anew
            names = scene.create_pods(scene.size.pods)
            scene.wait_until_all_are_bound(scheduler)
        assert fault.happened > len(names) / 4
        scene.audit()
        scene.delete_pods(names)


def test_binds_take_long(scene: Scene, gateway: Gateway, scheduler: Moorage, soak: bool) -> None:
    with gateway.fault(slow(4.0 if soak else 2.0), method="POST", path=BINDING) as fault:
        scene.create_pods(scene.size.pods)
        scene.wait_until_all_are_bound(scheduler)
    assert fault.happened == scene.size.pods
    scene.audit()
