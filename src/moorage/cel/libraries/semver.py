"""`semver(...)`: versions, and which is the later one."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from typing import Any, ClassVar, TypeAlias

from moorage.api.quantities import wrapped
from moorage.cel.declarations import Function, Library, Overload
from moorage.cel.libraries.call_costs import reading_overload
from moorage.cel.libraries.quoting import printable
from moorage.cel.types import BOOL, INT, Type
from moorage.cel.values import MAX_UINT, EvaluationError

SEMVER_TYPE = Type("kubernetes.Semver")

_DIGITS = re.compile(r"[0-9]*")
_IDENTIFIER = re.compile(r"[0-9A-Za-z-]*")

_Identifier: TypeAlias = tuple[int, int, str]
"""Numbers come before names."""
_Precedence: TypeAlias = tuple[int, int, int, bool, tuple[_Identifier, ...]]
"""A version without identifiers of a pre-release comes after those with."""


class Semver:
    """A version; what was built from what does not tell two apart."""

    __slots__ = ("precedence", "text")

    CEL_TYPE: ClassVar[Type] = SEMVER_TYPE

    def __init__(self, precedence: _Precedence, text: str) -> None:
        self.precedence = precedence
        self.text = text

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Semver) and self.precedence == other.precedence

    def __hash__(self) -> int:
        return hash(self.precedence)

    def __str__(self) -> str:
        return self.text


@lru_cache(maxsize=4096)
def parse_semver(text: str) -> Semver:
    """Three numbers, maybe with a pre-release after `-` and what it was built from after `+`."""
    if not text:
        raise EvaluationError("Version string empty")
    parts = text.split(".", 2)
    if len(parts) != 3:
        raise EvaluationError("No Major.Minor.Patch elements found")
    major, minor = _number("major", parts[0]), _number("minor", parts[1])
    rest, plus, build = parts[2].partition("+")
    patch, minus, prerelease = rest.partition("-")
    patch_number = _number("patch", patch)
    identifiers = tuple(map(_identifier, prerelease.split("."))) if minus else ()
    if plus:
        _check_build(build)
    return Semver((major, minor, patch_number, not identifiers, identifiers), text)


def parse_semver_normalised(text: str, normalise: bool) -> Semver:
    """A `v` before it, leading zeros and missing numbers are allowed if asked for."""
    return parse_semver(_normalised(text) if normalise else text)


def is_semver(text: str, normalise: bool = False) -> bool:
    try:
        parse_semver_normalised(text, normalise)
    except EvaluationError:
        return False
    return True


def compare_to(left: Semver, right: Semver) -> int:
    return (left.precedence > right.precedence) - (left.precedence < right.precedence)


def is_greater_than(left: Semver, right: Semver) -> bool:
    return left.precedence > right.precedence


def is_less_than(left: Semver, right: Semver) -> bool:
    return left.precedence < right.precedence


def major(version: Semver) -> int:
    """Numbers of versions have 64 bits and no sign: the largest come out negative."""
    return wrapped(version.precedence[0])


def minor(version: Semver) -> int:
    return wrapped(version.precedence[1])


def patch(version: Semver) -> int:
    return wrapped(version.precedence[2])


def _normalised(text: str) -> str:
    parts = [_without_leading_zeros(part) for part in text.removeprefix("v").split(".", 2)]
    if len(parts) < 3:
        if "+" in parts[-1] or "-" in parts[-1]:
            raise EvaluationError("short version cannot contain PreRelease/Build meta data")
        parts += ["0"] * (3 - len(parts))
    return ".".join(parts)


def _without_leading_zeros(part: str) -> str:
    if len(part) < 2:
        return part
    stripped = part.lstrip("0")
    return stripped if stripped[:1].isascii() and stripped[:1].isdigit() else "0" + stripped


def _number(name: str, text: str) -> int:
    if _DIGITS.fullmatch(text) is None:
        raise EvaluationError(f"Invalid character(s) found in {name} number {printable(text)}")
    if len(text) > 1 and text[0] == "0":
        raise EvaluationError(f"{name.capitalize()} number must not contain leading zeroes {printable(text)}")
    return _unsigned(text)


def _unsigned(digits: str) -> int:
    if not digits:
        raise EvaluationError('strconv.ParseUint: parsing "": invalid syntax')
    if len(digits) > 20 or int(digits) > MAX_UINT:
        raise EvaluationError(f"strconv.ParseUint: parsing {printable(digits)}: value out of range")
    return int(digits)


def _identifier(text: str) -> _Identifier:
    if not text:
        raise EvaluationError("Prerelease is empty")
    if _DIGITS.fullmatch(text) is not None:
        if len(text) > 1 and text[0] == "0":
            raise EvaluationError(
                f"Numeric PreRelease version must not contain leading zeroes {printable(text)}"
            )
        return 0, _unsigned(text), ""
    if _IDENTIFIER.fullmatch(text) is None:
        raise EvaluationError(f"Invalid character(s) found in prerelease {printable(text)}")
    return 1, 0, text


def _check_build(build: str) -> None:
    for part in build.split("."):
        if not part:
            raise EvaluationError("Build meta data is empty")
        if _IDENTIFIER.fullmatch(part) is None:
            raise EvaluationError(f"Invalid character(s) found in build meta data {printable(part)}")


def _member(name: str, id: str, call: Callable[..., Any], result: Type, count: int) -> Function:
    return Function(name, (Overload(id, (SEMVER_TYPE,) * count, result, call),))


LIBRARY = Library(
    (
        Function(
            "semver",
            (
                reading_overload("string_to_semver", SEMVER_TYPE, parse_semver),
                reading_overload("string_bool_to_semver", SEMVER_TYPE, parse_semver_normalised, BOOL),
            ),
        ),
        Function(
            "isSemver",
            (
                reading_overload("is_semver_string", BOOL, is_semver),
                reading_overload("is_semver_string_bool", BOOL, is_semver, BOOL),
            ),
        ),
        _member("isGreaterThan", "semver_is_greater_than", is_greater_than, BOOL, 2),
        _member("isLessThan", "semver_is_less_than", is_less_than, BOOL, 2),
        _member("compareTo", "semver_compare_to", compare_to, INT, 2),
        _member("major", "semver_major", major, INT, 1),
        _member("minor", "semver_minor", minor, INT, 1),
        _member("patch", "semver_patch", patch, INT, 1),
    )
)
