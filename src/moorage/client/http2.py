"""One HTTP/2 connection, as API servers speak it over TLS: many exchanges at a time on one socket.

What is asked in one turn of the event loop leaves in one piece, and what is answered meanwhile comes in one.
It can do no more than it is used for: no pushes, no priorities, no body that does not go into one frame.
"""

from __future__ import annotations

import asyncio
import struct
from collections import deque
from collections.abc import AsyncGenerator, Callable
from typing import NamedTuple, cast

from moorage.client.hpack import status_and_wait

LONGEST_BODY = 2**14
"""What every server takes in one frame, and in the window that a stream has at first."""

_PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
_DATA, _HEADERS, _RESET, _SETTINGS, _PUSH, _PING, _GOAWAY, _WINDOW, _CONTINUATION = 0, 1, 3, 4, 5, 6, 7, 8, 9
_END_STREAM = _ACK = 0x1
_END_HEADERS, _PADDED, _PRIORITY = 0x4, 0x8, 0x20
_REFUSED, _CANCEL = 7, 8
_TABLE_SIZE, _ENABLE_PUSH, _MOST_STREAMS, _INITIAL_WINDOW = 1, 2, 3, 4
_OUR_WINDOW = 2**24  # of each stream: a watch that nobody reads fills no more memory than that
_OUR_WHOLE_WINDOW = 2**30
_FIRST_WINDOW = 2**16 - 1
_MOST_STREAMS_AT_FIRST = 100
_LAST_STREAM = 2**31 - 1
_LONGEST_FRAME = 2**14
_LONGEST_HEAD = 2**16
_SPACE = 2**17
_HELD_UP = 0.1

_frame_head = struct.Struct(">HBBBI")
_number = struct.Struct(">I")
_setting = struct.Struct(">HI")


class HttpAnswer(NamedTuple):
    status: int
    retry_after: float | None
    body: bytes


class ProtocolError(OSError):
    """The server does not keep to the protocol."""


class NotTaken(ConnectionResetError):
    """The server has not looked at the request and never will: it may be sent again as it is."""


class Exchange:
    """A request, and what has come of its answer."""

    __slots__ = (
        "answer",
        "body",
        "check",
        "error",
        "has_ended",
        "head",
        "parts",
        "retry_after",
        "seconds",
        "silence",
        "since",
        "status",
        "stream",
        "unread",
        "wake",
    )

    def __init__(
        self,
        answer: asyncio.Future[HttpAnswer],
        head: bytes,
        body: bytes | None,
        seconds: float,
        check: Callable[[], object] | None = None,
        silence: float | None = None,
    ) -> None:
        self.answer, self.head, self.body, self.seconds, self.check = answer, head, body, seconds, check
        self.silence = silence
        """Given where the answer is its head alone, and the body is read as it comes."""
        self.parts: list[bytes] = []
        self.status = self.stream = self.unread = 0
        self.retry_after: float | None = None
        self.since = 0.0
        """When its time began to count."""
        self.has_ended = False
        self.error: Exception | None = None
        self.wake: asyncio.Future[None] | None = None

    def fail(self, error: Exception) -> None:
        self.error = error
        if not self.answer.done():
            self.answer.set_exception(error)
        self.rouse()

    def rouse(self) -> None:
        wake, self.wake = self.wake, None
        if wake is not None and not wake.done():
            wake.set_result(None)


