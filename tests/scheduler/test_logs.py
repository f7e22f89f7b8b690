"""Structured logs: the lines, the keys, the verbosity."""

from __future__ import annotations

import io
import json
import logging
import os
import re
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from moorage.framework import logger
from moorage.framework.logger import Logger
from moorage.framework.queued_pod import QueuedPod
from moorage.process import logs
from moorage.process.logs import JsonFormatter, TextFormatter
from moorage.state.cluster import ClusterState
from moorage.testing import make_node, make_pod

HEADER = re.compile(r"[IWE]\d{4} \d\d:\d\d:\d\d\.\d{6} \d+ \S+:\d+\] ")


class Output(io.StringIO):
    @property
    def lines(self) -> list[str]:
        return self.getvalue().splitlines()

    @property
    def last(self) -> str:
        """The last line without its header."""
        return HEADER.sub("", self.lines[-1])


@pytest.fixture
def output() -> Iterator[Output]:
    """Everything logged, at verbosity 2."""
    root = logging.getLogger()
    handlers, level, verbosity = root.handlers[:], root.level, logger.verbosity()
    stream = Output()
    logs.configure(verbosity=2, stream=stream)
    yield stream
    root.handlers[:] = handlers
    logger.set_verbosity(verbosity)
    root.setLevel(level)


log = Logger("moorage.test")


def test_the_header(output: Output) -> None:
    log.info(2, "Hello")
    assert HEADER.match(output.lines[0])
    assert f" {os.getpid()} test_logs.py:" in output.lines[0]
    assert output.lines[0].endswith('] "Hello"')


def test_the_time_of_a_record() -> None:
    formatter = TextFormatter(local_time=time.gmtime)
    record = logging.LogRecord("x", logging.WARNING, "/a/b/file.py", 7, "careful", (), None)
    times = [1_700_000_000.25, 1_700_000_000.000001, 1_700_000_001.5]
    found = []
    for record.created in times:
        found.append(formatter.format(record).split(f" {os.getpid()} ")[0])
    assert found == ["W1114 22:13:20.250000", "W1114 22:13:20.000000", "W1114 22:13:21.500000"]


def test_the_severity(output: Output) -> None:
    log.info(0, "a")
    log.warning("b", node="n1")
    log.error(None, "c")
    assert [line[0] for line in output.lines] == ["I", "W", "E"]
    assert output.lines[1].endswith('"b" node="n1"')


def test_an_error_comes_first(output: Output) -> None:
    log.error(ValueError("no such node"), "Binding failed", pod=make_pod("p"))
    assert output.last == '"Binding failed" err="no such node" pod="default/p"'
    log.error("timed out", "Binding failed")
    assert output.last == '"Binding failed" err="timed out"'
    log.error(TimeoutError(), "Binding failed")
    assert output.last == '"Binding failed" err="TimeoutError()"'


def node_info() -> Any:
    state = ClusterState()
    state.put_node(make_node("n1"))
    return state.node("n1")


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("text", '"text"'),
        ('say "x" \\', '"say \\"x\\" \\\\"'),
        ("tab\there", '"tab\\there"'),
        ("", '""'),
        (1, "1"),
        (-0.5, "-0.5"),
        (True, "true"),
        (None, "<nil>"),
        (np.int64(3), "3"),
        (np.float64(0.5), "0.5"),
        (np.bool_(False), "false"),
        (make_pod("p", namespace="ns"), '"ns/p"'),
        (make_node("n1"), '"n1"'),
        (node_info(), '"n1"'),
        (QueuedPod(make_pod("p"), 0.0), '"default/p"'),
        (["a", make_pod("p"), np.int64(3)], '["a","default/p",3]'),
        ({"Score": ["A"], "n": None}, '{"Score":["A"],"n":null}'),
        (ValueError("bad"), '"bad"'),
    ],
)
def test_values(output: Output, value: object, text: str) -> None:
    log.info(0, "m", key=value)
    assert output.last == f'"m" key={text}'


def test_a_text_of_several_lines_is_a_block(output: Output) -> None:
    log.info(0, "Using component config", config="a: 1\nb: 2\n", n=1)
    assert output.getvalue().endswith('"Using component config" config=<\n\ta: 1\n\tb: 2\n > n=1\n')


def test_a_message_stays_on_one_line(output: Output) -> None:
    log.info(0, "one\ntwo 100%", n=1)
    assert output.last == '"one\\ntwo 100%" n=1'


