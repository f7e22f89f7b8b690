"""What the commands that replay share: options, the job that these stand for, and files."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from moorage.cli.completion import files
from moorage.cli.setup import (
    BadInput,
    find_features,
    not_enabled,
    read_input,
    refuse_broken,
    unknown_names,
    unused,
    warn,
)

if TYPE_CHECKING:
    from moorage.framework.loading.registry import Registry
    from moorage.what_if.replay.jobs import Job
    from moorage.what_if.sweeps.runs import Configuration

DEFAULTS = "defaults"
"""What the configuration without a file is called."""

trace_argument = click.argument("trace", shell_complete=files)

nodes_option = click.option(
    "--nodes",
    metavar="FILE",
    shell_complete=files,
    help="Nodes to take the place of those of the trace, in YAML or JSON.",
)

price_option = click.option(
    "--price",
    "prices",
    multiple=True,
    metavar="KEY=VALUE=PRICE|FILE",
    shell_complete=files,
    help="What a node with this label costs per hour, or a YAML file with more of them. Repeatable.",
)

jobs_option = click.option(
    "--jobs", type=click.IntRange(min=1), metavar="N", help="Replays at a time; by default one per core."
)


def read_configuration(
    file: str | None, registry: Registry, added: Sequence[str], features: Sequence[str]
) -> Configuration:
    """A --config, or without one the defaults with what --plugin and --with stand for; raises ConfigError."""
    from moorage.cli.config import check_args
    from moorage.config.load import load, load_document
    from moorage.config.problems import ConfigError
    from moorage.scheduler.profiles import default_document
    from moorage.what_if.sweeps.configurations import profiles_of, score_weights
    from moorage.what_if.sweeps.runs import Configuration

    if file is None:
        wanted = [feature.plugin for feature in find_features(features)]
        document = default_document(registry, list(dict.fromkeys((*wanted, *added))))
        return Configuration(DEFAULTS, document, score_weights(document, registry.points_of()))
    text, name = read_input(file)
    try:
        loaded = load(text, source=name)
        refuse_broken(loaded.config, registry)
        check_args(loaded.config, registry)
        document = load_document(text, source=name).document
        profiles_of(document)
        scoring = score_weights(document, registry.points_of())
    except ConfigError as error:
        raise error.in_file(name) from None
    warn([*loaded.warnings, *unused(loaded.config, added), *unknown_names(loaded.config, registry, name)])
    warn(not_enabled(loaded.config, features, name))
    return Configuration(name, document, scoring)


def base_job(
    trace: str, plugins: Sequence[str], features: Sequence[str], nodes: str | None, prices: Sequence[str]
) -> Job:
    """The job that all others are made of, with whole paths, as it may run elsewhere; raises BadInput."""
    from moorage.what_if.replay.jobs import Job
    from moorage.what_if.sweeps.fingerprints import plugin_file

    return Job(
        trace=str(Path(trace).resolve()),
        plugins=tuple(str(Path(plugin).resolve()) if plugin_file(plugin) else plugin for plugin in plugins),
        features=tuple(features),
        nodes=_checked_nodes(nodes) if nodes is not None else "",
        prices=_read_prices(prices) if prices else (),
    )


def _checked_nodes(file: str) -> str:
    from moorage.what_if.replay.setting_up import BadJob, read_nodes

    try:
        read_nodes(Path(file))
    except BadJob as error:
        raise BadInput(str(error)) from None
    return str(Path(file).resolve())


def _read_prices(texts: Sequence[str]) -> tuple[tuple[str, float], ...]:
    from moorage.what_if.replay.prices import read_prices
    from moorage.what_if.replay.setting_up import BadJob

    try:
        return tuple(price for text in texts for price in read_prices(text))
    except BadJob as error:
        raise BadInput(str(error)) from None


@contextmanager
def problems_of_trace(file: str) -> Iterator[None]:
    """Raises BadInput in place of what reading a trace raises."""
    from moorage.what_if.trace.files import BadTrace

    try:
        yield
    except BadTrace as error:
        raise BadInput(str(error)) from None
    except OSError as error:
        raise BadInput(f"{file}: cannot read the trace: {error.strerror}; check the path") from None


def check_folder(option: str, file: str | None) -> None:
    """Raises BadInput if a file could not be written when the work is done."""
    if file is None:
        return
    path = Path(file)
    if path.is_dir():
        raise BadInput(f"{option} {file}: it is a folder; name a file")
    if not os.access(path if path.exists() else path.resolve().parent, os.W_OK):
        raise BadInput(f"{option} {file}: cannot write there; choose another place")


def write_whole(file: str, text: str) -> None:
    """Writes a file so that nobody ever sees half of it; raises BadInput."""
    try:
        _write_whole(Path(file), text)
    except OSError as error:
        raise BadInput(f"{file}: cannot write the file: {error.strerror}; choose another place") from None


def _write_whole(path: Path, text: str) -> None:
    if path.exists() and not path.is_file():  # such as /dev/stdout
        path.write_text(text)
        return
    new = path.with_name(f".{path.name}.new")
    new.write_text(text)
    new.replace(path)
