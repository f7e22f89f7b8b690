"""What fields of the built-in types must keep to, and what they are if they are absent: the facts.

A file of `rules` goes with the file of recorded types that has its name. A block starts with the name of a
type; what follows it are facts about the whole kind, as words or `word=value`; `like=` names a type of the
same package whose lines hold, too, for fields that have none here. Each line below is about one field, and
says, with ` | ` between, what holds for it:

     name required | dns-label
     replicas? min 0
     template.spec.restartPolicy default "Always" | one-of Always

A path may lead into other types: `a.b`, `a[]` for every item of a list, `a[-]` for the same where messages
do not say which item it is, `a{}` for every value of a map. What a line says holds for values that are not
empty; with `?` behind the path, for all that are present; with `!`, for absent ones, too, which then count as
"" or 0. Words in quotes are one; the last one is the message where a rule can have one of its own.
`checking` knows the rules by their names, and `forms` the forms that texts can have.

Broken rules are told in the order of the lines. ` ports below` says where those come that are broken inside a
field, and ` . related ports` where a function of this name that relates fields is asked; what has no such
line comes last, related fields first.

The lines of a type hold wherever the type is met, but not below a field that is marked `unchecked`, nor in a
status, which only the server writes, nor in metadata, for which there are further rules. The fact `first-of=`
names fields of which an object has one; if it has more, only the first is checked, in the place of
` . related alternatives`. The fact `called=` is another name by which messages know its place.
"""

from __future__ import annotations

import json
import shlex
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

RULES = Path(__file__).with_name("rules")

DEFAULTS = ("default", "default!")
UNCHECKED = "unchecked"
BELOW = "below"
RELATED = "related"


class Step(NamedTuple):
    """One name of a path, and whether it goes on with each of the values below it: "", "[]", "[-]", "{}"."""

    name: str
    each: str


class Rule(NamedTuple):
    name: str
    words: tuple[str, ...]


class Line(NamedTuple):
    path: tuple[Step, ...]
    holds_for: str
    """"" for values that are not empty, "?" for those that are present, "!" for all."""
    rules: tuple[Rule, ...]

    @property
    def is_unchecked(self) -> bool:
        return any(rule.name == UNCHECKED for rule in self.rules)

    @property
    def is_about_relations(self) -> bool:
        return self.rules[0].name == RELATED


class TypeRules(NamedTuple):
    facts: dict[str, str]
    lines: tuple[Line, ...]

    @property
    def alternatives(self) -> dict[str, int]:
        """Fields of which there is to be one only, with their places in the order that tells the first."""
        named = self.facts.get("first-of")
        return {name: place for place, name in enumerate(named.split(","))} if named else {}

    def default_values(self) -> list[tuple[tuple[Step, ...], Any, bool]]:
        """What absent fields become; the last tells whether empty ones count as absent."""
        return [
            (line.path, json.loads(rule.words[0]), rule.name.endswith("!"))
            for line in self.lines
            for rule in line.rules
            if rule.name in DEFAULTS
        ]


NONE = TypeRules({}, ())


def rules_of(type_name: str) -> TypeRules:
    """The rules of a built-in type, such as core.v1.PodSpec."""
    package, _, name = type_name.rpartition(".")
    return _package(package).get(name, NONE)


@cache
def _package(package: str) -> dict[str, TypeRules]:
    file = RULES / f"{package}.txt"
    blocks = file.read_text().strip().split("\n\n") if file.is_file() else ()
    found = dict(_block(block) for block in blocks)
    for name, rules in found.items():
        if "like" in rules.facts:
            found[name] = _with_those_of(found[rules.facts["like"]], rules)
    return found


def _block(block: str) -> tuple[str, TypeRules]:
    head, *lines = block.split("\n")
    name, *words = shlex.split(head)
    facts = {word: value for word, _, value in (each.partition("=") for each in words)}
    return name, TypeRules(facts, tuple(_line(line) for line in lines if not line.lstrip().startswith("#")))


def _with_those_of(other: TypeRules, rules: TypeRules) -> TypeRules:
    own = {line.path for line in rules.lines}
    return TypeRules(rules.facts, (*(line for line in other.lines if line.path not in own), *rules.lines))


def _line(text: str) -> Line:
    path, _, rest = text.strip().partition(" ")
    holds_for = path[-1] if path[-1] in "?!" else ""
    rules = tuple(_rule(part) for part in rest.split(" | "))
    return Line(tuple(_step(name) for name in path.rstrip("?!").split(".")), holds_for, rules)


def _step(text: str) -> Step:
    for each in ("[]", "[-]", "{}"):
        if text.endswith(each):
            return Step(text.removesuffix(each), each)
    return Step(text, "")


def _rule(text: str) -> Rule:
    if text.startswith(DEFAULTS):  # JSON has its own quotes
        name, _, value = text.partition(" ")
        return Rule(name, (value,))
    name, *words = shlex.split(text)
    return Rule(name, tuple(words))
