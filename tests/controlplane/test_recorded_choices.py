"""kube-scheduler's choices, recorded and then judged: all are right at the moment in which they were made."""

import json
from pathlib import Path

import pytest

from tests.controlplane import shadowed
from tests.controlplane.schedulers import MOORAGE, Api, configuration
from tests.controlplane.servers import ControlPlane, Program, wait_for
from tests.controlplane.test_recording import last_known
from tests.controlplane.volume_controller import VolumeController

SECONDS = 300.0


@pytest.mark.soak
def test_every_recorded_node_is_among_the_best(
    control_plane: ControlPlane, tmp_path: Path, soak: bool
) -> None:
    count, size = (2000, 120) if soak else (200, 40)
    api, out = Api(control_plane), tmp_path / "trace.moor"
    config = configuration(control_plane, "default-scheduler") | {"percentageOfNodesToScore": 100}
    file = tmp_path / "scheduler.yaml"
    file.write_text(json.dumps(config))
    api.create(shadowed.priority_classes())
    api.create(shadowed.storage(size))
    api.create(shadowed.devices(size))
    api.create(shadowed.nodes(size))
    flags = ("record", f"--out={out}", f"--kubeconfig={control_plane.kubeconfig}")
    recorder = Program(MOORAGE, flags, tmp_path / "record.log")
    try:
        wait_for("the first lists", lambda: out.exists() and out.stat().st_size > 500, seconds=60)
        with (
            VolumeController(api).running(),
            shadowed.kubelets(api),
            control_plane.kube_scheduler(f"--config={file}"),
        ):
            shadowed.play(api, count, seed=2)
            bound = {name for name, node in api.bound().items() if node}
            wait_for(
                "the last bind in the trace",
                lambda: bound <= {name for name, pod in last_known(out).items() if pod.spec.node_name},
                seconds=60,
            )
    finally:
        recorder.stop()
        api.delete_all("pods", "nodes", "persistentvolumeclaims", "persistentvolumes", "storageclasses")
        api.delete_all("resourceslices", "deviceclasses")
    report_file = tmp_path / "report.json"
    asked = ("shadow", f"--trace={out}", f"--config={file}", f"--report={report_file}")
    judging = Program(MOORAGE, asked, tmp_path / "judging.log")
    try:
        code = judging.exit_code(SECONDS)
    finally:
        judging.stop()
    report = json.loads(report_file.read_text())
    text = json.dumps(report, indent=1)
    verdicts = report["verdicts"]
    assert report["decisions"] >= len(bound) > count / 2
    assert (verdicts["disagreed"], verdicts["infeasible"], verdicts["sampled"]) == (0, 0, 0), text
    # How many are chosen at the moment of a change is a matter of the machine where few are looked at.
    assert report["agreement"] >= (0.995 if soak else 0.9), text
    assert all("when it was seen" in each["words"] for each in report["last"]["timing"])
    assert code == 0
