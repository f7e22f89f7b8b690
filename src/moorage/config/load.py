"""Reading a configuration: text, version, fields, defaults, rules."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

from moorage.config.args import NodeResourcesFitArgs
from moorage.config.convert import (
    OLD_VERSIONS,
    Conversion,
    old_version_problems,
    to_v1,
    version_warning,
    without_addresses,
)
from moorage.config.decode import decode_config
from moorage.config.defaults import complete
from moorage.config.document import Document, DocumentError, read
from moorage.config.feature_gates import FeatureGates
from moorage.config.problems import ConfigError, ConfigProblem, shown
from moorage.config.types import KIND, V1, KubeSchedulerConfiguration
from moorage.config.validate import validate

_WRITE_HEADER = f"begin the file with `apiVersion: {V1}` and `kind: {KIND}`"


class Loaded(NamedTuple):
    config: KubeSchedulerConfiguration
    warnings: list[str]


def load_file(path: str | Path, *, strict_version: bool = False) -> Loaded:
    """`load` for a file."""
    return load(read_file(path), source=str(path), strict_version=strict_version)


def read_file(path: str | Path) -> bytes:
    """The bytes of a configuration file; raises ConfigError if it cannot be read."""
    try:
        return Path(path).read_bytes()
    except OSError as error:
        reason = error.strerror or str(error)
        hint = "; check the path" if isinstance(error, FileNotFoundError) else ""
        raise ConfigError([ConfigProblem(str(path), f"cannot read the file: {reason}{hint}")]) from None


def load(
    text: str | bytes,
    *,
    source: str = "<config>",
    strict_version: bool = False,
    gates: FeatureGates | None = None,
) -> Loaded:
    """Reads a KubeSchedulerConfiguration in YAML or JSON and completes it with the defaults.

    Feature gates that are on may add to these.
    Versions v1beta2 and v1beta3 are read as v1, with a warning, unless `strict_version` is set. Raises
    ConfigError with everything that is wrong. Whether the enabled plugins exist is not asked here but by
    :func:`moorage.config.expand`.
    """
    document, warnings = load_document(text, source=source, strict_version=strict_version)
    config, problems = decode_config(document, V1)
    if not problems:
        complete(config, document, gates)
        problems = validate(config)
    if not problems:
        problems = _ignore_resources_of_extenders(config)
    if problems:
        raise ConfigError(problems)
    return Loaded(config, warnings)


def load_document(text: str | bytes, *, source: str = "<config>", strict_version: bool = False) -> Conversion:
    """Reads a configuration file as it is, converted to v1 if it is older, without any defaults."""
    parsed = _parsed(text, source)
    document = parsed.value
    version = _checked_version(document, source, strict_version)
    problems = [
        ConfigProblem(key.path, f'strict decoding error: line {key.line}: key "{key.key}" already set in map')
        for key in parsed.repeated
    ]
    if version != V1:
        problems += old_version_problems(document, version)
    problems += decode_config(without_addresses(document, version), version)[1]
    if problems:
        raise ConfigError(problems)
    warnings = [f"{source}: only the first YAML document is read"] if parsed.more_follow else []
    if version == V1:
        return Conversion(document, warnings)
    converted = to_v1(document)
    return Conversion(converted.document, [*warnings, version_warning(version), *converted.warnings])


def _parsed(text: str | bytes, source: str) -> Document:
    try:
        parsed = read(text)
    except DocumentError as error:
        raise ConfigError([ConfigProblem(source, f"not valid YAML or JSON: {error}")]) from None
    if parsed.value is None:
        raise ConfigError([ConfigProblem(source, f"the file is empty; {_WRITE_HEADER}")])
    if not isinstance(parsed.value, dict):
        message = f"must be a mapping, got {shown(parsed.value)}; {_WRITE_HEADER}"
        raise ConfigError([ConfigProblem(source, message)])
    return parsed


def _checked_version(document: dict[str, Any], source: str, strict: bool) -> str:
    for name in ("apiVersion", "kind"):
        value = document.get(name)
        if value is None or value == "":
            message = f"Object '{name}' is missing; {_WRITE_HEADER}"
            raise ConfigError([ConfigProblem(source, message)])
        if not isinstance(value, str):
            raise ConfigError([ConfigProblem(name, f"must be text, got {shown(value)}; {_WRITE_HEADER}")])
    version, kind = document["apiVersion"], document["kind"]
    if kind != KIND:
        message = f"couldn't decode as {KIND}, got {version}, Kind={kind}; {_WRITE_HEADER}"
        raise ConfigError([ConfigProblem("kind", message)])
    readable = (V1,) if strict else (V1, *OLD_VERSIONS)
    if version not in readable:
        message = f'no kind "{kind}" is registered for version "{version}"; write {V1}'
        raise ConfigError([ConfigProblem("apiVersion", message)])
    return str(version)


def _ignore_resources_of_extenders(config: KubeSchedulerConfiguration) -> list[ConfigProblem]:
    """What extenders take care of, NodeResourcesFit leaves alone in every profile."""
    ignored = [
        resource.name
        for extender in config.extenders
        for resource in extender.managed_resources
        if resource.ignored_by_scheduler
    ]
    problems = []
    for i, profile in enumerate(config.profiles if ignored else []):
        args = profile.args_of("NodeResourcesFit")
        if isinstance(args, NodeResourcesFitArgs):
            args.ignored_resources = list(ignored)
        else:
            message = "couldn't build extenders: can't find NodeResourcesFitArgs in plugin config"
            problems.append(ConfigProblem(f"profiles[{i}].pluginConfig", message))
    return problems
