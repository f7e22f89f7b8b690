"""What clients tell those who count."""

from __future__ import annotations

from typing import Protocol


class ClientObserver(Protocol):
    """Told of every try of every request, in the thread of the client."""

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
        """The server answered with a code, or did not (`<error>`).

        It took so many `seconds`, of which the client `waited` so many because it may not ask faster; both
        are None for a watch. `sent` and `received` are sizes of bodies.
        """

    def program_ran(self, code: int, status: str) -> None:
        """The program for credentials ended with an exit code; `status` is what kind of end that was."""

    def certificate_came(self, expires: float, age_of_last: float | None) -> None:
        """The program printed a certificate; the one before, if there was one, had reached such an age."""
