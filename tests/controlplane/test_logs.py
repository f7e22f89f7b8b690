"""What is logged at which verbosity, in which form and order."""

import json
import re
import signal
from collections.abc import Iterator

import pytest

from tests.controlplane.schedulers import Api, Moorage, condition, moorage, node, pod
from tests.controlplane.servers import ControlPlane

HEADER = re.compile(r'[IWE]\d{4} \d\d:\d\d:\d\d\.\d{6} (\d+) [\w.]+\.py:\d+\] "')
IN_ORDER = [
    "Add event for unscheduled pod",
    "About to try and schedule pod",
    "Attempting to schedule pod",
    "Attempting to bind pod to node",
]
IN_ANY_ORDER = [
    "Delete event for unscheduled pod",
    "Add event for scheduled pod",
    "Successfully bound pod to node",
]
VERBOSITY = {
    "Add event for unscheduled pod": 3,
    "About to try and schedule pod": 4,
    "Attempting to schedule pod": 3,
    "Attempting to bind pod to node": 3,
    "Delete event for unscheduled pod": 3,
    "Add event for scheduled pod": 3,
    "Successfully bound pod to node": 2,
}


@pytest.fixture(scope="module")
def api(control_plane: ControlPlane) -> Api:
    opened = Api(control_plane)
    opened.create([node("node-1", cpu="4"), node("node-2", cpu="1")])
    return opened


@pytest.fixture(autouse=True)
def no_pods_left(api: Api) -> Iterator[None]:
    yield
    api.delete_all("pods")


def messages(process: Moorage, pod: str) -> list[str]:
    """What was said of a pod."""
    lines = [line for line in process.log_text().splitlines() if f'pod="default/{pod}"' in line]
    return [line.split('] "', 1)[1].split('"', 1)[0] for line in lines]


def bind(api: Api, process: Moorage, name: str, cpu: str = "2") -> None:
    """Has a pod bound; by default only one of the two nodes will do."""
    api.create([pod(name, requests={"cpu": cpu})])
    process.wait_until("a bind", lambda: name in api.bound())


def test_the_way_of_a_pod(control_plane: ControlPlane, api: Api) -> None:
    with moorage(control_plane, "-v=5") as process:
        bind(api, process, "seen")
        process.wait_until("all lines", lambda: {*messages(process, "seen")} >= {*VERBOSITY})
        said = [message for message in messages(process, "seen") if message in VERBOSITY]
        assert said[: len(IN_ORDER)] == IN_ORDER
        assert sorted(said[len(IN_ORDER) :]) == sorted(IN_ANY_ORDER)
        log = process.log_text()
        assert 'pod="default/seen" node="node-1" evaluatedNodes=2 feasibleNodes=1' in log
        assert '"Attempting to bind pod to node" pod="default/seen" node="node-1"' in log
        starts = [line for line in log.splitlines() if line[:1] in "IWE"]
        assert all((found := HEADER.match(line)) and int(found[1]) == process.pid for line in starts)
        [profile] = [line for line in starts if "the scheduler starts to work with those plugins" in line]
        assert "NodeResourcesFit" in profile
        assert '"Using component config" config=' in log


def test_verbosity_can_be_changed_while_it_runs(control_plane: ControlPlane, api: Api) -> None:
    with moorage(control_plane, "-v=2", serve=True) as process:
        bind(api, process, "quiet")
        process.wait_until("the line", lambda: messages(process, "quiet"))
        assert messages(process, "quiet") == ["Successfully bound pod to node"]
        assert process.get("/debug/flags/v", token=control_plane.admin_token, method="PUT", body="10") == (
            200,
            "successfully set klog.logging.verbosity to 10",
        )
        api.delete_all("pods")
        bind(api, process, "loud", cpu="100m")
        process.wait_until("all lines", lambda: {*messages(process, "loud")} >= {*VERBOSITY})
        for name in ("node-1", "node-2"):
            scored = (
                f'"Plugin scored node for pod" pod="default/loud" plugin="NodeResourcesFit" node="{name}"'
            )
            total = f'"Calculated node\'s final score for pod" pod="default/loud" node="{name}" score='
            assert scored in process.log_text()
            assert total in process.log_text()


def test_lines_of_json(control_plane: ControlPlane, api: Api) -> None:
    with moorage(control_plane, "--logging-format=json", "-v=4") as process:
        bind(api, process, "structured")

        def entries() -> list[dict[str, object]]:
            return [json.loads(line) for line in process.log_text().splitlines()]

        process.wait_until(
            "the last line", lambda: any(each["msg"] == IN_ANY_ORDER[-1] for each in entries())
        )
        for entry in entries():
            assert isinstance(entry["ts"], float)
            assert re.fullmatch(r"[\w/]+\.py:\d+", str(entry["caller"]))
            assert "v" in entry or "err" in entry
        [bound] = [entry for entry in entries() if entry["msg"] == "Successfully bound pod to node"]
        assert bound["pod"] == {"name": "structured", "namespace": "default"}
        assert (bound["node"], bound["v"], bound["evaluatedNodes"]) == ("node-1", 2, 2)


def test_a_dump_on_request(control_plane: ControlPlane, api: Api) -> None:
    with moorage(control_plane) as process:
        bind(api, process, "kept")
        api.create([pod("waiting", requests={"cpu": "50"})])
        process.wait_until("the refusal", lambda: condition(api.pod("waiting")))
        process.send(signal.SIGUSR2)
        summary = "activeQ:0; backoffQ:0; unschedulablePods:1"
        process.wait_until("the dump", lambda: "Cache compared" in process.log_text())
        log = process.log_text()
        assert summary in log
        assert re.search(r'"Dump of cached node" node="node-1" .*pods=\["default/kept"\]', log)
        assert re.search(r'"Dump of waiting pod" queue="unschedulable" pod="default/waiting" attempts=1', log)
        assert '"Cache compared with what is watched" missed=[] redundant=[]' in log
        process.check_running()
