"""The Python modules of a new project: the plugin, its custom resource, and the tests."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from moorage.api.points import POINTS
from moorage.cli.scaffold.naming import Names
from moorage.cli.scaffold.snippets import (
    RULE_ALONE,
    RULE_IN_FILTER,
    RULE_IN_PRE_FILTER,
    RULE_IN_SCORE,
    SCORE_AFTER_PRE_SCORE,
    SNIPPETS,
)

LINE_LENGTH = 110
_RULE_EVENTS = "self.rules.name.event_resource"
_TESTING = frozenset(("FakeHandle", "make_node", "make_pod", "run"))
RULE_POINTS = ("filter", "preFilter", "score")
"""Where a plugin can use its custom resource; the first that it has does."""


class Wanted(NamedTuple):
    """What a project is to have."""

    names: Names
    points: list[str]
    args: bool
    rule: bool

    @property
    def rule_point(self) -> str:
        """The extension point at which the custom resource is used; empty if that is left to the author."""
        if not self.rule:
            return ""
        return next((point for point in RULE_POINTS if point in self.points), "")

    @property
    def has_state(self) -> bool:
        return self.rule or "reserve" in self.points


def plugin_module(wanted: Wanted) -> str:
    names = wanted.names
    bases = [POINTS[point].interface for point in wanted.points]
    used = {name for point in wanted.points for name in SNIPPETS[point].imports}
    events = _events(wanted)
    used |= {"Action", "ClusterEvent"} if events else set()
    used |= {"Handle"} if wanted.has_state else set()
    used |= {"Status"} if wanted.rule_point == "filter" else set()
    parts = [
        f'"""{names.plugin}: a scheduler plugin."""\n\n',
        "import msgspec\n" if wanted.args else "",
        imported("moorage", {*used, *bases}),
        f"\nfrom .api import {names.rule}\n" if wanted.rule else "",
        f'\nPREFIX = "{names.domain}"\n"""What the labels and annotations of this plugin begin with."""\n',
        f'\n\nclass {names.args}(msgspec.Struct, rename="camel"):\n    prefix: str = PREFIX\n'
        if wanted.args
        else "",
        f"\n\n{_class_line(names.plugin, bases)}",
        '    """Says in one line what the plugin is for; `moorage plugins` shows it."""\n',
        f"\n    args_type = {names.args}\n    args: {names.args}\n" if wanted.args else "",
        _constructor(wanted),
        *(_method(wanted, point) for point in wanted.points),
        RULE_ALONE if wanted.rule and not wanted.rule_point else "",
        events,
    ]
    return "".join(parts)


def _class_line(name: str, bases: list[str]) -> str:
    line = f"class {name}({', '.join(bases)}):\n"
    if len(line) <= LINE_LENGTH + 1:
        return line
    return f"class {name}(\n" + "".join(f"    {base},\n" for base in bases) + "):\n"


def _constructor(wanted: Wanted) -> str:
    if not wanted.has_state:
        return ""
    args = wanted.names.args if wanted.args else "None"
    lines = [
        f"\n    def __init__(self, args: {args}, handle: Handle) -> None:",
        "        super().__init__(args, handle)",
    ]
    if wanted.rule:
        lines.append(f"        self.rules = handle.lister_of({wanted.names.rule})")
    if "reserve" in wanted.points:
        lines += [
            "        self._holders: dict[str, str] = {}",
            '        pods = handle.lister("", "v1", "pods")',
            "        pods.on_change(added=self._remember, deleted=self._release)",
        ]
    return "\n".join(lines) + "\n"


def _method(wanted: Wanted, point: str) -> str:
    text = SNIPPETS[point].method
    if point == "score" and "preScore" in wanted.points:
        text = _with_last_line(text, SCORE_AFTER_PRE_SCORE)
    if point == wanted.rule_point:
        if point == "preFilter":
            text = _with_last_line(text, RULE_IN_PRE_FILTER)
        else:
            rule = RULE_IN_FILTER if point == "filter" else RULE_IN_SCORE
            head, mark, rest = text.partition('"""\n        if ')
            first = mark.partition("\n")[0]
            text = f"{head}{first}\n{rule}        if {rest}"
    return text.replace("{PREFIX}", "{self.args.prefix}") if wanted.args else text


def _with_last_line(text: str, replacement: str) -> str:
    before, _, _ = text.rstrip("\n").rpartition("\n")
    return f"{before}\n{replacement}"


