"""`moorage config`: check, show and convert scheduler configuration files."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from moorage.cli.completion import files
from moorage.cli.groups import Commands
from moorage.cli.setup import (
    Command,
    errors_in_lines,
    make_registry,
    plugin_option,
    read_input,
    refuse_broken,
    strict_version_option,
    unknown_names,
    unused,
    verbose_option,
    warn,
)

if TYPE_CHECKING:
    from moorage.config import KubeSchedulerConfiguration, Loaded
    from moorage.config.types import Extender
    from moorage.framework.loading.registry import Registry


@click.group(cls=Commands)
def config() -> None:
    """Check, show and convert scheduler configuration files.

    A configuration is a KubeSchedulerConfiguration in YAML or JSON, as kube-scheduler reads it.

    \b
    Examples:
      moorage config validate scheduler.yaml
      moorage config view scheduler.yaml --expanded
      moorage config convert old.yaml > scheduler.yaml
    """


def _common(command: Command) -> Command:
    for decorate in (
        verbose_option,
        strict_version_option,
        plugin_option,
        click.argument("file", shell_complete=files),
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
    with errors_in_lines(verbose, file):
        from moorage.config.load import load

        text, name = read_input(file)
        loaded = load(text, source=name, strict_version=strict_config_version)
        _check_plugins(loaded, plugins, name)
        warn(loaded.warnings)
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
    with errors_in_lines(verbose, file):
        from moorage.config.load import load
        from moorage.config.show import show, show_expanded, to_yaml

        text, name = read_input(file)
        loaded = load(text, source=name, strict_version=strict_config_version)
        registry = _check_plugins(loaded, plugins, name)
        warn(loaded.warnings)
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
    with errors_in_lines(verbose, file):
        from moorage.config.load import load, load_document
        from moorage.config.show import to_yaml

        text, name = read_input(file)
        loaded = load(text, source=name, strict_version=strict_config_version)
        _check_plugins(loaded, plugins, name)
        converted = load_document(text, source=name, strict_version=strict_config_version)
        warn(converted.warnings)
        click.echo(to_yaml(converted.document, sort_keys=False), nl=False)


def _check_plugins(loaded: Loaded, plugins: tuple[str, ...], file: str) -> Registry:
    """Registers the plugins; raises unless each enabled one exists there and can read its args.

    Raises as well if an extender has no usable URL.
    """
    from moorage.config.expand import expand_all

    registry, added = make_registry(plugins)
    refuse_broken(loaded.config, registry)
    expand_all(loaded.config, registry.points_of())
    check_args(loaded.config, registry)
    if loaded.config.extenders:
        _check_extenders(loaded.config.extenders)
    warn([*unused(loaded.config, added), *unknown_names(loaded.config, registry, file)])
    return registry


def _check_extenders(extenders: list[Extender]) -> None:
    from msgspec.structs import replace

    from moorage.framework.extenders.asking import make_extenders

    # Files with certificates may be on another machine.
    make_extenders([replace(extender, tls_config=None) for extender in extenders])


def check_args(config: KubeSchedulerConfiguration, registry: Registry) -> None:
    """Raises ConfigError if a plugin that is not in-tree gets args it cannot read."""
    from moorage.config.args import ARGS_TYPES
    from moorage.config.problems import ConfigError, ConfigProblem
    from moorage.framework.loading.registry import PluginLoadError

    problems: list[ConfigProblem] = []
    for i, profile in enumerate(config.profiles):
        for j, item in enumerate(profile.plugin_config):
            entry = registry.get(item.name)
            if entry is None or item.name in ARGS_TYPES:
                continue
            # Heavy to import, and most configurations have no args of this kind.
            from moorage.framework.loading.plugin_args import decode_args

            try:
                decode_args(entry.load(), item.args)
            except PluginLoadError as error:
                problems.append(ConfigProblem(f"profiles[{i}].pluginConfig[{j}]", f"{item.name}: {error}"))
    if problems:
        raise ConfigError(problems)
