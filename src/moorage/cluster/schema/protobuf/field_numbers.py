"""The recorded numbers of the built-in types' fields.

A file holds the types of one Go package, a line for each: its name, then `field=number`. A field that starts
with `+` is a message of its own whose fields JSON has in the type itself; its name is that of the message.
`tools/record_protobuf.py` writes these files.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

DATA = Path(__file__).with_name("data")


def field_numbers(package: str, type_name: str) -> dict[str, int]:
    """The fields of a type, such as PodSpec of core.v1. Raises LookupError if it is not recorded."""
    _, *fields = _lines(package)[type_name].split(" ")
    return {name: int(number) for name, _, number in (field.partition("=") for field in fields)}


@cache
def _lines(package: str) -> dict[str, str]:
    lines = (DATA / f"{package}.txt").read_text().splitlines()
    return {line.partition(" ")[0]: line for line in lines}
