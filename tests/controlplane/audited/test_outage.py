"""The API server goes away or forgets its history; Moorage goes on by itself."""

import signal
import time

import pytest

from tests.controlplane.observing import NODES, Assignments, bound_more_than_once, overcommitted
from tests.controlplane.schedulers import Api, moorage, node, pod
from tests.controlplane.servers import ControlPlane

PODS = 1000

pytestmark = pytest.mark.soak


def test_the_api_server_goes_away_for_a_while(control_plane: ControlPlane, api: Api) -> None:
    with Assignments(control_plane) as assignments:
        api.create(pod(f"pod-{number}", requests={"cpu": "1"}) for number in range(PODS))
        with moorage(control_plane, ready=False) as process:
            process.wait_until("some binds", lambda: len(control_plane.bindings()) > 100)
            control_plane.stop_apiserver()
            bound_before = len({request.pod for request in control_plane.bindings() if request.code == 201})
            time.sleep(10)
            process.check_running()
            control_plane.start_apiserver()
            assert 100 <= bound_before < PODS
            process.wait_until("all pods are bound", lambda: assignments.seen() == PODS)
            assert assignments.moved() == {}
            process.send(signal.SIGTERM)
            assert process.exit_code(15) == 0
    assert bound_more_than_once(control_plane) == {}
    assert overcommitted(api) == {}


def test_the_history_is_gone(control_plane: ControlPlane, api: Api) -> None:
    """What happened meanwhile is found by listing: the room of deleted pods, new pods, a new node."""
    per_node = 10
    first = [f"first-{number}" for number in range(NODES * per_node)]
    with moorage(control_plane) as process:
        api.create(pod(name, requests={"cpu": "5"}) for name in first)
        process.wait_until("the first binds", lambda: len(api.bound()) == len(first))

        process.send(signal.SIGSTOP)
        try:
            # This cuts its watches; what follows does not even reach a buffer.
            control_plane.restart_apiserver()
            gone, count = first[::2], len(first) // 2
            api.delete(*(f"/api/v1/namespaces/default/pods/{name}" for name in gone))
            # The last of them go to the node that was not there before.
            api.create(pod(f"second-{number}", requests={"cpu": "5"}) for number in range(count + per_node))
            api.create([node("late", cpu="51")])
            control_plane.compact()
        finally:
            process.send(signal.SIGCONT)

        expected = len(first) - len(gone) + count + per_node
        process.wait_until("the later binds", lambda: len(api.bound()) == expected)
        assert list(api.bound().values()).count("late") == per_node
        assert "listing again" in process.log_text()
        assert bound_more_than_once(control_plane) == {}
        assert overcommitted(api) == {}
        process.check_running()
