from __future__ import annotations

import logging
import stat
from pathlib import Path
from typing import Any

import msgspec
import pytest

from moorage.api.nodes import Node
from moorage.api.pods import Pod
from moorage.what_if.blocks import packed
from moorage.what_if.trace.changes import Change, Head
from moorage.what_if.trace.files import BadTrace, TraceFull, TraceWriter, read_trace
from tests.what_if.trace.objects import BEGAN, node, pod

HEAD = Head(began=BEGAN, source="a test")


def written(path: Path, *steps: tuple[Any, ...]) -> Path:
    """Each step: seconds after the beginning, a document, and whether it is gone."""
    with TraceWriter(path, HEAD) as trace:
        for after, document, *gone in steps:
            (trace.gone if gone else trace.put)(BEGAN + after, document)
    return path


def changes_of(path: Path) -> list[Change]:
    return list(read_trace(path))


def told(path: Path) -> list[tuple[float, str, bool]]:
    return [(change.time - BEGAN, change.item.key, change.gone) for change in changes_of(path)]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "trace.moor"


def test_what_happened_is_read_as_it_was_written(file: Path) -> None:
    bound = pod("web-1", "node-1")
    written(
        file,
        (0, node("node-1")),
        (1.5, pod("web-1")),
        (2.25, bound),
        (3, pod("web-1", "node-1", phase="Running", startTime="2026-01-01T00:00:03Z")),
        (9, bound, "gone"),
    )
    trace = read_trace(file)
    assert trace.head == HEAD
    assert told(file) == [
        (0, "node-1", False),
        (1.5, "shop/web-1", False),
        (2.25, "shop/web-1", False),
        (3, "shop/web-1", False),
        (9, "shop/web-1", True),
    ]
    first, created, placed, runs, ended = trace
    assert isinstance(first.item, Node) and first.item.status.allocatable["cpu"] == "4"
    assert isinstance(created.item, Pod) and isinstance(placed.item, Pod)
    assert created.item.requests == Pod(spec=placed.item.spec).requests
    assert (created.item.spec.node_name, placed.item.spec.node_name) == ("", "node-1")
    assert isinstance(runs.item, Pod) and runs.item.status.start_time == "2026-01-01T00:00:03Z"
    assert isinstance(ended.item, Pod) and ended.item.status.phase == "Pending"
    assert list(trace) != []  # again and again


def test_what_a_scheduler_does_not_read_is_left_out(file: Path) -> None:
    running = pod("web-1", "node-1", phase="Running")
    running["status"] |= {
        "podIP": "10.0.0.1",
        "containerStatuses": [
            {
                "name": "main",
                "imageID": "registry.example/app@sha256:1234",
                "resources": {"requests": {"cpu": "100m", "memory": "64Mi"}},
                "allocatedResources": {"cpu": "100m", "memory": "64Mi"},
            }
        ],
        "conditions": [
            {"type": "PodScheduled", "status": "True", "lastTransitionTime": "2026-01-01T00:00:01Z"},
            {"type": "Ready", "status": "True", "message": "fine"},
        ],
    }
    written(file, (0, node("node-1")), (1, running))
    kept_node, kept_pod = (change.item.raw for change in changes_of(file))
    assert kept_node == {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": "node-1",
            "uid": "uid-node-1",
            "labels": {"kubernetes.io/hostname": "node-1"},
        },
        "status": {
            "allocatable": {"cpu": "4", "memory": "16Gi", "pods": "110"},
            "conditions": [{"type": "Ready", "status": "True"}],
        },
    }
    assert kept_pod["spec"] == {
        "nodeName": "node-1",
        "schedulerName": "default-scheduler",
        "containers": [
            {
                "name": "main",
                "image": "registry.example/app:1",
                "resources": {"requests": {"cpu": "100m", "memory": "64Mi"}},
            }
        ],
    }
    assert kept_pod["status"] == {
        "phase": "Running",
        "conditions": [
            {"type": "PodScheduled", "status": "True", "lastTransitionTime": "2026-01-01T00:00:01Z"}
        ],
    }


