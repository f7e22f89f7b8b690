"""The logs that the flags of `moorage run` ask for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from moorage.api import quantities
from moorage.api.durations import Duration
from moorage.cli.setup import BadInput

if TYPE_CHECKING:
    from moorage.cli.running.options import RunOptions

_MOST_COLLECTED = 2 * 1024**3


def check_logs(options: RunOptions) -> None:
    """Refuses what kube-scheduler refuses."""
    if _flush_frequency(options) <= Duration(0):
        raise BadInput(f"--log-flush-frequency: {options.log_flush_frequency}: Must be greater than zero")
    if options.logging_format == "json":
        if not options.gates.enabled("LoggingBetaOptions"):
            raise BadInput("--logging-format: Log format json is disabled, see LoggingBetaOptions feature")
        if options.vmodule:
            raise BadInput("--vmodule: Only supported for text log format; leave it or --logging-format out")
    if options.gates.enabled("LoggingAlphaOptions"):
        return
    for form in ("text", "json"):
        asked = {"split-stream": _splits(options, form), "info-buffer-size": _size(options, form)}
        for name in (name for name, value in asked.items() if value):
            raise BadInput(
                f"--log-{form}-{name}: Feature LoggingAlphaOptions is disabled; "
                "give --feature-gates=LoggingAlphaOptions=true, too"
            )


def configure_logs(options: RunOptions) -> None:
    from moorage.process import logs

    form = options.logging_format
    split = logs.Split(_size(options, form), _flush_frequency(options).seconds)
    logs.configure(
        verbosity=options.verbosity,
        format=form,
        split=split if _splits(options, form) else None,
        files=options.vmodule or "",
    )


def _splits(options: RunOptions, form: str) -> bool:
    return bool(getattr(options, f"log_{form}_split_stream"))


def _size(options: RunOptions, form: str) -> int:
    size = quantities.value(quantities.parse(getattr(options, f"log_{form}_info_buffer_size") or "0"))
    return max(0, min(size, _MOST_COLLECTED))


def _flush_frequency(options: RunOptions) -> Duration:
    return Duration.parse(options.log_flush_frequency or "5s")
