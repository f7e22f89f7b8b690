"""Records the protobuf field numbers of the built-in API types for the embedded cluster.

The numbers stand in the Go declarations of the types, beside the names of the fields in JSON. Which types
there are is known from what `tools/record_schema.py` has recorded. Run it with a Go module cache that holds
the k8s.io modules of the release:

    python tools/record_protobuf.py "$(go env GOMODCACHE)"
"""

from __future__ import annotations

import argparse
import re
from pathlib import Path

SOURCES = Path(__file__).parent.parent / "src/moorage/cluster"
TYPES = SOURCES / "schema/data"
DATA = SOURCES / "schema/protobuf/data"
RELEASE = "v0.36.4"

_STRUCT = re.compile(r"^type (\w+) struct ?\{(?:\n(.*?)^)?\}", re.MULTILINE | re.DOTALL)
_FIELD = re.compile(r"^\t(?:\w+ +)?\*?([\w.\[\]*]+)\s+`([^`]*)`", re.MULTILINE)
_JSON = re.compile(r'json:"([^",]*)')
_NUMBER = re.compile(r'protobuf:"\w+,(\d+)')


def structs(folder: Path) -> dict[str, str]:
    """The bodies of the struct declarations in a Go package, by name."""
    found: dict[str, str] = {}
    for file in sorted(folder.glob("types*.go")):
        found |= dict(_STRUCT.findall(file.read_text()))
    return found


def numbers(body: str) -> list[tuple[int, str]]:
    """The fields of a struct; the name of one that is declared inside another struct is `+` and that one."""
    found = []
    for go_type, tags in _FIELD.findall(body):
        number, name = _NUMBER.search(tags), _JSON.search(tags)
        if number and name:
            found.append((int(number.group(1)), name.group(1) or f"+{go_type}"))
    return sorted(found)


def package_lines(folder: Path, types: list[str]) -> list[str]:
    """A line for each type, and for each struct that is declared inside one of them."""
    declared = structs(folder)
    lines: dict[str, str] = {}
    waiting = list(types)
    while waiting:
        name = waiting.pop()
        fields = numbers(declared[name])
        lines[name] = " ".join([name, *(f"{field}={number}" for number, field in fields)])
        waiting += [field[1:] for _, field in fields if field.startswith("+") and field[1:] not in lines]
    return [line for _, line in sorted(lines.items())]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("modules", type=Path, help="the Go module cache")
    parser.add_argument("--release", default=RELEASE, help="the version of the k8s.io modules")
    parser.add_argument("--output", type=Path, default=DATA)
    arguments = parser.parse_args()
    arguments.output.mkdir(exist_ok=True)
    for file in sorted(TYPES.glob("*.v?.txt")):
        package, *blocks = file.read_text().rstrip().split("\n\n")
        module, *rest = package.removeprefix("io.k8s.").split(".")
        folder = arguments.modules.joinpath("k8s.io", f"{module}@{arguments.release}", *rest)
        types = [re.split(r"\s", block, maxsplit=1)[0] for block in blocks]
        (arguments.output / file.name).write_text("\n".join(package_lines(folder, types)) + "\n")


if __name__ == "__main__":
    main()