def test_a_container_that_is_being_resized_keeps_what_it_has(file: Path) -> None:
    resized = pod("web-1", "node-1")
    resized["status"]["containerStatuses"] = [
        {"name": "main", "resources": {"requests": {"cpu": "500m", "memory": "64Mi"}}}
    ]
    written(file, (0, resized))
    (change,) = changes_of(file)
    assert isinstance(change.item, Pod)
    assert change.item.placed_requests["cpu"] == 500


def test_a_heartbeat_is_no_change(file: Path) -> None:
    later = node("node-1")
    later["status"]["conditions"][0]["lastHeartbeatTime"] = "2026-01-01T00:05:00Z"
    later["metadata"]["resourceVersion"] = "6"
    written(file, (0, node("node-1")), (300, later))
    assert told(file) == [(0, "node-1", False)]


def test_time_does_not_go_back(file: Path) -> None:
    written(file, (5, node("node-1")), (3, node("node-2")), (6, node("node-3")))
    assert [time for time, *_ in told(file)] == [5, 5, 6]


def test_another_object_of_the_same_name_ends_the_one_before(file: Path) -> None:
    again = pod("web-1")
    again["metadata"]["uid"] = "another"
    written(file, (1, pod("web-1")), (2, again))
    assert told(file) == [(1, "shop/web-1", False), (2, "shop/web-1", True), (2, "shop/web-1", False)]


def test_the_end_of_what_was_never_there_is_not_told(file: Path) -> None:
    written(file, (1, pod("web-1"), "gone"))
    assert told(file) == []


def test_more_kinds_of_pods_than_there_are_models(file: Path) -> None:
    pods = [pod(f"web-{i}") for i in range(1500)]
    for i, each in enumerate(pods):
        each["spec"]["containers"][0]["image"] = f"app:{i % 1200}"
    written(file, *((i, each) for i, each in enumerate(pods)))
    images = [change.item.raw["spec"]["containers"][0]["image"] for change in changes_of(file)]
    assert images == [f"app:{i % 1200}" for i in range(1500)]


def test_only_the_owner_may_read_the_file(file: Path) -> None:
    written(file)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_a_trace_is_not_written_over_another_file(file: Path) -> None:
    file.write_text("precious")
    with pytest.raises(FileExistsError):
        TraceWriter(file, HEAD)
    assert file.read_text() == "precious"


def test_a_kind_that_no_scheduler_reads(file: Path) -> None:
    with TraceWriter(file, HEAD) as trace, pytest.raises(ValueError, match="v1 Secret: no kind that a trace"):
        trace.put(BEGAN, {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}})


# What was written is read for ever


VERSION_1 = bytes.fromhex(
    # written by the first Moorage that had traces
    "7b22666f726d6174223a226d6f6f726167652d7472616365222c2276657273696f6e223a312c22626567616e223a31373030"
    "3030303030302e302c22736f75726365223a22612074657374222c22616e6f6e796d697a6564223a66616c73652c22636c75"
    "73746572223a2263227d0a000001a486f25479789c6d91c16e1331108677c503f024dbaca32a879e10174e54558838709bd8"
    "d3c4aad7361e9b9263b6c09928f000659db40942a812ea0b70473c12de6d1a8a8434963de319fbfb673e2fb3ecdd16ac7c89"
    "8ea4d15fdeb07826b588c746e075851e0478b8881a2a5ceb142b5813a4d8a655dcb96b05635434bf3d0b63741a3dd28134bd"
    "a921ffa0684d1e7ca0fa2b2865787a72acf0a2e1365c1eae2bac8c9b45367826a335821ac6ca2d375a489f886851473fb3b8"
    "1a2288d9ee9d3872019779962db3fcfd7ff09b1323f6f41f3afad5398e0bb6698f648163a4a9b1ad964daba5bbbce10ea1fd"
    "7324539287cafee897fd4151b264a3b23ceaecd5bde206ac6d52e17773aed10df1141d6a8eb47848749592a8b7c3da0ed12a"
    "c9e105fa8ea9ad6e112e43abd73ba314ba9f912cf2fa1bf1298a9002c729f346e02904e58b7db4ab00997ea6c5dd7c6295dc"
    "95ac6082b70e2792bc9b1de0db2443612f611cb18d4332c125c6f9b5c3d72189a4ba9d42646559dd0f6270f85ceefa3c5fd9"
    "29105e9d609a869e2cf35fd9e3a74ff24f697ff4fb633edff7b8fedbe3fe3f4dedff0101c8ffb7000000455492a1f0789c9b"
    "3485e91c0377e106c6c625c505a9c98d2bf2f25352fd127353978118ba865398cf31f03b3930362e2b2e492c292d6e5c5a90"
    "91589cbacc2d31332735050009b818d2"
)


