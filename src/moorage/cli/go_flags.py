"""Command lines as Go programs take them, and the values of kube-scheduler's flags."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable, Iterable, Mapping
from typing import IO, TYPE_CHECKING, Any

import click

from moorage.api.durations import Duration
from moorage.cli.kube_flags import KUBE_FLAGS

if TYPE_CHECKING:
    _ParamType = click.ParamType[Any]
else:
    _ParamType = click.ParamType

TRUE, FALSE = ("1", "t", "T", "TRUE", "true", "True"), ("0", "f", "F", "FALSE", "false", "False")


class GoFlags(click.Command):
    """Takes flags the way Go programs do: `-v=5`, `--leader-elect=false`, `-config x`."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        return super().parse_args(ctx, [_doubled(arg) for arg in args])


class KubeFlags(GoFlags):
    """Takes kube-scheduler's flags and ends as it does if they are wrong: with one line and exit code 1."""

    def make_context(self, *args: Any, **more: Any) -> click.Context:
        try:
            return super().make_context(*args, **more)
        except click.UsageError as error:
            raise WrongFlags(error.format_message(), error.ctx) from None

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        return super().parse_args(ctx, _completed([_doubled(arg) for arg in args], self.get_params(ctx)))


class WrongFlags(click.UsageError):
    """A command line that cannot be used."""

    exit_code = 1

    def show(self, file: IO[Any] | None = None) -> None:
        command = self.ctx.command_path if self.ctx else "moorage run"
        click.echo(f"Error: {self.message.rstrip('.')}; `{command} --help` tells the flags", file, err=True)


def _doubled(arg: str) -> str:
    """`-v=5` and `-leader-elect` with two dashes; `-v 5` stays."""
    if re.fullmatch(r"-v=.*", arg) or re.match(r"-[a-z][a-z-]+", arg):
        return f"-{arg}"
    return arg


def _completed(args: list[str], params: Iterable[click.Parameter]) -> list[str]:
    """Names with dashes for underscores, and `--leader-elect=true` for a bare `--leader-elect`.

    As in Go, a boolean takes a value only after `=`, every other flag takes the next word, whatever it is.
    """
    options = [param for param in params if isinstance(param, click.Option)]
    booleans = {name for option in options if isinstance(option.type, Boolean) for name in option.opts}
    switches = {name for option in options if option.is_flag for name in option.opts}
    done: list[str] = []
    words = iter(args)
    for word in words:
        if word == "--":
            return [*done, word, *words]
        name, equals, value = word.partition("=")
        if not name.startswith("--"):
            done.append(word)
            continue
        name = name.replace("_", "-")
        if name in booleans and not equals:
            done.append(f"{name}=true")
        elif equals or name in switches:
            done.append(f"{name}{equals}{value}")
        else:
            done += [name, *(next_word for next_word in [next(words, None)] if next_word is not None)]
    return done


class Checked(_ParamType):
    """A value that Go could read, as text or as what `read` makes of it."""

    def __init__(self, name: str, read: Callable[[str], Any], remedy: str) -> None:
        self.name = name
        self._read, self._remedy = read, remedy

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if not isinstance(value, str):
            return value
        try:
            return self._read(value)
        except ValueError:
            self.fail(f'"{value}" will not do; write {self._remedy}', param, ctx)


class Boolean(Checked):
    """A flag that needs no value."""


def _boolean(text: str) -> bool:
    if text not in TRUE + FALSE:
        raise ValueError
    return text in TRUE


def _integer(bits: int) -> Callable[[str], int]:
    def read(text: str) -> int:
        number = int(text, 0)
        if not -(2 ** (bits - 1)) <= number < 2 ** (bits - 1):
            raise ValueError
        return number

    return read


def _level(text: str) -> int:
    if not text.isdecimal() or int(text) >= 2**31:
        raise ValueError
    return int(text)


def _duration(text: str) -> str:
    Duration.parse(text)
    return text


def _quantity(text: str) -> str:
    from moorage.api.quantities import parse

    parse(text)
    return text


def _numbers(text: str) -> str:
    for part in filter(None, text.split(",")):
        int(part)
    return text


def _pairs(text: str) -> str:
    if any("=" not in part for part in re.split(r",(?=[^,]*=)", text) if part):
        raise ValueError
    return text


def _levels_of_files(text: str) -> str:
    for part in filter(None, text.split(",")):
        pattern, _, level = part.partition("=")
        if not pattern:
            raise ValueError
        _level(level)
    return text


def _version(text: str) -> str:
    if text == "raw" or text.startswith("v"):
        return text
    return "true" if _boolean(text) else "false"


_INT = Checked("INTEGER", _integer(64), "a whole number")
_TYPES: Mapping[str, Checked] = {
    "bool": Boolean("BOOLEAN", _boolean, "true or false"),
    "version": Boolean("VERSION", _version, "nothing, raw or a version"),
    "int": _INT,
    "int32": Checked("INTEGER", _integer(32), "a whole number"),
    "float32": Checked("FLOAT", float, "a number"),
    "Level": Checked("INTEGER", _level, "a whole number from 0 on"),
    "duration": Checked("DURATION", _duration, "it like 30s or 1m30s"),
    "ip": Checked("IP", lambda text: str(ipaddress.ip_address(text)), "an IP address such as 0.0.0.0"),
    "quantity": Checked("SIZE", _quantity, "it like 512 or 4Ki"),
    "int32Slice": Checked("NUMBERS", _numbers, "numbers with commas between them"),
    "stringToString": Checked("PAIRS", _pairs, "key=value pairs"),
    "pattern=N,...": Checked("PATTERNS", _levels_of_files, "pattern=N pairs"),
}
_LISTS = ("strings", "int32Slice", "stringToString", "colonSeparatedMultimapStringString", "pattern=N,...")
"""Kinds whose flags may be given several times: what they say is put together."""
_IN_BRACKETS = ("strings", "int32Slice", "stringToString", "namedCertKey")


def kube_flag(name: str, **more: Any) -> Callable[[Any], Any]:
    """The click option for a flag of kube-scheduler, which is read as there; None unless it is given."""
    kind = KUBE_FLAGS[name].kind
    if kind in _TYPES:
        more["type"] = _TYPES[kind]
    if kind in _LISTS:
        default = more.pop("default", None)
        more |= {"multiple": True, "callback": lambda _ctx, _param, given: ",".join(given) or default}
    names = ("-v", "--v", "verbosity") if name == "v" else (f"--{name}",)
    return click.option(*names, **more)


def shown(flags: Mapping[str, Any]) -> dict[str, str]:
    """The value of each flag of kube-scheduler, given or not, as it would show it."""
    found = {}
    for name, flag in KUBE_FLAGS.items():
        value = flags.get("verbosity" if name == "v" else name.replace("-", "_"))
        found[name] = flag.default if value is None else _text(flag.kind, value)
    return found


def _text(kind: str, value: Any) -> str:
    if kind == "bool":
        return "true" if value else "false"
    if kind == "float32":
        return f"{value:g}"
    if kind == "duration":
        return str(Duration.parse(value))
    if kind == "colonSeparatedMultimapStringString":
        pairs = (part.partition(":") if ":" in part else ("", ":", part) for part in value.split(",") if part)
        return ",".join(
            f"{component.strip()}:{pair.strip()}"
            for component, _, pair in sorted(pairs, key=lambda each: each[0])
        )
    if isinstance(value, tuple | list):
        return f"[{','.join(map(str, value))}]"
    return f"[{value}]" if kind in _IN_BRACKETS else str(value)
