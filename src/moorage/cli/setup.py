"""What the commands share: their options, the plugins and the configuration these stand for, and errors."""

from __future__ import annotations

import logging
import sys
import traceback
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import click

from moorage.cli.completion import features, files

if TYPE_CHECKING:
    from moorage.config import KubeSchedulerConfiguration
    from moorage.config.feature_gates import FeatureGates
    from moorage.contrib.features import Feature
    from moorage.framework.extension_points import Plugin
    from moorage.framework.loading.registry import Registry

Command = TypeVar("Command", bound=Callable[..., Any])

verbose_option = click.option("-v", "--verbose", is_flag=True, help="Show a traceback with an error.")

plugin_option = click.option(
    "--plugin",
    "plugins",
    multiple=True,
    metavar="PLUGIN",
    shell_complete=files,
    help="Register a plugin: a file, a folder that is a package or a project with one, or a module; "
    "with :Class, one class of it. Repeatable.",
)

with_option = click.option(
    "--with",
    "features",
    multiple=True,
    metavar="NAMES",
    shell_complete=features,
    help="Turn on what comes with Moorage and is off by default: coscheduling (gangs of pods) or capacity "
    "(quotas that lend), with a comma between them. Repeatable.",
)

strict_version_option = click.option(
    "--strict-config-version",
    is_flag=True,
    help="Refuse v1beta2 and v1beta3 instead of reading them as v1.",
)


def span_in_seconds(what: str, examples: str) -> Callable[..., float | None]:
    """For options whose value is a time above zero; `what` it is and `examples` go into the refusal."""

    def parsed(context: click.Context, parameter: click.Parameter, text: str | None) -> float | None:
        from moorage.api.durations import Duration, DurationError

        if text is None:
            return None
        try:
            seconds = Duration.parse(text).seconds
        except DurationError:
            seconds = 0.0
        if seconds <= 0:
            raise click.BadParameter(f"'{text}' is no {what}; write it like {examples}")
        return seconds

    return parsed


def limit_in_seconds(context: click.Context, parameter: click.Parameter, text: str) -> float:
    """For options that limit a time; 0 for none."""
    from moorage.api.durations import Duration, DurationError

    try:
        seconds = Duration.parse(text).seconds
    except DurationError:
        seconds = -1.0
    if seconds < 0:
        raise click.BadParameter(f"'{text}' is no limit; write it like 10s or 1m30s, or 0 for none")
    return seconds


def as_bytes(context: click.Context, parameter: click.Parameter, text: str) -> int:
    """Reads the amount of an option."""
    from moorage.api.quantities import QuantityError, quantity_value

    try:
        size = quantity_value(text)
    except QuantityError:
        raise click.BadParameter(f"'{text}' is no amount; give one such as 64Mi") from None
    if size < 0:
        raise click.BadParameter(f"'{text}' is negative; give an amount such as 64Mi")
    return size


plugin_timeout_option = click.option(
    "--plugin-timeout",
    default="10s",
    show_default=True,
    metavar="DURATION",
    callback=limit_in_seconds,
    help="Interrupt a plugin's call that takes longer; 0 never does.",
)

config_option = click.option(
    "--config",
    "config_file",
    metavar="FILE",
    shell_complete=files,
    help="A KubeSchedulerConfiguration; without it the default profile, with each --plugin everywhere.",
)


devices_option = click.option(
    "--devices",
    multiple=True,
    metavar="NAME=COUNT|FILE",
    shell_complete=files,
    help="Devices that pods can claim: so many on every node, such as gpu=8, or a YAML file of "
    "ResourceSlices, with $(NODE_NAME) for the node's name, and DeviceClasses. Repeatable.",
)

PENDING = 3
"""The exit code where everything worked and a pod still has no node."""

output_option = click.option(
    "-o", "--output", type=click.Choice(["table", "json"]), default="table", show_default=True
)


class Setup(NamedTuple):
    registry: Registry
    config: KubeSchedulerConfiguration


def make_registry(plugins: Iterable[str | type[Plugin]]) -> tuple[Registry, list[str]]:
    """As `register`, with a warning for each plugin of an installed package that cannot be used."""
    registry, added = register(plugins)
    warn(f"{broken.error}; it is left out" for broken in registry.broken)
    return registry, added


def register(plugins: Iterable[str | type[Plugin]]) -> tuple[Registry, list[str]]:
    """All plugins: in-tree, of installed packages, and the given ones, whose names are returned too."""
    from moorage.plugins.catalog import in_tree_registry

    registry = in_tree_registry()
    registry.load_entry_points()
    added: list[str] = []
    for plugin in plugins:
        if isinstance(plugin, str):
            added += registry.load(plugin)
        else:
            added.append(registry.add_class(plugin, plugin.__module__).name)
    return registry, added


def set_up(
    config_file: str | None,
    plugins: Iterable[str | type[Plugin]],
    *,
    features: Iterable[str] = (),
    strict_version: bool = False,
    gates: FeatureGates | None = None,
) -> Setup:
    """The registry and the configuration that --config, --plugin and --with stand for."""
    from moorage.config.load import load
    from moorage.scheduler.profiles import default_configuration

    wanted = [feature.plugin for feature in find_features(features)]
    registry, added = make_registry(plugins)
    if config_file is None:
        enabled = list(dict.fromkeys((*wanted, *added)))
        return Setup(registry, default_configuration(registry, enabled, gates))
    text, name = read_input(config_file)
    loaded = load(text, source=name, strict_version=strict_version, gates=gates)
    refuse_broken(loaded.config, registry)
    warn(loaded.warnings)
    warn([*unused(loaded.config, added), *unknown_names(loaded.config, registry, name)])
    warn(not_enabled(loaded.config, features, name))
    return Setup(registry, loaded.config)