def test_a_file_of_version_1_is_read_for_ever(file: Path) -> None:
    file.write_bytes(VERSION_1)
    assert read_trace(file).head == Head(began=BEGAN, source="a test", cluster="c")
    assert told(file) == [
        (0, "node-1", False),
        (1, "shop/web-1", False),
        (1.25, "shop/web-2", False),
        (2, "shop/web-1", False),
        (3, "shop/web-1", True),
    ]
    *_, second, placed, ended = changes_of(file)
    assert isinstance(second.item, Pod) and isinstance(placed.item, Pod)
    assert second.item.uid == "uid-web-2" and second.item.requests["cpu"] == 100
    assert placed.item.spec.node_name == "node-1"
    assert ended.item.raw["status"] == {"phase": "Failed"}


def test_a_later_version_says_what_to_do(file: Path) -> None:
    file.write_bytes(b'{"format":"moorage-trace","version":2,"began":1}\n')
    with pytest.raises(BadTrace, match=r"trace.moor: a trace of version 2, .* use a newer Moorage"):
        read_trace(file)


def test_kinds_of_a_later_moorage_are_passed_over(file: Path) -> None:
    line = msgspec.json.encode({"format": "moorage-trace", "version": 1, "began": BEGAN})
    model = {"apiVersion": "v9", "kind": "Machine", "metadata": {"name": "m"}}
    file.write_bytes(line + b"\n" + packed(msgspec.msgpack.encode([[0, 0, model], [1, 5, 0]])))
    assert told(file) == []


# Files that are not whole


@pytest.fixture
def blocks(file: Path) -> Path:
    """A file of three blocks with two nodes each."""
    with TraceWriter(file, HEAD) as trace:
        for i in range(6):
            trace.put(BEGAN + i, node(f"node-{i}"))
            if i % 2:
                trace.flush()
    return file


def test_a_file_that_was_cut_off_is_read_up_to_there(blocks: Path, caplog: pytest.LogCaptureFixture) -> None:
    whole = blocks.read_bytes()
    starts = [0]
    for cut in range(1, 60):
        blocks.write_bytes(whole[:-cut])
        caplog.clear()
        assert len(changes_of(blocks)) == 4, cut
        (line,) = caplog.messages
        starts.append(int(line.split("cut off at byte ")[1].split(",")[0]))
        assert line.endswith(f"`moorage record --out {blocks}` goes on with it")
    assert len(set(starts[1:])) == 1


def test_a_file_that_is_damaged_is_refused_and_says_where(blocks: Path) -> None:
    whole = blocks.read_bytes()
    first = whole.index(b"\n") + 1
    for place in (first, first + 3, first + 5, first + 20, len(whole) - 1):
        blocks.write_bytes(whole[:place] + bytes([whole[place] ^ 0x55]) + whole[place + 1 :])
        with pytest.raises(BadTrace, match=r"trace.moor: the block at byte \d+ is damaged; copy the file"):
            changes_of(blocks)


def test_a_file_with_zeros_at_its_end_is_damaged(blocks: Path) -> None:
    size = blocks.stat().st_size
    blocks.write_bytes(blocks.read_bytes() + bytes(4096))
    with pytest.raises(BadTrace, match=f"the block at byte {size} is damaged"):
        read_trace(blocks)