def test_keys_may_be_called_like_anything(output: Output) -> None:
    log.info(0, "m", name="x", args=1, msg=2, message=3, v=4, err=5, self=6)
    assert output.last == '"m" name="x" args=1 msg=2 message=3 v=4 err=5 self=6'


def test_the_verbosity_is_inclusive_and_can_change(output: Output) -> None:
    log.info(2, "shown")
    log.info(3, "hidden")
    assert (log.enabled(2), log.enabled(3)) == (True, False)
    logger.set_verbosity(3)
    log.info(3, "shown now")
    logger.set_verbosity(0)
    log.info(1, "hidden")
    assert [line.split("] ")[1] for line in output.lines] == ['"shown"', '"shown now"']


def test_plain_loggers_look_the_same(output: Output) -> None:
    plain = logging.getLogger("somewhere.else")
    plain.info("pod %s is gone", "p", extra={"nodeName": "n1", "count": 2})
    assert output.last == '"pod p is gone" nodeName="n1" count=2'
    assert "test_logs.py:" in output.lines[0]


def test_debug_of_plain_loggers_needs_verbosity_5(output: Output) -> None:
    plain = logging.getLogger("moorage.profile.default-scheduler")
    plain.debug("hidden")
    logger.set_verbosity(5)
    plain.debug("CRD for node not found", extra={"nodeName": "n1"})
    assert len(output.lines) == 1
    assert output.last == '"CRD for node not found" nodeName="n1"'
    assert output.lines[0][0] == "I"


def test_a_plain_logger_can_be_given_keys_and_verbosity(output: Output) -> None:
    Logger(logging.getLogger("plugin")).info(2, "Scoring node", nodeName="n1")
    assert output.last == '"Scoring node" nodeName="n1"'


def test_an_exception_comes_with_its_traceback(output: Output) -> None:
    try:
        raise KeyError("n1")
    except KeyError:
        logging.getLogger("x").exception("lookup failed")
    text = output.getvalue()
    assert re.search(r'^E.*\] "lookup failed" err="\'n1\'" stacktrace=<$', text, re.MULTILINE)
    assert '\n\t    raise KeyError("n1")\n' in text
    assert text.endswith("\n >\n")


def test_logs_go_to_one_place_only(output: Output) -> None:
    second = Output()
    logs.configure(verbosity=0, stream=second)
    log.info(0, "once")
    assert (len(output.lines), len(second.lines)) == (0, 1)


# JSON


def as_json(output: Output) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(output.lines[-1])
    return found


def test_json(output: Output) -> None:
    logs.configure(verbosity=4, format="json", stream=output)
    log.info(4, "Bound", pod=make_pod("p"), node=make_node("n1"), score=np.int64(3), why=ValueError("x"))
    entry = as_json(output)
    assert abs(entry.pop("ts") / 1000 - time.time()) < 600
    assert entry.pop("caller").startswith("scheduler/test_logs.py:")
    assert entry == {
        "msg": "Bound",
        "v": 4,
        "pod": {"name": "p", "namespace": "default"},
        "node": {"name": "n1"},
        "score": 3,
        "why": "x",
    }


def test_an_error_in_json_has_no_verbosity(output: Output) -> None:
    logs.configure(format="json", stream=output)
    log.error(ValueError("x"), "Failed", pods=[make_pod("p")])
    entry = as_json(output)
    assert (entry["msg"], entry["err"], "v" in entry) == ("Failed", "x", False)
    assert entry["pods"] == [{"name": "p", "namespace": "default"}]


def test_keys_do_not_hide_what_every_entry_has() -> None:
    record = logging.makeLogRecord({"msg": "m", "levelno": logging.INFO, "caller": "me", "v": 9})
    entry = json.loads(JsonFormatter().format(record))
    assert (entry["msg"], entry["v"]) == ("m", 0)
    assert entry["caller"] != "me"


def test_plain_loggers_in_json(output: Output) -> None:
    logs.configure(verbosity=5, format="json", stream=output)
    logging.getLogger("x").debug("m", extra={"queued": QueuedPod(make_pod("p"), 0.0), "at": node_info()})
    entry = as_json(output)
    assert (entry["v"], entry["queued"], entry["at"]) == (
        5,
        {"name": "p", "namespace": "default"},
        {"name": "n1"},
    )
