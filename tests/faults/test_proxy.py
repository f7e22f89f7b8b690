"""The balancer does to connections what the tests of faults say it does."""

import asyncio
import contextlib
import socket
from collections.abc import Iterator

import pytest

from tests.faults.proxy import HOST, Balancer, LoopThread


@contextlib.contextmanager
def echo(name: str) -> Iterator[str]:
    """A server that answers every line with its name and the line."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while line := await reader.readline():
            writer.write(name.encode() + b" " + line)
        writer.close()

    thread = LoopThread()
    server = thread.run(lambda: asyncio.start_server(serve, HOST, 0))
    try:
        yield f"https://{HOST}:{server.sockets[0].getsockname()[1]}"
    finally:
        thread.call(server.close)
        thread.close()


@pytest.fixture
def balancer() -> Iterator[Balancer]:
    with echo("one") as first, echo("two") as second, Balancer(first, second) as running:
        yield running


class Line:
    def __init__(self, balancer: Balancer) -> None:
        self._socket = socket.create_connection((HOST, int(balancer.url.rpartition(":")[2])), timeout=10)

    def __enter__(self) -> "Line":
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.close()

    def say(self, text: str) -> None:
        self._socket.sendall(f"{text}\n".encode())

    def heard(self, seconds: float = 10.0) -> str:
        self._socket.settimeout(seconds)
        return self._socket.recv(1000).decode()

    def asks(self, text: str) -> str:
        self.say(text)
        return self.heard()


def test_connections_are_shared_out_and_counted(balancer: Balancer) -> None:
    with Line(balancer) as first, Line(balancer) as second, Line(balancer) as third:
        assert [each.asks("x") for each in (first, second, third)] == ["one x\n", "two x\n", "one x\n"]
        assert (balancer.connected(0), balancer.connected(1)) == (2, 1)
        assert (balancer.open_connections(0), balancer.open_connections(1)) == (2, 1)


def test_a_frozen_line_holds_back_what_is_said_and_new_ones_go_elsewhere(balancer: Balancer) -> None:
    with Line(balancer) as frozen:
        assert frozen.asks("before") == "one before\n"
        balancer.freeze(0)
        frozen.say("meanwhile")
        with pytest.raises(TimeoutError):
            frozen.heard(0.1)
        for _ in range(2):
            with Line(balancer) as other:
                assert other.asks("x") == "two x\n"
        balancer.thaw(0)
        assert frozen.heard() == "one meanwhile\n"


def test_with_everything_frozen_a_new_connection_hears_nothing(balancer: Balancer) -> None:
    balancer.freeze()
    with Line(balancer) as line:
        line.say("x")
        with pytest.raises(TimeoutError):
            line.heard(0.1)
        balancer.cut()
        with pytest.raises(ConnectionResetError):
            line.heard()
    balancer.thaw()
    with Line(balancer) as line:
        assert line.asks("x").endswith(" x\n")


def test_a_cut_resets_connections_and_takes_new_ones(balancer: Balancer) -> None:
    with Line(balancer) as cut, Line(balancer) as spared:
        assert (cut.asks("x"), spared.asks("x")) == ("one x\n", "two x\n")
        balancer.cut(0)
        with pytest.raises(ConnectionResetError):
            cut.heard()
        assert spared.asks("y") == "two y\n"
    with Line(balancer) as line:
        assert line.asks("x") == "one x\n"


def test_who_refuses_gets_no_new_connection(balancer: Balancer) -> None:
    with Line(balancer) as old:
        assert old.asks("x") == "one x\n"
        balancer.refuse(0)
        with Line(balancer) as line:
            assert line.asks("x") == "two x\n"
        balancer.refuse()
        with pytest.raises(ConnectionResetError), Line(balancer) as line:
            line.heard()
        assert old.asks("y") == "one y\n"
        balancer.accept()
        with Line(balancer) as line:
            assert line.asks("x").endswith(" x\n")
