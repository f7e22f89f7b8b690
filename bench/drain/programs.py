"""The control plane's programs for a benchmark, and what is said when one of them fails."""

from __future__ import annotations

import sys
from pathlib import Path

from bench.bounds import Unavailable
from moorage.client.errors import ApiError
from tests.controlplane.build import assets, available
from tests.controlplane.go_programs import BuildError
from tests.controlplane.servers import ControlPlaneError

NOT_MEASURED = (ControlPlaneError, ApiError, OSError, ExceptionGroup)
"""What ends the measuring of one case, and of no other."""


def programs() -> Path:
    """The folder with the programs, which the first use on a machine builds."""
    reason = available()
    if reason is not None:
        raise Unavailable(f"{reason}; with Go on PATH, `make controlplane` builds them")
    try:
        found = assets()
    except BuildError as error:
        raise Unavailable(f"{error}; `make controlplane` tries again") from None
    assert found is not None
    return found


def told(error: BaseException) -> str:
    """The error in one line; more of it, such as the end of a log, is printed before."""
    while isinstance(error, ExceptionGroup):
        error = error.exceptions[0]
    line, _, rest = str(error).partition("\n")
    if rest:
        print(rest, file=sys.stderr, flush=True)
    return line.rstrip(":") or type(error).__name__
