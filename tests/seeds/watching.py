"""Reading what a `kubectl --watch` prints."""

import subprocess
import threading

SECONDS = 20.0


def lines_until(watch: subprocess.Popen[str], last: str) -> list[str]:
    """The lines that a watch prints up to this one, which has to come."""
    assert watch.stdout is not None
    lines: list[str] = []
    patience = threading.Timer(SECONDS, watch.terminate)
    patience.start()
    try:
        for line in watch.stdout:
            lines.append(line.rstrip("\n"))
            if lines[-1] == last:
                return lines
    finally:
        patience.cancel()
    raise AssertionError(f"no line {last!r} within {SECONDS:.0f} s, only {lines}")