class Http2Connection(asyncio.BufferedProtocol):
    """Exchanges on one connection. Who asks while the server takes no more of them waits, in order."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.Transport | None = None
        self._waiting: deque[Exchange] = deque()
        self._streams: dict[int, Exchange] = {}
        self._next = 1
        self._most_streams = _MOST_STREAMS_AT_FIRST
        self._window = _FIRST_WINDOW  # how much the server takes of bodies, all together
        self._stream_window = _FIRST_WINDOW
        self._unread = 0
        # A buffer of its own: event loops would make a large new one for each piece they read.
        self._space = memoryview(bytearray(_SPACE))
        self._rest = b""
        self._begun_head: tuple[int, int, bytes] | None = None  # its stream, flags and beginning
        self._out: list[bytes] = []
        self._is_flushing = self._is_paused = False
        self._timer: asyncio.TimerHandle | None = None
        self._timer_at = 0.0
        self.heard_at = self._loop.time()
        self.usable = True
        """Whether new requests may be sent."""
        self.lost: asyncio.Future[None] = self._loop.create_future()

    @property
    def is_busy(self) -> bool:
        return bool(self._streams or self._waiting)

    # Asking

    def ask(
        self, head: bytes, body: bytes | None, seconds: float, check: Callable[[], object] | None
    ) -> Exchange:
        """Has a request sent whose `answer` is to be awaited.

        It ends with TimeoutError so many `seconds` after the request has left. `check` is called when nothing
        but the sending is left, and may raise to prevent it. Who waits no more has to `give_up`.
        """
        exchange = Exchange(self._loop.create_future(), head, body, seconds, check)
        self._put(exchange)
        return exchange

    async def stream(
        self, head: bytes, *, opening: float, silence: float
    ) -> AsyncGenerator[HttpAnswer | bytes, None]:
        """The answer without its body, and then the body in pieces as they come.

        Raises TimeoutError if the first takes longer than `opening`, or nothing more comes for `silence`.
        """
        exchange = Exchange(self._loop.create_future(), head, None, opening, silence=silence)
        self._put(exchange)
        try:
            yield await exchange.answer
            while True:
                if exchange.parts:
                    pieces, exchange.parts = exchange.parts, []
                    piece = pieces[0] if len(pieces) == 1 else b"".join(pieces)
                    self._was_read(exchange, len(piece))
                    yield piece
                elif exchange.error is not None:
                    raise exchange.error
                elif exchange.has_ended:
                    return
                else:
                    exchange.wake = self._loop.create_future()
                    await exchange.wake
        finally:
            self.give_up(exchange)

    def retire(self) -> None:
        """Takes no new requests; those that run are finished, then the connection is closed."""
        self.usable = False
        waiting, self._waiting = self._waiting, deque()
        for exchange in waiting:
            exchange.fail(NotTaken("the connection is not used any more"))
        self._close_if_done()

    def abort(self) -> None:
        self.usable = False
        if self._transport is not None:
            self._transport.abort()

    def give_up(self, exchange: Exchange) -> None:
        """Nobody waits for it any more; the server is told."""
        exchange.answer.cancel()  # one that still waits is passed over
        self._forget(exchange)
        self._close_if_done()

    # Sending

    def _put(self, exchange: Exchange) -> None:
        if not self.usable:
            exchange.fail(NotTaken("the connection is closed"))
            return
        self._waiting.append(exchange)
        exchange.since = self._loop.time()
        self._watch_time(exchange.since + exchange.seconds)
        self._flush_soon()

    def _send(self, frame: bytes) -> None:
        self._out.append(frame)
        self._flush_soon()

    def _flush_soon(self) -> None:
        if not self._is_flushing:
            self._is_flushing = True
            self._loop.call_soon(self._flush)

    def _flush(self) -> None:
        self._is_flushing = False
        if self._is_paused or self._transport is None or self._transport.is_closing():
            return
        waiting, streams, out = self._waiting, self._streams, self._out
        now = self._loop.time()
        while waiting and len(streams) < self._most_streams:
            exchange = waiting[0]
            size = len(exchange.body or b"")
            if size > self._window and not exchange.answer.done():
                break
            waiting.popleft()
            if exchange.answer.done():  # nobody waits for it any more
                continue
            try:
                if size > self._stream_window:
                    raise ProtocolError("the server takes no body of that size")
                if exchange.check is not None:
                    exchange.check()
            except Exception as error:
                exchange.fail(error)
                continue
            stream = exchange.stream = self._next
            self._next += 2
            streams[stream] = exchange
            exchange.since = now
            head, body = exchange.head, exchange.body
            flags = _END_HEADERS if body else _END_HEADERS | _END_STREAM
            out += (_frame_head.pack(len(head) >> 8, len(head) & 0xFF, _HEADERS, flags, stream), head)
            if body:
                self._window -= size
                out += (_frame_head.pack(size >> 8, size & 0xFF, _DATA, _END_STREAM, stream), body)
        if out:
            self._transport.write(b"".join(out))
            out.clear()
        if self._next > _LAST_STREAM:
            self.retire()

    def pause_writing(self) -> None:
        self._is_paused = True

    def resume_writing(self) -> None:
        self._is_paused = False
        self._flush_soon()

    # Time

    def _watch_time(self, deadline: float) -> None:
        """Has one timer for all of them, which fires when the first is due."""
        if self._timer is None or deadline < self._timer_at:
            if self._timer is not None:
                self._timer.cancel()
            self._timer, self._timer_at = self._loop.call_at(deadline, self._look_for_late), deadline

    def _look_for_late(self) -> None:
        self._timer = None
        now = self._loop.time()
        if now - self._timer_at > _HELD_UP:
            # This process was, and not the server: what has come meanwhile is read before anything is judged.
            self._watch_time(now + _HELD_UP / 2)
            return
        late = [each for each in self._streams.values() if each.since + each.seconds <= now]
        for exchange in late:
            self._forget(exchange)
            exchange.fail(TimeoutError())
        waits = self._waiting[0] if self._waiting and not self._streams else None
        if waits is not None and waits.since + waits.seconds <= now:
            late.append(waits)
        # Behind one address there may be several servers: others are asked what this one does not answer.
        if late:
            self.retire()
        if any(each.since >= self.heard_at for each in late):
            # Nothing at all came since then. What may not have left yet is not to leave any more.
            self._fail(ConnectionResetError("the server says nothing any more"))
        elif pending := self._streams.values() or self._waiting:
            self._watch_time(min(each.since + each.seconds for each in pending))

    # What the server says

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # uvloop's transports are not asyncio's, but have its methods.
        self._transport = cast("asyncio.Transport", transport)
        # What cannot leave yet stays here, where `check` is asked when it can.
        self._transport.set_write_buffer_limits(high=1)
        ours = ((_TABLE_SIZE, 0), (_ENABLE_PUSH, 0), (_INITIAL_WINDOW, _OUR_WINDOW))
        settings = b"".join(_setting.pack(*each) for each in ours)
        window = _number.pack(_OUR_WHOLE_WINDOW - _FIRST_WINDOW)
        self._send(_PREFACE + _frame(_SETTINGS, 0, 0, settings) + _frame(_WINDOW, 0, 0, window))

    def connection_lost(self, error: Exception | None) -> None:
        self.usable = False
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if not isinstance(error, OSError):
            error = ConnectionResetError("the server closed the connection")
        streams, self._streams = self._streams, {}
        for exchange in streams.values():
            exchange.fail(error)
        self.retire()
        if not self.lost.done():
            self.lost.set_result(None)

    def get_buffer(self, sizehint: int) -> memoryview:
        return self._space

    def buffer_updated(self, nbytes: int) -> None:
        self.heard_at = self._loop.time()
        data = self._rest + self._space[:nbytes] if self._rest else bytes(self._space[:nbytes])
        at, size = 0, len(data)
        try:
            while size - at >= 9:
                high, low, kind, flags, stream = _frame_head.unpack_from(data, at)
                end = at + 9 + (high << 8 | low)
                if end > size:
                    if end - at - 9 > _LONGEST_FRAME:
                        raise ValueError("a frame is too long")
                    break
                self._take(kind, flags, stream & _LAST_STREAM, data[at + 9 : end])
                at = end
        except (ValueError, IndexError, struct.error) as error:
            self._fail(ProtocolError(f"the server's answer is not HTTP/2: {error}"))
            return
        self._rest = data[at:]
        if self._waiting:
            self._flush_soon()
        if not self.usable:
            self._close_if_done()

    def _take(self, kind: int, flags: int, stream: int, payload: bytes) -> None:
        if self._begun_head is not None and kind != _CONTINUATION:
            raise ValueError("a head is cut short")
        if kind == _DATA:
            self._take_body(flags, stream, payload)
        elif kind == _HEADERS:
            if flags & _PADDED:
                payload = _without_padding(payload)
            if flags & _PRIORITY:
                payload = payload[5:]
            self._take_head(flags, flags, stream, payload)
        elif kind == _CONTINUATION:
            if self._begun_head is None or self._begun_head[0] != stream:
                raise ValueError("a head begins in its middle")
            _, first_flags, begun = self._begun_head
            if len(begun) > _LONGEST_HEAD:
                raise ValueError("a head is too long")
            self._begun_head = None
            self._take_head(first_flags, flags, stream, begun + payload)
        elif kind == _RESET:
            self._take_reset(stream, *_number.unpack(payload))
        elif kind == _SETTINGS:
            if not flags & _ACK:
                self._take_settings(payload)
        elif kind == _PING:
            if not flags & _ACK:
                self._send(_frame(_PING, _ACK, 0, payload))
        elif kind == _GOAWAY:
            self._take_farewell(_number.unpack_from(payload)[0] & _LAST_STREAM)
        elif kind == _WINDOW:
            if not stream:
                self._window += _number.unpack(payload)[0] & _LAST_STREAM
        elif kind == _PUSH:
            raise ValueError("something is pushed")

    def _take_head(self, flags: int, last_flags: int, stream: int, block: bytes) -> None:
        """`flags` are those of the first frame of the head, `last_flags` those of the last so far."""
        if not last_flags & _END_HEADERS:
            self._begun_head = stream, flags, block
            return
        exchange = self._streams.get(stream)
        if exchange is None:
            if stream >= self._next:
                raise ValueError("an answer to nothing")
            return
        if not exchange.status:
            status, retry_after = status_and_wait(block)
            if status < 200:  # a word in between; the answer follows
                return
            exchange.status, exchange.retry_after = status, retry_after
            if exchange.silence is not None:
                exchange.seconds = exchange.silence
                exchange.since = self.heard_at
                if not exchange.answer.done():
                    exchange.answer.set_result(HttpAnswer(status, retry_after, b""))
        elif not flags & _END_STREAM:
            raise ValueError("an answer has two heads")
        if flags & _END_STREAM:
            self._end(exchange)

    def _take_body(self, flags: int, stream: int, payload: bytes) -> None:
        self._unread += len(payload)
        if self._unread > _OUR_WHOLE_WINDOW // 2:
            self._send(_frame(_WINDOW, 0, 0, _number.pack(self._unread)))
            self._unread = 0
        exchange = self._streams.get(stream)
        if exchange is None:
            if stream >= self._next:
                raise ValueError("an answer to nothing")
            return
        if not exchange.status:
            raise ValueError("an answer has no head")
        size = len(payload)
        if flags & _PADDED:
            payload = _without_padding(payload)
        exchange.parts.append(payload)
        if flags & _END_STREAM:
            self._end(exchange)
        elif exchange.silence is not None:
            exchange.since = self.heard_at
            exchange.unread += size - len(payload)
            exchange.rouse()
        else:
            self._was_read(exchange, size)

    def _end(self, exchange: Exchange) -> None:
        del self._streams[exchange.stream]
        exchange.has_ended = True
        if exchange.silence is not None:
            exchange.rouse()
        elif not exchange.answer.done():
            body = b"".join(exchange.parts)
            exchange.answer.set_result(HttpAnswer(exchange.status, exchange.retry_after, body))

    def _was_read(self, exchange: Exchange, size: int) -> None:
        exchange.unread += size
        if exchange.unread > _OUR_WINDOW // 2 and not exchange.has_ended:
            self._send(_frame(_WINDOW, 0, exchange.stream, _number.pack(exchange.unread)))
            exchange.unread = 0

    def _take_reset(self, stream: int, code: int) -> None:
        exchange = self._streams.pop(stream, None)
        if exchange is not None:
            refused = code == _REFUSED
            exchange.fail(
                NotTaken("the server refused the request")
                if refused
                else ConnectionResetError(f"the server broke off the answer (HTTP/2 error {code})")
            )

    def _take_settings(self, payload: bytes) -> None:
        for name, value in _setting.iter_unpack(payload):
            if name == _MOST_STREAMS:
                self._most_streams = value
            elif name == _INITIAL_WINDOW:
                self._stream_window = value
        self._send(_frame(_SETTINGS, _ACK, 0))

    def _take_farewell(self, last: int) -> None:
        for stream in [stream for stream in self._streams if stream > last]:
            self._streams.pop(stream).fail(NotTaken("the server goes away"))
        self.retire()

    # The end

    def _forget(self, exchange: Exchange) -> None:
        """Whatever comes for it later is passed over."""
        if self._streams.pop(exchange.stream, None) is not None:
            self._send(_frame(_RESET, 0, exchange.stream, _number.pack(_CANCEL)))

    def _fail(self, error: Exception) -> None:
        streams, self._streams = self._streams, {}
        for exchange in streams.values():
            exchange.fail(error)
        self.abort()

    def _close_if_done(self) -> None:
        if not self.usable and not self._streams:
            self.abort()


def _frame(kind: int, flags: int, stream: int, payload: bytes = b"") -> bytes:
    return _frame_head.pack(len(payload) >> 8, len(payload) & 0xFF, kind, flags, stream) + payload


def _without_padding(payload: bytes) -> bytes:
    padding = payload[0]
    if padding >= len(payload):
        raise ValueError("a frame is all padding")
    return payload[1 : len(payload) - padding]
