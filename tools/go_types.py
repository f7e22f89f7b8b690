"""Reads struct declarations in Go sources, as far as the Kubernetes API types need it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import NamedTuple


class GoField(NamedTuple):
    go_type: str
    """Without a leading asterisk, and with the names of packages instead of import aliases."""
    pointer: bool
    options: tuple[str, ...]
    inside: str
    """The embedded struct that holds it."""


@dataclass
class GoPackage:
    """The type declarations in one folder."""

    structs: dict[str, str]
    others: dict[str, str]
    imports: dict[str, str]
    """Import alias → path."""


@dataclass(frozen=True)
class Modules:
    folder: Path
    version: str

    @cache  # noqa: B019 - one object lives as long as the program
    def package(self, path: str) -> GoPackage:
        module, _, rest = path.removeprefix("k8s.io/").partition("/")
        folder = self.folder / "k8s.io" / f"{module}@{self.version}" / rest
        structs: dict[str, str] = {}
        others: dict[str, str] = {}
        imports: dict[str, str] = {}
        for file in sorted(folder.glob("*.go")):
            if file.name.startswith(("zz_generated", "generated")) or file.name.endswith("_test.go"):
                continue
            text = re.sub(r"//[^\n`]*$", "", file.read_text(), flags=re.MULTILINE)
            for alias, imported in re.findall(r'^(?:import)?\s+(\w*)\s*"([\w./-]+)"$', text, re.MULTILINE):
                imports[alias or imported.rpartition("/")[2]] = imported
            structs |= dict(
                re.findall(r"^type (\w+) struct ?\{(\}|\n.*?^\})", text, re.MULTILINE | re.DOTALL)
            )
            others |= {
                name: what.strip()
                for name, what in re.findall(r"^type (\w+) ([\w\[\].*]+)\s*$", text, re.MULTILINE)
            }
        return GoPackage(structs, others, imports)

    def fields(self, path: str, struct: str) -> dict[str, GoField]:
        """The fields of a struct by JSON name, those of embedded structs among them."""
        package = self.package(path)
        found: dict[str, GoField] = {}
        for line in package.structs[struct].splitlines():
            match = re.match(r"\s*(?:(\w+)\s+)?(\*?)([\w\[\].*]+)\s+`(.*)`", line)
            if match is None:
                continue
            name, star, go_type, tags = match.groups()
            tag = re.search(r'json:"([^"]*)"', tags)
            json_name, *options = tag.group(1).split(",") if tag else [""]
            if json_name == "-":
                continue
            if not json_name and (not name or "inline" in options):
                alias, _, embedded = go_type.rpartition(".")
                inner = self.fields(package.imports[alias] if alias else path, embedded)
                found |= {
                    key: field._replace(inside=".".join(filter(None, (embedded, field.inside))))
                    for key, field in inner.items()
                }
            elif json_name:
                shown = self._shown(path, package, go_type)
                found[json_name] = GoField(shown, bool(star), tuple(options), "")
        return found

    def _shown(self, path: str, package: GoPackage, go_type: str) -> str:
        def qualified(match: re.Match[str]) -> str:
            alias, name = match.group(1), match.group(2)
            if alias:
                return package.imports[alias[:-1]].rpartition("/")[2] + "." + name
            if name in package.structs or name in package.others:
                return path.rpartition("/")[2] + "." + name
            return "uint8" if name == "byte" else name

        return re.sub(r"(\w+\.)?(\w+)", qualified, go_type)


def go_path(type_name: str) -> str:
    """io.k8s.api.core.v1.Pod → k8s.io/api/core/v1"""
    module, *rest = type_name.removeprefix("io.k8s.").split(".")[:-1]
    return "/".join(["k8s.io", module, *rest])
