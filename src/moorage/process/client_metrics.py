"""Metrics of the clients of API servers, under the names that they have in all of Kubernetes."""

from __future__ import annotations

import asyncio
import contextlib
import math
import time
from collections.abc import Callable
from functools import partial
from typing import Any

from moorage.client.observer import ClientObserver
from moorage.process.instruments import Families

_SECONDS = (0.005, 0.025, 0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 15.0, 30.0, 60.0)
_BYTES = (64, 256, 512, 2**10, 2**12, 2**14, 2**16, 2**18, 2**20, 2**22, 2**24)
_HOUR = 3600
_DAY = 24 * _HOUR
_AGES = (600, 1800, _HOUR, 4 * _HOUR, _DAY, 7 * _DAY, *(months * 30 * _DAY for months in (1, 3, 6, 12, 48)))


class ClientMetrics(Families):
    """Counts what clients ask and how they get their credentials; a ClientObserver."""

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        super().__init__()
        self._clock = clock
        self._requests = self.counter(
            "rest_client_requests_total",
            "[ALPHA] Requests, retries and watches included, by the code of the answer.",
            ("code", "method", "host"),
        )
        self._retries = self.counter(
            "rest_client_request_retries_total",
            "[ALPHA] Requests that were sent again, by the code of the answer.",
            ("code", "verb", "host"),
        )
        self._seconds = self.histograms(
            "rest_client_request_duration_seconds",
            "[ALPHA] Duration of a request, the wait for its turn included; watches are left out.",
            _SECONDS,
            ("verb", "host"),
        )
        self._waits = self.histograms(
            "rest_client_rate_limiter_duration_seconds",
            "[ALPHA] How long a request waited because the client may not ask faster (qps and burst).",
            _SECONDS,
            ("verb", "host"),
        )
        self._sent = self.histograms(
            "rest_client_request_size_bytes", "[ALPHA] Size of what was sent.", _BYTES, ("verb", "host")
        )
        self._received = self.histograms(
            "rest_client_response_size_bytes", "[ALPHA] Size of what was answered.", _BYTES, ("verb", "host")
        )
        self._runs = self.counter(
            "rest_client_exec_plugin_call_total",
            "[ALPHA] Runs of the program that prints credentials, by how they ended.",
            ("code", "call_status"),
        )
        self._left = self.gauge(
            "rest_client_exec_plugin_ttl_seconds",
            "[ALPHA] Time until a certificate printed by a program expires; +Inf where there is none.",
        )
        self._ages = self.histograms(
            "rest_client_exec_plugin_certificate_rotation_age",
            "[ALPHA] Age in seconds at which a certificate printed by a program was replaced.",
            _AGES,
        )
        self._expires = math.inf

    def asked(
        self,
        host: str,
        method: str,
        code: str,
        *,
        is_retry: bool,
        waited: float | None,
        seconds: float | None,
        sent: int,
        received: int | None,
    ) -> None:
        self._requests[code, method, host] += 1
        if is_retry:
            self._retries[code, method, host] += 1
        if seconds is None or waited is None:
            return
        labels = (method, host)
        self._seconds[labels].observe(seconds)
        self._waits[labels].observe(waited)
        self._sent[labels].observe(sent)
        if received is not None:
            self._received[labels].observe(received)

    def program_ran(self, code: int, status: str) -> None:
        self._runs[str(code), status] += 1

    def certificate_came(self, expires: float, age_of_last: float | None) -> None:
        self._expires = expires
        if age_of_last is not None:
            self._ages[()].observe(age_of_last)

    def read(self) -> None:
        self._left[()] = self._expires - self._clock()


class InLoop:
    """Passes on what a client in another thread tells, to be counted in the loop that made this."""

    def __init__(self, observer: ClientObserver) -> None:
        self._observer = observer
        self._loop = asyncio.get_running_loop()

    def asked(self, *args: Any, **named: Any) -> None:
        self._pass_on(partial(self._observer.asked, *args, **named))

    def program_ran(self, code: int, status: str) -> None:
        self._pass_on(partial(self._observer.program_ran, code, status))

    def certificate_came(self, expires: float, age_of_last: float | None) -> None:
        self._pass_on(partial(self._observer.certificate_came, expires, age_of_last))

    def _pass_on(self, call: Callable[[], None]) -> None:
        with contextlib.suppress(RuntimeError):  # the loop has ended, and nobody looks at metrics any more
            self._loop.call_soon_threadsafe(call)