def _events(wanted: Wanted) -> str:
    """What may help pods that the plugin rejected; nothing if it never does."""
    found: dict[str, list[str]] = {}
    for point in wanted.points:
        for resource, actions in SNIPPETS[point].events:
            known = found.setdefault(resource, [])
            known += [action for action in actions.split(" | ") if action not in known]
    if wanted.rule_point in ("filter", "preFilter"):
        found[_RULE_EVENTS] = ["Action.ALL"]
    if not found:
        return ""
    body = [
        f"            ClusterEvent({_as_argument(resource)}, {' | '.join(found[resource])}),\n"
        for resource in found
    ]
    joined = ", ".join(line.strip().rstrip(",") for line in body)
    short = f"        return [{joined}]\n"
    returned = (
        short if len(short) <= LINE_LENGTH + 1 else "        return [\n" + "".join(body) + "        ]\n"
    )
    return (
        "\n    def events(self) -> list[ClusterEvent]:\n"
        '        """What may make a pod schedulable that this plugin rejected."""\n' + returned
    )


def _as_argument(resource: str) -> str:
    return resource if resource == _RULE_EVENTS else f'"{resource}"'


def api_module(names: Names) -> str:
    return f'''"""The custom resource by which users tell the plugin what to do."""

from typing import ClassVar

import msgspec
from moorage import Object


class {names.rule}Spec(msgspec.Struct, rename="camel"):
    avoid: list[str] = []
    """The names of nodes that pods are kept off."""


class {names.rule}(Object, kw_only=True):
    """Keeps pods off nodes."""

    group: ClassVar[str] = "{names.domain}"
    version: ClassVar[str] = "v1alpha1"
    resource: ClassVar[str] = "{names.rules}"
    kind: ClassVar[str] = "{names.rule}"
    namespaced: ClassVar[bool] = False

    spec: {names.rule}Spec
'''


def test_module(wanted: Wanted) -> str:
    names = wanted.names
    used = {"FakeHandle", "make_pod"} | {
        name for point in wanted.points for name in SNIPPETS[point].test_imports
    }
    tests = [SNIPPETS[point].test.replace("PLUGIN", names.plugin) for point in wanted.points]
    if wanted.rule:
        used |= {"ObjectMeta", "make_node", "run"} if wanted.rule_point else {"ObjectMeta"}
        tests.append(_rule_test(wanted))
    if wanted.args:
        tests.append(
            "\ndef test_the_arguments_have_defaults() -> None:\n    assert made().args.prefix == PREFIX\n"
        )
    own = {names.plugin, "PREFIX"}
    own |= {names.args} if wanted.args else set()
    if not any("PREFIX" in test for test in tests):
        own.discard("PREFIX")
    public = used - _TESTING
    args = f"{names.args}()" if wanted.args else "None"
    parts = [
        "import asyncio\n\n" if {"preBind", "bind"} & set(wanted.points) else "",
        imported("moorage", public) if public else "",
        imported("moorage.testing", used & _TESTING),
        "\n",
        imported(f"{names.package}.api", (names.rule, f"{names.rule}Spec")) if wanted.rule else "",
        imported(f"{names.package}.plugin", own),
        f"\n\ndef made(handle: FakeHandle | None = None) -> {names.plugin}:\n"
        f'    """The plugin on its own."""\n'
        f"    return {names.plugin}({args}, handle or FakeHandle())\n",
        *(f"\n{test}" for test in tests),
    ]
    return "".join(parts)


def _rule_test(wanted: Wanted) -> str:
    names = wanted.names
    if not wanted.rule_point:
        return f"""
def test_a_rule_names_nodes_to_be_avoided() -> None:
    spec = {names.rule}Spec(avoid=["a"])
    plugin = made(FakeHandle([{names.rule}(metadata=ObjectMeta(name="no-a"), spec=spec)]))
    assert [plugin.is_avoided(name) for name in ("a", "b")] == [True, False]
"""
    scored = wanted.rule_point == "score"
    check = f'scores["a"]["{names.plugin}"] == 0' if scored else 'feasible == ["b"]'
    return f"""
def test_a_rule_keeps_pods_off_a_node() -> None:
    spec = {names.rule}Spec(avoid=["a"])
    rule = {names.rule}(metadata=ObjectMeta(name="no-a"), spec=spec)
    nodes = [make_node("a"), make_node("b")]
    result = run({names.plugin}, make_pod(), nodes, objects=[rule])
    assert result.{check}
"""


def imported(module: str, names: Iterable[str]) -> str:
    """An import statement as formatters write it."""
    ordered = sorted(names, key=_kind_and_name)
    line = f"from {module} import {', '.join(ordered)}\n"
    if len(line) <= LINE_LENGTH + 1:
        return line
    return f"from {module} import (\n" + "".join(f"    {name},\n" for name in ordered) + ")\n"


def _kind_and_name(name: str) -> tuple[int, str]:
    """Constants before classes before functions; a single letter is a class."""
    return (0 if name.isupper() and len(name) > 1 else 1 if name[0].isupper() else 2), name.lower()