@pytest.mark.parametrize(
    "content",
    [
        b"\x00\xff",
        b"kind: Node\n",
        b'{"format":"moorage-decision-log"}\n',
        b"[]\n",
        b'{"format":"moorage-trace","version":{"major":1},"began":1}\n',
        b'{"format":"moorage-trace","version":0,"began":1}\n',
        b'{"format":"moorage-trace","version":1,"began":1e300}\n',
    ],
)
def test_another_file_is_no_trace(file: Path, content: bytes) -> None:
    file.write_bytes(content)
    with pytest.raises(BadTrace, match=r"trace.moor: not a trace; give a file that `moorage record` wrote"):
        read_trace(file)


def test_an_empty_file_is_no_trace(file: Path) -> None:
    file.write_bytes(b"")
    with pytest.raises(BadTrace, match="the file is empty"):
        read_trace(file)


@pytest.mark.parametrize(
    "records",
    [
        [[2, 0, 7, {}]],
        [[9, 0, 0]],
        [[1, 0, 3]],
        [[]],
        [[0, 0, {"kind": "Node"}], [1, "x", 0]],
        [[0, 0, {"kind": "Node"}], [1, 0, 0, 3.5]],
        [[0, 0, {"kind": "Node"}], [1, 1 << 62, 0]],
        [[0, 0, {"kind": "Node"}], [1, -(1 << 62), 0]],
    ],
)
def test_records_that_make_no_sense(file: Path, records: list[Any]) -> None:
    line = msgspec.json.encode({"format": "moorage-trace", "version": 1, "began": BEGAN})
    file.write_bytes(line + b"\n" + packed(msgspec.msgpack.encode(records)))
    with pytest.raises(BadTrace, match="block 1 holds what makes no sense"):
        changes_of(file)


# Going on


def test_going_on_with_a_trace(blocks: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING)
    with TraceWriter.resumed(blocks) as trace:
        assert trace.head == HEAD
        assert trace.time == BEGAN + 5
        assert {each["metadata"]["name"] for each in trace.documents()} == {f"node-{i}" for i in range(6)}
        assert not trace.put(BEGAN + 9, node("node-0"))
        assert trace.put(BEGAN + 9, node("node-1", allocatable={"cpu": "8"}))
        assert trace.gone(BEGAN + 9, node("node-2"))
        assert trace.put(BEGAN + 10, node("node-7"))
    assert told(blocks)[6:] == [(9, "node-1", False), (9, "node-2", True), (10, "node-7", False)]
    assert not caplog.messages


def test_going_on_after_a_cut_forgets_what_was_half_written(
    blocks: Path, caplog: pytest.LogCaptureFixture
) -> None:
    blocks.write_bytes(blocks.read_bytes()[:-7])
    with TraceWriter.resumed(blocks) as trace:
        assert len(list(trace.documents())) == 4
        trace.put(BEGAN + 8, node("node-5"))
    assert [key for _, key, _ in told(blocks)] == ["node-0", "node-1", "node-2", "node-3", "node-5"]
    assert not caplog.messages


def test_only_one_writes_to_a_trace(file: Path) -> None:
    with TraceWriter(file, HEAD), pytest.raises(BadTrace, match="another process writes to it; end that one"):
        TraceWriter.resumed(file)
    TraceWriter.resumed(file).close()


def test_going_on_with_what_makes_no_sense(file: Path) -> None:
    line = msgspec.json.encode({"format": "moorage-trace", "version": 1, "began": BEGAN})
    file.write_bytes(line + b"\n" + packed(msgspec.msgpack.encode([[2, 0, 7, {}]])))
    before = file.read_bytes()
    with pytest.raises(BadTrace, match="block 1 holds what makes no sense"):
        TraceWriter.resumed(file)
    assert file.read_bytes() == before


def test_nothing_is_lost_when_a_trace_is_full(file: Path) -> None:
    trace = TraceWriter(file, HEAD, most_bytes=3000)
    put = 0
    with pytest.raises(TraceFull, match=r"trace.moor"):
        for put in range(10_000):
            trace.put(BEGAN + put, node(f"node-{put}"))
    trace.close()
    assert file.stat().st_size <= 3000
    assert len(changes_of(file)) == put > 20
