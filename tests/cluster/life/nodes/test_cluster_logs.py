from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from moorage.cluster.base.errors import Refusal
from moorage.cluster.life.nodes.logs import LARGEST, Logs
from tests import fake_time
from tests.cluster.life.controllers.worlds import START, clock

WHERE = ("default", "p", "c")


def now() -> float:
    return START


def written(*parts: bytes) -> Logs:
    logs = Logs(now)
    log = logs.open("default", "p", "uid", "c")
    for part in parts:
        log.write(part)
    return logs


def test_lines_are_put_together_from_what_comes() -> None:
    logs = written(b"one\ntw", b"o\nthree")
    assert logs.read(*WHERE) == b"one\ntwo\n"
    assert logs.read(*WHERE, tail_lines=1) == b"two\n"
    assert logs.read(*WHERE, tail_lines=0) == b""
    assert logs.read(*WHERE, limit_bytes=5) == b"one\nt"
    assert logs.read(*WHERE, timestamps=True, tail_lines=1) == b"2027-01-15T08:00:00.000000000Z two\n"


def test_what_is_not_run_has_an_empty_log() -> None:
    assert Logs(now).read(*WHERE) == b""


def test_only_the_last_of_it_is_kept() -> None:
    logs = written(*(b"%07d\n" % number for number in range(LARGEST // 8 + 10)))
    text = logs.read(*WHERE)
    assert len(text) == LARGEST
    assert text.startswith(b"0000010\n")


def test_a_line_without_end_does_not_grow_forever() -> None:
    logs = written(b"x" * 100_000)
    assert len(logs.read(*WHERE)) == 98_304


def test_the_run_before_is_the_previous_one() -> None:
    logs = written(b"first\n")
    with pytest.raises(Refusal) as refusal:
        logs.read(*WHERE, previous=True)
    assert refusal.value.message == 'previous terminated container "c" in pod "p" not found'
    logs.open("default", "p", "uid", "c").write(b"second\n")
    assert logs.read(*WHERE) == b"second\n"
    assert logs.read(*WHERE, previous=True) == b"first\n"


def test_another_pod_of_the_same_name_has_its_own_log() -> None:
    logs = written(b"old\n")
    logs.open("default", "p", "other", "c").write(b"new\n")
    logs.drop("default", "p", "uid")
    assert logs.read(*WHERE) == b"new\n"
    logs.drop("default", "p", "other")
    assert logs.read(*WHERE) == b""


def test_lines_since() -> None:
    async def main() -> None:
        logs = Logs(clock)
        log = logs.open("default", "p", "uid", "c")
        log.write(b"early\n")
        await asyncio.sleep(100)
        log.write(b"late\n")
        assert logs.read(*WHERE, since_seconds=50) == b"late\n"
        assert logs.read(*WHERE, since_time="2027-01-15T08:00:30Z") == b"late\n"
        assert logs.read(*WHERE, since_time="2027-01-15T07:59:00Z") == b"early\nlate\n"

    fake_time.run(main())


def test_following_gives_all_lines_until_the_end() -> None:
    async def main() -> None:
        logs = Logs(clock)
        log = logs.open("default", "p", "uid", "c")
        log.write(b"0\n1\n")

        async def write() -> None:
            for number in range(2, 5):
                log.write(b"%d\n" % number)
                await asyncio.sleep(number % 2)
            log.write(b"end")
            log.close()

        async def collect(lines: AsyncIterator[bytes]) -> bytes:
            return b"".join([text async for text in lines])

        whole, tail, short, _ = await asyncio.gather(
            collect(logs.follow(*WHERE)),
            collect(logs.follow(*WHERE, tail_lines=1)),
            collect(logs.follow(*WHERE, limit_bytes=5)),
            write(),
        )
        assert whole == b"0\n1\n2\n3\n4\nend"
        assert tail == b"1\n2\n3\n4\nend"
        assert short == b"0\n1\n2"
        assert await collect(logs.follow(*WHERE)) == whole

    fake_time.run(main())