def find_features(names: Iterable[str]) -> list[Feature]:
    """What --with stands for, in the order in which the plugins run; raises BadInput."""
    from moorage.contrib.features import FEATURES

    given = [name for text in names for name in text.split(",")]
    known = {feature.name: feature for feature in FEATURES}
    for name in given:
        if name not in known:
            raise BadInput(f"--with: there is no {name!r}; choose of {', '.join(sorted(known))}")
    return [feature for feature in FEATURES if feature.name in given]


def not_enabled(config: KubeSchedulerConfiguration, features: Iterable[str], file: str) -> list[str]:
    """A warning for each plugin that --with stands for and that a configuration leaves out."""
    enabled = {name for profile in config.profiles for name in profile.plugins.enabled_names()}
    return [
        f"--with {feature.name}: no profile of {file} enables the plugin {feature.plugin}"
        for feature in find_features(features)
        if feature.plugin not in enabled
    ]


def read_gates(pairs: str, *versions: str) -> FeatureGates:
    """What --feature-gates stands for."""
    from moorage.config.feature_gates import FeatureGateError, FeatureGates

    try:
        return FeatureGates(pairs, *versions)
    except FeatureGateError as error:
        raise BadInput(f"--{error.flag}: {error}") from None


def unused(config: KubeSchedulerConfiguration, added: Iterable[str]) -> list[str]:
    """A warning for each plugin that was given and runs nowhere."""
    enabled = {name for profile in config.profiles for name in profile.plugins.enabled_names()}
    return [
        f"plugin {name} is registered, but no profile enables it" for name in added if name not in enabled
    ]


def unknown_names(config: KubeSchedulerConfiguration, registry: Registry, file: str) -> Iterator[str]:
    """A warning for each name that no plugin has, where kube-scheduler lets it pass without a word."""
    from moorage.config.remedies import did_you_mean

    known = [entry.name for entry in registry]
    for i, profile in enumerate(config.profiles):
        names = {
            f"plugins.{point}.disabled[{j}]": ref.name
            for point, plugin_set in profile.plugins.sets().items()
            for j, ref in enumerate(plugin_set.disabled)
        }
        names |= {f"pluginConfig[{j}]": item.name for j, item in enumerate(profile.plugin_config)}
        for place, name in names.items():
            if name != "*" and name not in registry:
                remedy = did_you_mean(name, known)
                yield f"{file}: profiles[{i}].{place}: no plugin is called {name}{remedy}"


def refuse_broken(config: KubeSchedulerConfiguration, registry: Registry) -> None:
    """Raises ConfigError if a profile enables the plugin of an installed package that cannot be loaded."""
    from moorage.config.problems import ConfigError, ConfigProblem

    enabled = {name for profile in config.profiles for name in profile.plugins.enabled_names()}
    problems = [
        ConfigProblem("", f"plugin {name}: {broken.error}")
        for broken in registry.broken
        for name in broken.names
        if name in enabled and name not in registry
    ]
    if problems:
        raise ConfigError(problems)


def read_input(file: str) -> tuple[bytes, str]:
    """The bytes of a file, or of standard input for `-`, and the name to report them under."""
    from moorage.config.load import read_file

    if file == "-":
        return sys.stdin.buffer.read(), "<stdin>"
    return read_file(file), file


def print_json(document: Any) -> None:
    """One line, as programs like it best, and without anything that would move a terminal's cursor."""
    import msgspec

    text = msgspec.json.encode(document).decode()
    if not text.isprintable():
        import json

        text = "".join(each if each.isprintable() else json.dumps(each)[1:-1] for each in text)
    click.echo(text)


def warn(warnings: Iterable[str]) -> None:
    for warning in warnings:
        click.echo(f"Warning: {warning}", err=True)


@contextmanager
def errors_in_lines(verbose: bool, config_file: str | None = None) -> Iterator[None]:
    """Bad input ends the command with one line per problem and exit code 1.

    `config_file` is the file that has the problems of the configuration.
    """
    from moorage.config.problems import ConfigError
    from moorage.framework.loading.registry import PluginLoadError

    try:
        yield
    except (ConfigError, PluginLoadError, BadInput) as error:
        if verbose:
            traceback.print_exc()
        if isinstance(error, ConfigError) and config_file is not None:
            error = error.in_file("<stdin>" if config_file == "-" else config_file)
        click.echo(str(error), err=True)
        raise click.exceptions.Exit(1) from None


@contextmanager
def quiet_scheduler(verbose: bool) -> Iterator[None]:
    """Keeps a scheduler in memory from logging what becomes of each pod: the report tells."""
    logger = logging.getLogger("moorage.scheduler")
    before = logger.level
    logger.setLevel(before if verbose else logging.CRITICAL)
    try:
        yield
    finally:
        logger.setLevel(before)


class BadInput(Exception):
    """Input that cannot be used; the text is one line that names the place and what to do."""
