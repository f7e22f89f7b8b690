"""A TLS connection in which the caller's certificate is asked for, but not judged.

The ssl module breaks off when a caller shows a certificate whose authority it does not know. Callers may show
one and be known by their token: so the handshake takes any, and authentication finds out what it is worth.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from enum import IntEnum
from functools import cached_property
from typing import Any, Protocol, cast

from cryptography import x509
from OpenSSL import SSL

log = logging.getLogger(__name__)

_PIECE = 2**16


class Phase(IntEnum):
    """What a connection does, in the order in which it would be missed least."""

    IDLE = 0
    """It has been answered and may ask again."""
    CLOSING = 1
    HANDSHAKE = 2
    HEAD = 3
    """It is about to send a request."""
    REQUEST = 4


class Follower(Protocol):
    """Keeps account of connections."""

    def opened(self, connection: TlsConnection) -> None: ...

    def moved_on(self, connection: TlsConnection) -> None:
        """It is in another phase."""

    def closed(self, connection: TlsConnection) -> None: ...


class TlsConnection(asyncio.Protocol):
    """Stands between a TCP connection and the protocol that speaks inside of TLS."""

    def __init__(
        self,
        make_tls: Callable[[str], SSL.Connection],
        make_inside: Callable[[], asyncio.Protocol],
        follower: Follower,
    ) -> None:
        """`make_tls` is given the address that was called; `make_inside` is called after the handshake."""
        self._make_tls, self._make_inside = make_tls, make_inside
        self._inside: asyncio.Protocol | None = None
        self._follower = follower
        self.phase = Phase.HANDSHAKE
        self.certificates: list[x509.Certificate] = []
        """What the caller showed, its own first."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # uvloop's transports are not asyncio's, but have its methods.
        self.tcp = cast(asyncio.Transport, transport)
        self._follower.opened(self)

    def connection_lost(self, error: Exception | None) -> None:
        self._move_on(Phase.CLOSING)
        self._follower.closed(self)
        if self._inside is not None:
            self._inside.connection_lost(error)
        # What refers to one another is in memory until the next garbage collection, which may be far.
        self._inside = None
        self.__dict__.pop("_tls", None)

    @cached_property
    def _tls(self) -> SSL.Connection:
        """Made when it is needed: who only connects costs little."""
        return self._make_tls(str((self.tcp.get_extra_info("sockname") or ("",))[0]))

    def data_received(self, data: bytes) -> None:
        if self.phase is Phase.CLOSING:
            return
        self._tls.bio_write(data)
        if self._inside is None:
            self._inside = self._shake_hands()
        if self._inside is not None:
            self._read(self._inside)

    def eof_received(self) -> None:
        if self._inside is not None:
            self._inside.eof_received()

    def pause_writing(self) -> None:
        if self._inside is not None:
            self._inside.pause_writing()

    def resume_writing(self) -> None:
        if self._inside is not None:
            self._inside.resume_writing()

    def begin_request(self) -> None:
        """The head of a request is there."""
        if self.phase is not Phase.CLOSING:
            self._move_on(Phase.REQUEST)

    def end_request(self) -> None:
        if self.phase is Phase.REQUEST:
            self._move_on(Phase.IDLE)

    def write(self, data: bytes | bytearray | memoryview) -> None:
        if self.phase is Phase.CLOSING:
            return
        rest = memoryview(data)
        try:
            while rest and not self.tcp.is_closing():
                rest = rest[self._tls.send(rest[:_PIECE]) :]
                self._flush()
        except SSL.Error as error:
            self._give_up(error)

    def close(self) -> None:
        """Says goodbye when everything is sent."""
        if self.phase is Phase.CLOSING:
            return
        shaken = self.phase is not Phase.HANDSHAKE
        self._move_on(Phase.CLOSING)
        if shaken:
            try:
                self._tls.shutdown()
                self._flush()
            except SSL.Error as error:
                log.debug("a connection could not say goodbye: %s", error)
        self.tcp.close()

    def abort(self) -> None:
        self._move_on(Phase.CLOSING)
        self.tcp.abort()

    def _shake_hands(self) -> asyncio.Protocol | None:
        """Goes on with the handshake; when it is done, there is somebody inside."""
        try:
            self._tls.do_handshake()
            self.certificates = _shown_by(self._tls)
        except SSL.WantReadError:
            self._flush()
            return None
        except (SSL.Error, ValueError) as error:
            self._flush()  # the alert that says why
            self._give_up(error)
            return None
        self._flush()
        self._move_on(Phase.HEAD)
        inside = self._make_inside()
        inside.connection_made(TlsTransport(self))
        return inside

    def _read(self, inside: asyncio.Protocol) -> None:
        while self.phase is not Phase.CLOSING:
            try:
                data = self._tls.recv(_PIECE)
            except SSL.WantReadError:
                break
            except SSL.ZeroReturnError:
                inside.eof_received()
                self.close()
                break
            except SSL.Error as error:
                self._give_up(error)
                break
            if self.phase is Phase.IDLE:
                self._move_on(Phase.HEAD)
            inside.data_received(data)
        self._flush()

    def _flush(self) -> None:
        while True:
            try:
                data = self._tls.bio_read(_PIECE)
            except SSL.WantReadError:
                return
            self.tcp.write(data)

    def _give_up(self, error: Exception) -> None:
        peer = self.tcp.get_extra_info("peername")
        log.debug("the connection of %s ended: %s", peer[0] if peer else "a caller", error or "TLS error")
        self._move_on(Phase.CLOSING)
        self.tcp.close()

    def _move_on(self, phase: Phase) -> None:
        if phase is not self.phase:
            self.phase = phase
            self._follower.moved_on(self)


def _shown_by(tls: SSL.Connection) -> list[x509.Certificate]:
    own = tls.get_peer_certificate(as_cryptography=True)
    if own is None:
        return []
    # On the server's side the chain does not begin with the caller's own.
    return [own, *(tls.get_peer_cert_chain(as_cryptography=True) or ())]


class TlsTransport(asyncio.Transport):
    """The connection as the protocol inside sees it."""

    def __init__(self, connection: TlsConnection) -> None:
        super().__init__()
        self._connection = connection

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        """`connection` is the TlsConnection; everything else is known to TCP."""
        if name == "connection":
            return self._connection
        return self._connection.tcp.get_extra_info(name, default)

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self._connection.write(data)

    def close(self) -> None:
        self._connection.close()

    def abort(self) -> None:
        self._connection.abort()

    def is_closing(self) -> bool:
        return self._connection.phase is Phase.CLOSING

    def pause_reading(self) -> None:
        self._connection.tcp.pause_reading()

    def resume_reading(self) -> None:
        self._connection.tcp.resume_reading()

    def get_write_buffer_size(self) -> int:
        return self._connection.tcp.get_write_buffer_size()

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        self._connection.tcp.set_write_buffer_limits(high, low)

    def can_write_eof(self) -> bool:
        return False
