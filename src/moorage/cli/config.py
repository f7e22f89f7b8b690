"""`moorage config`: check, show and convert scheduler configuration files."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from moorage.config import Loaded
    from moorage.framework.registry import Registry

Command = TypeVar("Command", bound=Callable[..., Any])


@click.group()
def config() -> None:
    """Check, show and convert scheduler configuration files.

    A configuration is a KubeSchedulerConfiguration in YAML or JSON, as kube-scheduler reads it.
    """


def _common(command: Command) -> Command:
    for decorate in (
        click.option("-v", "--verbose", is_flag=True, help="Show a traceback with an error."),
        click.option(
            "--strict-config-version",
            is_flag=True,
            help="Refuse v1beta2 and v1beta3 instead of reading them as v1.",
        ),
        click.option(
            "--plugin",
            "plugins",
            multiple=True,
            metavar="PLUGIN",
            help="Register a plugin: file.py, file.py:Class, module or module:Class. Repeatable.",
        ),
        click.argument("file"),
    ):
        command = decorate(command)
    return command


@config.command()
@_common
def validate(file: str, plugins: tuple[str, ...], strict_config_version: bool, verbose: bool) -> None:
    """Check the configuration FILE (`-` reads standard input).

    Everything wrong with it is printed on standard error, one line each, and the exit code is 1.

    \b
    Example:
      moorage config validate scheduler.yaml --plugin quiet_nodes.py
    """
    with _errors_in_lines(verbose):
        from moorage.config.load import load

        text, name = _read(file)
        loaded = load(text, source=name, strict_version=strict_config_version)
        _check_plugins(loaded, plugins)
        _warn(loaded.warnings)
        click.echo(f"{name}: valid")


@config.command()
@click.option("--expanded", is_flag=True, help="Show which plugins run at each extension point instead.")
@_common
def view(
    file: str, plugins: tuple[str, ...], strict_config_version: bool, verbose: bool, expanded: bool
) -> None:
    """Show the configuration FILE complete with all defaults (`-` reads standard input).

    The output is what kube-scheduler's --write-config-to writes. With --expanded it lists each profile's
    extension points with their plugins in the order in which they run, score plugins with their weights.

    \b
    Example:
      moorage config view scheduler.yaml --expanded
    """
    with _errors_in_lines(verbose):
        from moorage.config.load import load
        from moorage.config.show import show, show_expanded, to_yaml

        text, name = _read(file)
        loaded = load(text, source=name, strict_version=strict_config_version)
        registry = _check_plugins(loaded, plugins)
        _warn(loaded.warnings)
        if expanded:
            document = show_expanded(loaded.config, registry.points_of())
            click.echo(to_yaml(document, sort_keys=False), nl=False)
        else:
            click.echo(to_yaml(show(loaded.config)), nl=False)


@config.command()
@_common
def convert(file: str, plugins: tuple[str, ...], strict_config_version: bool, verbose: bool) -> None:
    """Print the configuration FILE as v1 (`-` reads standard input).

    Reads v1beta2, v1beta3 and v1. Only what the file says is printed, without the defaults; what had to be
    left out is reported on standard error.

    \b
    Example:
      moorage config convert old.yaml > scheduler.yaml
    """
    with _errors_in_lines(verbose):
        from moorage.config.load import load, load_document
        from moorage.config.show import to_yaml

        text, name = _read(file)
        loaded = load(text, source=name, strict_version=strict_config_version)
        _check_plugins(loaded, plugins)
        converted = load_document(text, source=name, strict_version=strict_config_version)
        _warn(converted.warnings)
        click.echo(to_yaml(converted.document, sort_keys=False), nl=False)


def _read(file: str) -> tuple[bytes, str]:
    """The text and the name to report it under."""
    from moorage.config.load import read_file

    if file == "-":
        return sys.stdin.buffer.read(), "<stdin>"
    return read_file(file), file


def _check_plugins(loaded: Loaded, plugins: tuple[str, ...]) -> Registry:
    """Registers the plugins, and raises unless every enabled plugin exists where it is enabled."""
    from moorage.config.expand import expand_all
    from moorage.plugins.catalog import in_tree_registry

    registry = in_tree_registry()
    added = [name for spec in plugins for name in registry.load(spec)]
    expand_all(loaded.config, registry.points_of())
    enabled = {name for profile in loaded.config.profiles for name in profile.plugins.enabled_names()}
    _warn(f"plugin {name} is registered, but no profile enables it" for name in added if name not in enabled)
    return registry


def _warn(warnings: Iterable[str]) -> None:
    for warning in warnings:
        click.echo(f"Warning: {warning}", err=True)


@contextmanager
def _errors_in_lines(verbose: bool) -> Iterator[None]:
    from moorage.config.problems import ConfigError
    from moorage.framework.registry import PluginLoadError

    try:
        yield
    except (ConfigError, PluginLoadError) as error:
        if verbose:
            traceback.print_exc()
        click.echo(str(error), err=True)
        raise click.exceptions.Exit(1) from None
