"""What can be wrong with a configuration, in the form and words kube-scheduler uses."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any, NamedTuple


class ConfigProblem(NamedTuple):
    """One thing that is wrong. `path` is the field (`profiles[0].plugins`), empty for the whole file."""

    path: str
    message: str

    def __str__(self) -> str:
        return f"{self.path}: {self.message}" if self.path else self.message


class ConfigError(Exception):
    """A configuration that cannot be used, with everything found wrong in it. `str()` has one line each."""

    def __init__(self, problems: Iterable[ConfigProblem]) -> None:
        self.problems = list(problems)
        super().__init__("\n".join(str(problem) for problem in self.problems))

    def in_file(self, name: str) -> ConfigError:
        """The same with the file before each place, unless it stands there already."""
        return ConfigError(
            problem if problem.path == name else ConfigProblem(name, str(problem))
            for problem in self.problems
        )


def invalid(path: str, value: Any, message: str) -> ConfigProblem:
    return ConfigProblem(path, f"Invalid value: {shown(value)}: {message}")


def required(path: str, message: str = "") -> ConfigProblem:
    return ConfigProblem(path, f"Required value: {message}" if message else "Required value")


def duplicate(path: str, value: Any) -> ConfigProblem:
    return ConfigProblem(path, f"Duplicate value: {shown(value)}")


def unsupported(path: str, value: str, supported: Iterable[str]) -> ConfigProblem:
    choices = ", ".join(shown(choice) for choice in supported)
    return ConfigProblem(path, f"Unsupported value: {shown(value)}: supported values: {choices}")


def forbidden(path: str, message: str) -> ConfigProblem:
    return ConfigProblem(path, f"Forbidden: {message}")


def shown(value: Any) -> str:
    """A value on one line, as JSON; a long one is cut."""
    text = json.dumps(value, default=str, ensure_ascii=False, separators=(",", ":"))
    return text if len(text) <= 400 else text[:397] + "..."


def child(path: str, name: str) -> str:
    return f"{path}.{name}" if path and name else path or name
