"""What is found out about a plugin class before it runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import moorage
from moorage.framework.extension_points import BASES, Plugin
from moorage.framework.loading.load_checks import methods, mistakes
from moorage.framework.loading.registry import PluginLoadError, Registry
from moorage.plugins.catalog import in_tree_registry
from moorage.testing import make_node, make_pod, run

HEAD = """import asyncio, contextlib, functools
from moorage import *

"""
LINE = HEAD.count("\n") + 1
"""Where the classes of the tests begin."""


def refused(text: str, folder: Path, spec: str = "") -> list[str]:
    """What is said about a file, a line each; nothing if it is taken."""
    file = folder / "p.py"
    file.write_text(HEAD + text)
    try:
        Registry().load(f"{file}{spec}")
    except PluginLoadError as error:
        return [line.removeprefix(f"{file}: ") for line in str(error).splitlines()]
    return []


WAITING = "start, pre_bind_pre_flight, pre_bind, bind, post_bind may wait"
MISTAKES: dict[str, tuple[str, str]] = {
    "too few": (
        "class A(FilterPlugin):\n    def filter(self, pod, node): pass\n",
        "class A has filter(pod, node), which is called with (cycle, pod, node); "
        "write def filter(self, cycle, pod, node) (p.py:5)",
    ),
    "too many": (
        "class A(FilterPlugin):\n    def filter(self, ctx, cycle, pod, node): pass\n",
        "class A has filter(ctx, cycle, pod, node), which is called with (cycle, pod, node); "
        "write def filter(self, cycle, pod, node) (p.py:5)",
    ),
    "no self": (
        "class A(FilterPlugin):\n    def filter(cycle, pod, node): pass\n",
        "class A has filter(pod, node), which is called with (cycle, pod, node); "
        "write def filter(self, cycle, pod, node) (p.py:5)",
    ),
    "not even self": (
        "class A(FilterPlugin):\n    def filter(self, cycle, pod, node): pass\n    def events(): pass\n",
        "class A has events(), which is called with (); write def events(self) (p.py:6)",
    ),
    "no function": (
        "class A(FilterPlugin):\n    filter = None\n",
        "class A has filter = None, which cannot be called (p.py:4)",
    ),
    "keyword": (
        "class A(FilterPlugin):\n    def filter(self, cycle, pod, node, *, strict): pass\n",
        "class A has filter(cycle, pod, node, strict), which is called with (cycle, pod, node); "
        "write def filter(self, cycle, pod, node) (p.py:5)",
    ),
    "optional": (
        "class A(ScorePlugin):\n    def score(self, cycle, pod, node): pass\n\n"
        "    def normalize_scores(self, scores): pass\n",
        "class A has normalize_scores(scores), which is called with (cycle, pod, scores); "
        "write def normalize_scores(self, cycle, pod, scores) (p.py:7)",
    ),
    "constructor": (
        "class A(FilterPlugin):\n    def __init__(self, handle): pass\n"
        "    def filter(self, cycle, pod, node): pass\n",
        "class A has __init__(handle), which is called with (args, handle); "
        "write def __init__(self, args, handle) (p.py:5)",
    ),
    "order": (
        "class A(FilterPlugin):\n    def filter(self, pod, cycle, node): pass\n",
        "class A has filter(pod, cycle, node), which is called with (cycle, pod, node); "
        "change the order: def filter(self, cycle, pod, node) (p.py:5)",
    ),
    "order by other names": (
        "class A(ReservePlugin):\n    def reserve(self, node, pod, state): pass\n"
        "    def unreserve(self, state, pod, node): pass\n",
        "class A has reserve(node, pod, state), which is called with (cycle, pod, node_name); "
        "change the order: def reserve(self, cycle, pod, node_name) (p.py:5)",
    ),
    "static": (
        "class A(FilterPlugin):\n    @staticmethod\n    def filter(pod, node): pass\n",
        "class A has filter(pod, node), which is called with (cycle, pod, node); "
        "write def filter(self, cycle, pod, node) (p.py:5)",
    ),
    "partial": (
        "def f(cycle, pod, node, more): pass\nclass A(FilterPlugin):\n    filter = functools.partial(f)\n",
        "class A has filter(cycle, pod, node, more), which is called with (cycle, pod, node); "
        "write def filter(self, cycle, pod, node)",
    ),
    "async": (
        "class A(FilterPlugin):\n    async def filter(self, cycle, pod, node): pass\n",
        f"class A has async def filter, which must answer at once; only {WAITING} (p.py:5)",
    ),
    "async permit": (
        "class A(PermitPlugin):\n    async def permit(self, cycle, pod, node_name): pass\n",
        f"class A has async def permit, which must answer at once; only {WAITING} (p.py:5)",
    ),
    "async events": (
        "class A(FilterPlugin):\n    def filter(self, cycle, pod, node): pass\n"
        "    async def events(self): pass\n",
        f"class A has async def events, which must answer at once; only {WAITING} (p.py:6)",
    ),
    "yield": (
        "class A(ScorePlugin):\n    def score(self, cycle, pod, node):\n        yield 1\n",
        "class A has score with a yield, so that it answers nothing; use return (p.py:5)",
    ),
    "yield where it may wait": (
        "class A(PreBindPlugin):\n    async def pre_bind(self, cycle, pod, node_name):\n        yield\n",
        "class A has pre_bind with a yield, so that it answers nothing; use return (p.py:5)",
    ),
    "base": (
        "class A(FilterPlugin):\n    def filter(self, cycle, pod, node): pass\n\n"
        "    def score(self, cycle, pod, node): return 1\n",
        "class A has the method score, but not the base class that has it called; "
        "add the base moorage.ScorePlugin (p.py:7)",
    ),
    "slip": (
        "class A(FilterPlugin):\n    def filter(self, cycle, pod, node): pass\n    def evnts(self): pass\n",
        "class A has the method evnts; did you mean events? (p.py:6)",
    ),
    "British": (
        "class A(ScorePlugin):\n    def score(self, cycle, pod, node): pass\n"
        "    def normalise_scores(self, cycle, pod, scores): return scores\n",
        "class A has the method normalise_scores; did you mean normalize_scores? (p.py:6)",
    ),
    "required": (
        "class A(PreFilterPlugin):\n    def pre_filer(self, cycle, pod): pass\n",
        "class A has the method pre_filer; did you mean pre_filter? (p.py:5)",
    ),
    "capital": (
        "class A(FilterPlugin):\n    def Filter(self, cycle, pod, node): pass\n",
        "class A has the method Filter; did you mean filter? (p.py:5)",
    ),
    "camel": (
        "class A(PreFilterPlugin):\n    def preFilter(self, cycle, pod): pass\n",
        "class A has the method preFilter; did you mean pre_filter? (p.py:5)",
    ),
    "Go": (
        "class A(PreFilterPlugin):\n    def pre_filter(self, cycle, pod): pass\n"
        "    def AddPod(self, ctx, state, pod, info, node): pass\n",
        "class A has the method AddPod; did you mean add_pod? (p.py:6)",
    ),
    "Go's events": (
        "class A(FilterPlugin):\n    def filter(self, cycle, pod, node): pass\n"
        "    def EventsToRegister(self): pass\n",
        "class A has the method EventsToRegister; did you mean events? (p.py:6)",
    ),
    "Go's order": (
        "class A(QueueSortPlugin):\n    def Less(self, a, b): pass\n",
        "class A has the method Less; did you mean sort_key? (p.py:5)",
    ),
    "another point, misspelled": (
        "class A(FilterPlugin):\n    def filter(self, cycle, pod, node): pass\n"
        "    def PreScore(self, cycle, pod, nodes): pass\n",
        "class A has the method PreScore; did you mean pre_score? "
        "It is called with the base class moorage.PreScorePlugin. (p.py:6)",
    ),
    "args_type": (
        "class A(FilterPlugin):\n    args_type = dict\n    def filter(self, cycle, pod, node): pass\n",
        "class A has an `args_type` that is no msgspec.Struct (p.py:4)",
    ),
    "name": (
        "class A(FilterPlugin):\n    name = 7\n    def filter(self, cycle, pod, node): pass\n",
        "class A has the name 7; use text (p.py:4)",
    ),
    "permissions": (
        "class A(FilterPlugin):\n    permissions = 'pods'\n    def filter(self, cycle, pod, node): pass\n",
        "class A has `permissions` that are not all moorage.Permission (p.py:4)",
    ),
    "one permission": (
        "class A(FilterPlugin):\n    permissions = 7\n    def filter(self, cycle, pod, node): pass\n",
        "class A has `permissions` that are not all moorage.Permission (p.py:4)",
    ),
}


@pytest.mark.parametrize("what", MISTAKES)
def test_a_mistake_is_one_line_with_the_remedy_and_the_place(what: str, tmp_path: Path) -> None:
    text, said = MISTAKES[what]
    assert refused(text, tmp_path) == [said]


def test_all_mistakes_are_told(tmp_path: Path) -> None:
    text = (
        "class A(FilterPlugin, PermitPlugin):\n    def filter(self, pod): pass\n"
        "    async def permit(self, pod, cycle, node_name): pass\n    def evnts(self): pass\n"
    )
    assert [line.partition(" (")[0] for line in refused(text, tmp_path)] == [
        "class A has filter(pod), which is called with",
        "class A has permit(pod, cycle, node_name), which is called with",
        f"class A has async def permit, which must answer at once; only {WAITING}",
        "class A has the method evnts; did you mean events?",
    ]


@pytest.mark.parametrize(
    ("text", "spec", "said"),
    [
        (
            "class A:\n    def filter(self, cycle, pod, node): pass\n",
            "",
            "holds no plugin; class A has the method filter; add the base moorage.FilterPlugin (p.py:5)",
        ),
        (
            "from moorage.framework.extension_points import Plugin\n"
            "class A(Plugin):\n    def score(self, cycle, pod, node): return 1\n",
            "",
            "holds no plugin; class A has the method score; add the base moorage.ScorePlugin (p.py:6)",
        ),
        (
            "class A:\n    def filter(self, cycle, pod, node): pass\n",
            ":A",
            "it has the method filter; add the base moorage.FilterPlugin (p.py:5)",
        ),
        (
            "class Quiet(FilterPlugin):\n    def filter(self, cycle, pod, node): pass\n",
            ":Qiet",
            "p.py; did you mean Quiet?",
        ),
        ("class A:\n    def help(self): pass\n", "", "holds no plugin; write a class with a base such as"),
        (
            "class A:\n    def bind(self, *args): pass\n",
            "",
            "holds no plugin; write a class with a base such as",
        ),
    ],
)
def test_a_class_that_looks_like_a_plugin_is_named(text: str, spec: str, said: str, tmp_path: Path) -> None:
    [line] = refused(text, tmp_path, spec)
    assert said in line


@st.composite
def parameter_lists(draw: st.DrawFn) -> str:
    """What may stand between the parentheses of a definition, with names that say nothing."""
    count = draw(st.integers(0, 5))
    with_default = draw(st.integers(0, count))
    parts = [f"p{i}" + ("=None" if i >= count - with_default else "") for i in range(count)]
    if draw(st.booleans()):
        parts.insert(draw(st.integers(1, count)), "/") if count else None
    rest = draw(st.sampled_from(["", "*rest", "*"]))
    keywords = draw(st.lists(st.sampled_from(["k=None", "j"]), max_size=2, unique=True))
    parts += [rest] if rest == "*rest" or (rest and keywords) else []
    parts += keywords if rest else []
    return ", ".join([*parts, *draw(st.sampled_from([[], ["**more"]]))])


@given(parameters=parameter_lists(), decorator=st.sampled_from(["", "@staticmethod", "@classmethod"]))
def test_a_method_is_taken_if_and_only_if_the_call_works(parameters: str, decorator: str) -> None:
    text = f"class A(FilterPlugin):\n    {decorator}\n    def filter({parameters}): pass\n"
    names: dict[str, Any] = {"FilterPlugin": moorage.FilterPlugin, "__name__": "mine"}
    exec(text, names)
    made = names["A"]
    try:
        made(None, None).filter(1, 2, 3)
    except TypeError:
        works = False
    else:
        works = True
    assert (mistakes(made) == []) is works


FINE = {
    "other names": "def filter(self, a, b, c): pass",
    "defaults": "def filter(self, cycle, pod, node, strict=True, *, more=None): pass",
    "anything": "def filter(self, *args, **kwargs): pass",
    "the rest": "def filter(self, cycle, *rest): pass",
    "positions": "def filter(self, cycle, pod, node, /): pass",
    "static": "@staticmethod\n    def filter(cycle, pod, node): pass",
    "class": "@classmethod\n    def filter(cls, cycle, pod, node): pass",
    "lambda": "filter = lambda self, cycle, pod, node: None",
    "partial": "filter = functools.partial(lambda more, cycle, pod, node: None, 7)",
    "callable": "class Call:\n        def __call__(self, cycle, pod, node): pass\n    filter = Call()",
    "cached": "@functools.cache\n    def filter(self, cycle, pod, node): pass",
    "wrapped": "@wrapped\n    def filter(self, cycle, pod, node): pass",
    "wrapped, with more": "@given\n    def filter(self, more, cycle, pod, node): pass",
    "generator of events": (
        "def filter(self, cycle, pod, node): pass\n"
        '    def events(self):\n        yield ClusterEvent("Node", Action.ADD)'
    ),
    "helpers": (
        "def filter(self, cycle, pod, node): pass\n"
        + "".join(
            f"    def {name}(self, {given}): pass\n"
            for name, given in {
                "score": "node",
                "scores": "cycle, pod, node",
                "filters": "cycle, pod, node",
                "filter_node": "cycle, pod, node",
                "add_pod": "pod",
                "reserve": "pod, node, amount",
                "bind": "*args",
                "added_pod": "pod",
                "removed_pod": "pod",
                "reserved": "",
                "closed": "",
                "event": "",
                "less": "a, b",
                "binding": "pod",
                "prefer": "cycle, pod, node",
                "_score": "cycle, pod, node",
                "_evnts": "",
                "is_quiet": "pod, old, new",
            }.items()
        )
    ),
}


@pytest.mark.parametrize("what", FINE)
def test_what_works_is_taken(what: str, tmp_path: Path) -> None:
    decorators = (
        "def wrapped(f):\n    @functools.wraps(f)\n    def w(*a, **k): return f(*a, **k)\n    return w\n\n"
        "def given(f):\n    @functools.wraps(f)\n"
        "    def w(self, cycle, pod, node): return f(self, 7, cycle, pod, node)\n    return w\n\n"
    )
    assert refused(f"{decorators}class A(FilterPlugin):\n    {FINE[what]}\n", tmp_path) == []


def test_async_is_taken_where_it_may_be(tmp_path: Path) -> None:
    text = "class A(PreBindPlugin, BindPlugin, PostBindPlugin):\n" + "".join(
        f"    async def {name}(self, cycle, pod, node_name): pass\n"
        for name in ("pre_bind_pre_flight", "pre_bind", "bind", "post_bind")
    )
    assert refused(text, tmp_path) == []


def test_a_plugin_made_of_another_is_looked_at_where_it_differs(tmp_path: Path) -> None:
    text = (
        "from moorage.plugins.node_name import NodeName\n"
        "class Fine(NodeName):\n    name = 'Fine'\n"
        "class Wrong(NodeName):\n    def filter_nodes(self, pod): pass\n"
    )
    [line] = refused(text, tmp_path)
    assert line.startswith("class Wrong has filter_nodes(pod), which is called with (cycle, pod, nodes)")


def test_no_in_tree_plugin_makes_a_mistake() -> None:
    assert {
        entry.name: mistakes(entry.load()) for entry in in_tree_registry() if mistakes(entry.load())
    } == {}


@pytest.mark.parametrize("base", BASES.values())
def test_every_method_of_every_base_is_looked_at(base: type[Plugin]) -> None:
    """Each with too many parameters, so that a method that is not looked at would be noticed."""
    written = [method for method in methods().values() if method.base in (base, Plugin)]
    assert written
    attributes: dict[str, Any] = {m.name: lambda self, a, b, c, d, e, f: None for m in written}
    made = type("Wrong", (base,), attributes)
    assert len(mistakes(made)) == len(written)


def test_classes_are_looked_at_wherever_they_come_from() -> None:
    class Wrong(moorage.FilterPlugin):
        def filter(self, pod):  # type: ignore[no-untyped-def,override]
            pass

    with pytest.raises(PluginLoadError, match=r"class Wrong has filter\(pod\), which"):
        run(Wrong, make_pod(), [make_node("a")])
    from moorage.cli.setup import make_registry

    with pytest.raises(PluginLoadError, match=r"class Wrong has filter\(pod\), which"):
        make_registry([Wrong])
