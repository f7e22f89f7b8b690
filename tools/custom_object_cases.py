"""Writes of objects whose definitions have rules in CEL: what `record_custom_rules` asks about."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from tools.custom_rule_cases import (
    EMBEDDED,
    KEEPS,
    array,
    boolean,
    integer,
    keyed,
    loose,
    map_of,
    number,
    obj,
    root,
    rule,
    ruled,
    set_of,
    string,
)

Document = dict[str, Any]
MERGE, JSON_PATCH = "application/merge-patch+json", "application/json-patch+json"
APPLY = "application/apply-patch+yaml"
ABSENT: Any = object()


@dataclass
class Group:
    """Objects of one definition, and what is written of them."""

    name: str
    schema: Document
    writes: list[Document] = field(default_factory=list)
    earlier: Document | None = None
    """The schema when the objects that are changed were created; without rules in any case."""
    subresources: Document | None = None

    def new(self, spec: Any = ABSENT, **more: Any) -> None:
        """Creates an object."""
        self.writes.append({"body": _body(spec, more)})

    def change(self, before: Any, after: Any, **more: Any) -> None:
        """Replaces the spec of an object."""
        self.writes.append({"before": _body(before, {}), "body": _body(after, more)})

    def send(self, before: Document, body: Any, **more: Any) -> None:
        """Any change: `part` of which subresource, `patch` the type of a patch."""
        self.writes.append({"before": before, "body": body, **more})


def _body(spec: Any, more: Document) -> Document:
    return {**({} if spec is ABSENT else {"spec": spec}), **more}


def _types() -> Group:
    fields = {
        "s": ruled(string(), "self.startsWith('a')", "self.size() < 5"),
        "len": ruled(string(), "self.size() == 3"),
        "i": ruled(integer(), "self > 5", "self % 2 == 0"),
        "i64": ruled(integer(format="int64"), "self + 1 > 0"),
        "n": ruled(number(), "self > 1.5", "self < 1e3"),
        "b": ruled(boolean(), "self"),
        "dt": ruled(
            string(format="date-time"), "self > timestamp('2020-01-01T00:00:00Z')", "self.getHours() == 0"
        ),
        "d": ruled(string(format="date"), "self.getFullYear() == 2020", "self.getDayOfWeek() == 1"),
        "du": ruled(string(format="duration"), "self > duration('1h')", "self.getSeconds() == 7200"),
        "by": ruled(string(format="byte"), "self == b'hello'", "self.size() == 5"),
        "ip": ruled(string(format="ipv4"), "ip(self).isLoopback()"),
        "ios": ruled(loose(), "type(self) == int ? self > 5 : self.endsWith('%')"),
        "iosplus": ruled(loose(), "self + 1 == 3"),
        "iosgt": ruled(loose(), rule("self > 5", message="more")),
        "l": ruled(array(string()), "self.all(x, x.size() > 1)", "self.size() < 3", "!('no' in self)"),
        "li": ruled(array(integer()), "self.sum() == 6", "self.isSorted()", "self[0] == 1"),
        "ln": ruled(array(number()), "self.sum() == 3.5", "self == [1.0, 2.5]"),
        "ld": ruled(array(string(format="date-time")), "self.all(x, x > timestamp('2020-01-01T00:00:00Z'))"),
        "lnull": ruled(array(string(nullable=True)), "self.all(x, dyn(x) == null || x == 'a')"),
        "ll": ruled(array(array(integer())), "self == [[1], [2, 3]]", "self[1][1] == 3"),
        "set": ruled(set_of(string()), "self == ['a', 'b']", "self + ['c'] == ['c', 'b', 'a']"),
        "seti": ruled(set_of(integer()), "self == [1, 2]", "2 in self"),
        "setn": ruled(set_of(number()), "self == [1.0, 2.5]"),
        "setd": ruled(set_of(string(format="date")), "self == self"),
        "plain": ruled(array(string()), "self == ['a', 'b']", "['a', 'b'] == self"),
        "ml": ruled(
            keyed(obj({"k": string(), "v": integer()}, required=["k"]), "k"),
            "self.exists(x, x.k == 'a' && x.v == 1)",
            "self.all(x, has(x.v))",
        ),
        "m": ruled(map_of(string()), "self['a'] == 'b'", "self.all(k, self[k].size() < 3)", "'a' in self"),
        "msel": ruled(map_of(integer()), "self.a > 0", "self == {'a': 1, 'b': 2}"),
        "mnull": ruled(map_of(string(nullable=True)), "self.all(k, dyn(self[k]) == null || self[k] == 'a')"),
        "o": ruled(
            obj({"a": string(), "b": integer()}), "has(self.a)", "self.b > 1", "!has(self.b) || self.b > 2"
        ),
        "oin": obj({"a": ruled(obj({"b": ruled(integer(), "self > 1")}), "self.b > 2")}),
        "eq": ruled(
            obj({"x": obj({"p": set_of(string()), "q": integer()}), "y": obj({"p": set_of(string())})}),
            "self.x == self.x",
            "self.x.p == self.y.p",
        ),
        "nul": ruled(string(nullable=True), "self == 'a'"),
        "hnul": ruled(obj({"a": string(nullable=True)}), "has(self.a)", "self.a == 'x'"),
        "emb": ruled(
            obj({"spec": obj({"a": string()})}, **{EMBEDDED: True}),
            "self.metadata.name == 'x'",
            "self.kind == 'A'",
            "!has(self.metadata.generateName)",
        ),
        "embp": ruled({"type": "object", EMBEDDED: True, KEEPS: True}, "self.apiVersion == 'v1'"),
        "pu": ruled(obj({"a": string()}, **{KEEPS: True}), "self.a == 'x'", "self == self"),
        "names": ruled(
            obj(
                {
                    "my-field": string(),
                    "a__b": string(),
                    "x.y": string(),
                    "for": string(),
                    "namespace": string(),
                }
            ),
            "self.my__dash__field == 'a'",
            "has(self.a__underscores__b) && self.a__underscores__b == 'a'",
            "self.x__dot__y == 'a'",
            "self.__for__ == 'a'",
            "self.namespace == self.__namespace__",
        ),
        "1abc": ruled(string(), "self == 'a'"),
        "def": ruled(obj({"a": integer(default=5), "b": integer()}), "self.a == 5", "!has(self.b)"),
        "any": {KEEPS: True},
        "opt": ruled(
            obj({"a": obj({"b": string()}), "c": string()}),
            "self.?a.?b.orValue('none') == 'none'",
            "self.?c.hasValue()",
            "self.?c.orValue('x') == 'x'",
        ),
    }
    group = Group("types", root(obj(fields)))
    values: dict[str, list[Any]] = {
        "s": ["a", "abcd", "abcde", "b", "", "ä", "bcdef"],
        "len": ["abc", "äöü", "𝄞𝄞𝄞", "ab"],
        "i": [6, 7, 4, 3, -1],
        "i64": [1, -1, 9223372036854775807, -9223372036854775808],
        "n": [2, 2.5, 1, 1.5, 1000, 99.75, 10000000000],
        "b": [True, False],
        "dt": [
            "2020-01-02T00:00:00Z",
            "2019-01-02T00:00:00Z",
            "2020-06-01T05:30:00Z",
            "2021-01-01T02:00:00+02:00",
            "2021-01-01T00:00:00.123456789Z",
            "2021-01-01t00:00:00Z",
            "2021-01-01T00:00:00z",
            "2021-01-01",
        ],
        "d": ["2020-02-03", "2020-02-04", "2019-02-04", "2020-02-30"],
        "du": ["2h", "1h", "2 hours", "120m0s", "3h5m", "1 day", "x"],
        "by": ["aGVsbG8=", "aGVsbG8h", "+/+/", "-_-_", "x"],
        "ip": ["127.0.0.1", "10.0.0.1"],
        "ios": [6, 5, "50%", "50", True],
        "iosplus": [2, 1, "2", "x"],
        "iosgt": [6, 5, "6"],
        "l": [["aa", "bb"], ["a", "bb"], ["no"], [], ["aa", "bb", "cc"], ["a", "b", "c", "no"]],
        "li": [[1, 2, 3], [1, 3, 2], [6], [], [2, 4]],
        "ln": [[1, 2.5], [1.0, 2.5], [2.5, 1]],
        "ld": [["2020-01-02T00:00:00Z"], ["2020-01-02T00:00:00Z", "2019-01-02T00:00:00Z"]],
        "lnull": [["a", None], [None], ["b", None], ["b"]],
        "ll": [[[1], [2, 3]], [[1], [2]], [[1]], []],
        "set": [["a", "b"], ["b", "a"], ["a", "c"], ["a"], ["a", "b", "c"]],
        "seti": [[1, 2], [2, 1], [1, 3]],
        "setn": [[1, 2.5], [2.5, 1.5]],
        "setd": [["2020-01-01"], []],
        "plain": [["a", "b"], ["b", "a"]],
        "ml": [
            [{"k": "a", "v": 1}],
            [{"k": "b", "v": 2}, {"k": "a", "v": 1}],
            [{"k": "a"}],
            [{"v": 1}],
            [{"k": "a", "v": 1}, {"k": "a", "v": 2}],
        ],
        "m": [{"a": "b"}, {"a": "c"}, {"b": "b"}, {"a": "b", "x": "long"}, {}],
        "msel": [{"a": 1, "b": 2}, {"b": 2, "a": 1}, {"a": 0}, {"c": 1}],
        "mnull": [{"a": None}, {"a": "a", "b": None}, {"a": "b"}],
        "o": [{"a": "x", "b": 3}, {"a": "x"}, {"b": 2}, {"b": 1}, {}, {"a": "x", "b": 3, "unknown": 1}],
        "oin": [{"a": {"b": 3}}, {"a": {"b": 2}}, {"a": {"b": 1}}, {"a": {}}, {}],
        "eq": [
            {"x": {"p": ["a", "b"], "q": 1}, "y": {"p": ["b", "a"]}},
            {"x": {"p": ["a"]}, "y": {"p": ["b"]}},
            {},
        ],
        "nul": ["a", None, "b"],
        "hnul": [{"a": "x"}, {"a": None}, {"a": "y"}, {}],
        "emb": [
            {"apiVersion": "v1", "kind": "A", "metadata": {"name": "x"}},
            {"apiVersion": "v1", "kind": "B", "metadata": {"name": "y", "generateName": "z"}},
            {"apiVersion": "v1", "kind": "A"},
            {"kind": "A", "metadata": {"name": "x"}},
        ],
        "embp": [{"apiVersion": "v1", "kind": "A", "x": 1}, {"apiVersion": "v2", "kind": "A"}],
        "pu": [{"a": "x", "z": {"y": [1]}}, {"a": "y", "z": 1}, {"z": 1}],
        "names": [
            {"my-field": "a", "a__b": "a", "x.y": "a", "for": "a", "namespace": "b"},
            {"my-field": "b", "a__b": "b", "x.y": "b", "for": "b"},
            {},
        ],
        "1abc": ["a", "b"],
        "def": [{}, {"a": 6}, {"b": 1}, {"a": None}],
        "opt": [{"c": "x"}, {"a": {"b": "none"}, "c": "y"}, {"a": {}}, {}],
    }
    for name, tried in values.items():
        for value in tried:
            group.new({name: value})
    group.new()
    group.new({})
    group.new({"s": "b", "i": 3, "l": ["a"]})
    group.new({"s": 5, "i": 3})
    group.new({"i": "x", "b": False})
    return group


def _messages() -> Group:
    def of(text: str, **more: Any) -> Document:
        return ruled(integer(), rule(text, **more))

    low = "self > 5"
    fields = {
        "message": of(low, message="  must be more than 5  "),
        "expression": of(low, messageExpression="'is only %d'.format([self])"),
        "both": of(low, message="usual", messageExpression="'is only %d'.format([self])"),
        "blank": of(low, message="usual", messageExpression="' '"),
        "blankonly": of(low, messageExpression="' '"),
        "lines": of(low, message="usual", messageExpression="'a\\nb'"),
        "trimmed": of(low, message="usual", messageExpression="' \\n a \\n'"),
        "failing": of(low, message="usual", messageExpression="string(1 / (self - self))"),
        "long": of(low, message="usual", messageExpression=f"'{'a' * 5121}'"),
        "justlong": of(low, message="usual", messageExpression=f"'{'ä' * 2560}'"),
        "old": of(low, message="usual", messageExpression="'was %d'.format([oldSelf])"),
        "oldrule": of(
            "self > oldSelf",
            message="usual",
            messageExpression="'%d is not more than %d'.format([self, oldSelf])",
        ),
        "multiline": of("self > 5 ||\n self == -100", message="over lines"),
        "spaces": of("   self > 5  "),
        "required": of(low, reason="FieldValueRequired"),
        "forbidden": of(low, reason="FieldValueForbidden", message="m"),
        "invalid": of(low, reason="FieldValueInvalid"),
        "duplicate": of(low, reason="FieldValueDuplicate", message="m"),
        "failed": of("1 / (self - 1) > 5", message="divided"),
        "failedplain": of("1 / (self - 1) > 5"),
        "ofstring": ruled(string(), "self == 'a'"),
        "quoted": ruled(string(), rule("self == 'a'", messageExpression="'<' + self + '> & \"x\"'")),
        "duplicatestring": ruled(string(), rule("self == 'a'", reason="FieldValueDuplicate")),
        "list": ruled(
            array(integer()), rule("self.size() > 5", reason="FieldValueDuplicate"), "self.size() > 6"
        ),
        "listrequired": ruled(
            array(integer()), rule("self.size() > 5", reason="FieldValueRequired", message="more")
        ),
        "path": ruled(
            obj({"a": integer(), "m": map_of(integer()), "o": obj({"b-c": string()})}),
            rule("has(self.a)", fieldPath=".a", reason="FieldValueRequired", message="a is needed"),
            rule("self.a > 5", fieldPath=".a"),
            rule("has(self.m)", fieldPath=".m['it\\'s']"),
            rule("has(self.o)", fieldPath="['o'].b-c"),
        ),
        "mappath": ruled(
            map_of(obj({"a": integer()})),
            rule("self.size() > 5", fieldPath="['x'].a"),
            rule("self.size() > 6", fieldPath=".x"),
        ),
        "items": array(ruled(obj({"a": integer()}), rule("self.a > 5", fieldPath=".a", message="small"))),
        "values": map_of(ruled(obj({"a": integer()}), rule("self.a > 5", fieldPath=".a", message="small"))),
        "number": ruled(number(), "self > 5.0"),
        "boolean": ruled(boolean(), "self"),
        "loose": ruled(loose(), "self == 'a'"),
    }
    group = Group(
        "messages",
        root(obj(fields), rule("self.metadata.name != 'bad'", message="bad name")),
    )
    for name in fields:
        if fields[name].get("type") == "integer":
            group.new({name: 1})
            group.new({name: 6})
    group.change({"old": 1}, {"old": 2})
    group.change({"oldrule": 3}, {"oldrule": 3})
    group.change({"oldrule": 3}, {"oldrule": 4})
    for spec in (
        {"ofstring": "b"}, {"ofstring": 'q"<>&'}, {"quoted": "b"}, {"duplicatestring": "b"}, {"list": [1]},
        {"listrequired": []}, {"path": {}}, {"path": {"a": 1, "m": {}, "o": {}}}, {"mappath": {"y": {}}},
        {"items": [{"a": 6}, {"a": 1}, {}]}, {"values": {"x.y": {"a": 1}, "z": {"a": 6}}}, {"number": 1},
        {"number": 1.25}, {"number": 1e-7}, {"number": -100000000.5}, {"boolean": False}, {"loose": 1}, {"loose": "b"},
    ):  # fmt: skip
        group.new(spec)
    group.new({}, metadata={"name": "bad"})
    group.new({"message": 1, "both": 1, "required": 1})
    return group


def _transitions() -> Group:
    same = "self == oldSelf"
    item = obj({"k": string(), "v": ruled(integer(), "self >= oldSelf"), "w": string()}, required=["k"])
    fields = {
        "i": ruled(integer(), "self >= oldSelf"),
        "s": ruled(string(), rule(same, message="immutable")),
        "n": ruled(number(), same),
        "dt": ruled(string(format="date-time"), same, "self >= oldSelf"),
        "d": ruled(string(format="date"), same),
        "du": ruled(string(format="duration"), same),
        "by": ruled(string(format="byte"), same),
        "ios": ruled(loose(), same),
        "l": ruled(array(string()), same),
        "set": ruled(set_of(string()), same),
        "seti": ruled(set_of(integer()), same),
        "setn": ruled(set_of(number()), same),
        "setd": ruled(set_of(string(format="date")), same),
        "seto": ruled(set_of(obj({"a": string()}, **{"x-kubernetes-map-type": "atomic"})), same),
        "ml": ruled(keyed(item, "k"), "self.size() >= oldSelf.size()", "oldSelf.all(x, self.exists(y, x.k == y.k))"),
        "mls": ruled(keyed(obj({"k": string(), "v": integer()}, required=["k"]), "k"), same),
        "mlsum": ruled(
            keyed(obj({"k": string(), "v": integer()}, required=["k"]), "k"),
            "oldSelf + self == self",
            "(self + [self[0]]).size() == self.size()",
        ),
        "ml2": keyed(obj({"a": string(), "b": integer(default=1), "v": ruled(integer(), same)}, required=["a"]), "a", "b"),
        "mldash": ruled(keyed(obj({"a-b": string(), "v": integer()}, required=["a-b"]), "a-b"), same),
        "m": ruled(map_of(ruled(string(), same)), "oldSelf.all(k, k in self)"),
        "mo": map_of(obj({"a": ruled(integer(), "self > oldSelf")})),
        "o": ruled(obj({"a": string(), "b": integer(), "c": set_of(string())}), same),
        "oa": ruled(obj({"a": ruled(string(), same)}, **{"x-kubernetes-map-type": "atomic"}), "self.a == oldSelf.a"),
        "pu": ruled(obj({"a": string()}, **{KEEPS: True}), same),
        "pu2": ruled({"type": "object", KEEPS: True}, same),
        "any": ruled(obj({"x": {KEEPS: True}}), same),
        "nul": ruled(string(nullable=True), same),
        "hn": ruled(obj({"a": string(nullable=True)}), "has(self.a) == has(oldSelf.a)", same),
        "lm": ruled(array(keyed(obj({"k": string()}, required=["k"]), "k")), same),
        "emb": ruled(obj({"spec": obj({"a": string()})}, **{EMBEDDED: True}), same, "self.metadata.name == oldSelf.metadata.name"),
        "add": ruled(set_of(string()), "oldSelf + self == self"),
        "addl": ruled(array(string()), "(oldSelf + self).size() > 2", "(oldSelf + ['x'])[0] == self[0]"),
        "addd": ruled(array(string(format="date")), "(oldSelf + self).all(x, x > timestamp('2000-01-01T00:00:00Z'))"),
        "once": ruled(obj({"a": string()}), "!has(oldSelf.a) || has(self.a)"),
        "two": ruled(integer(), "self > 5", "self > oldSelf"),
        "opt": ruled(
            integer(),
            rule("oldSelf.hasValue() || self == 1", optionalOldSelf=True, message="starts at 1"),
            rule("oldSelf.orValue(0) <= self", optionalOldSelf=True, messageExpression="'less than %d'.format([oldSelf.value()])"),
        ),
        "opto": ruled(
            obj({"a": string(), "my-b": string(), "d": string(format="date"), "s": set_of(string())}),
            rule("oldSelf.?a.orValue(self.a) == self.a", optionalOldSelf=True, message="a"),
            rule("!oldSelf.hasValue() || oldSelf.value() == self", optionalOldSelf=True, message="same"),
            rule("!oldSelf.hasValue() || self == oldSelf.value()", optionalOldSelf=True, message="same too"),
            rule("oldSelf.?my__dash__b.hasValue()", optionalOldSelf=True, message="b"),
            rule("oldSelf.optMap(x, x.a).orValue('') == ''", optionalOldSelf=True, message="mapped"),
        ),
        "optd": ruled(string(format="date"), rule("!oldSelf.hasValue() || oldSelf.value() == self", optionalOldSelf=True)),
        "optl": array(ruled(obj({"a": integer()}), "self.a > 0")),
        "optml": keyed(
            ruled(obj({"k": string(), "v": integer()}, required=["k"]), rule("oldSelf.hasValue() || self.v == 1", optionalOldSelf=True)), "k"
        ),
    }  # fmt: skip
    group = Group("transitions", root(obj(fields), "oldSelf.metadata.name == self.metadata.name"))
    a, b = {"k": "a", "v": 1}, {"k": "b", "v": 2}
    pairs: dict[str, list[tuple[Any, Any]]] = {
        "i": [(1, 1), (1, 2), (2, 1), (ABSENT, 1), (1, ABSENT)],
        "s": [("a", "a"), ("a", "b"), (ABSENT, "b")],
        "n": [(1, 1), (1, 1.5), (1.5, 1.5)],
        "dt": [
            ("2020-01-01T00:00:00Z", "2020-01-01T00:00:00Z"),
            ("2020-01-01T00:00:00Z", "2020-01-01T01:00:00+01:00"),
            ("2020-01-01T00:00:00Z", "2019-01-01T00:00:00Z"),
        ],
        "d": [("2020-01-01", "2020-01-01"), ("2020-01-01", "2020-01-02")],
        "du": [("60s", "1m"), ("60s", "61s")],
        "by": [("YQ==", "YQ=="), ("YQ==", "Yg==")],
        "ios": [(1, 1), (1, "1"), ("a", "a"), ("a", "b")],
        "l": [(["a", "b"], ["a", "b"]), (["a", "b"], ["b", "a"]), (["a"], [])],
        "set": [(["a", "b"], ["b", "a"]), (["a", "b"], ["a", "c"]), (["a"], ["a", "b"])],
        "seti": [([1, 2], [2, 1]), ([1, 2], [1, 3])],
        "setn": [([1, 2.5], [2.5, 1]), ([1.5, 2.5], [2.5, 1.5])],
        "setd": [(["2020-01-01"], ["2020-01-01"])],
        "seto": [([{"a": "x"}], [{"a": "x"}]), ([], [])],
        "ml": [
            ([a, b], [b, a]),
            ([a, b], [{"k": "b", "v": 3}, a]),
            ([a, b], [{"k": "b", "v": 1}, a]),
            ([a, b], [a]),
            ([a], [a, b]),
            ([a], [b]),
        ],
        "mls": [
            ([a, b], [b, a]),
            ([a, b], [a, {"k": "b", "v": 3}]),
            ([a, b], [a, {"k": "c", "v": 2}]),
            ([a], [a, b]),
        ],
        "mlsum": [([a], [a, b]), ([a, b], [b]), ([a, b], [b, a]), ([a], [{"k": "a", "v": 5}])],
        "ml2": [
            ([{"a": "x", "v": 1}], [{"a": "x", "v": 1}]),
            ([{"a": "x", "v": 1}], [{"a": "x", "v": 2}]),
            ([{"a": "x", "v": 1}], [{"a": "x", "b": 2, "v": 2}]),
            ([{"a": "x", "b": 2, "v": 1}], [{"a": "y", "b": 2, "v": 2}, {"a": "x", "b": 2, "v": 3}]),
        ],
        "mldash": [
            ([{"a-b": "x", "v": 1}], [{"a-b": "x", "v": 1}]),
            ([{"a-b": "x"}, {"a-b": "y"}], [{"a-b": "y"}, {"a-b": "x"}]),
        ],
        "m": [({"a": "x"}, {"a": "x", "b": "y"}), ({"a": "x"}, {"a": "y"}), ({"a": "x"}, {"b": "y"})],
        "mo": [({"x": {"a": 1}}, {"x": {"a": 2}, "y": {"a": 0}}), ({"x": {"a": 1}}, {"x": {"a": 1}})],
        "o": [
            ({"a": "x", "c": ["a", "b"]}, {"c": ["b", "a"], "a": "x"}),
            ({"a": "x"}, {"a": "x", "b": 1}),
            ({"a": "x"}, {"b": 1}),
        ],
        "oa": [({"a": "x"}, {"a": "x"}), ({"a": "x"}, {"a": "y"})],
        "pu": [
            ({"a": "x", "z": 1}, {"a": "x", "z": 1}),
            ({"a": "x", "z": 1}, {"a": "x", "z": 2}),
            ({"a": "x", "z": 1}, {"a": "x", "y": 1}),
        ],
        "pu2": [
            ({"z": [1, {"a": 2}]}, {"z": [1, {"a": 2}]}),
            ({"z": 1}, {"z": 2}),
            ({"z": 1}, {"y": 1}),
            ({"z": 1}, {}),
        ],
        "any": [
            ({"x": {"a": 1}}, {"x": {"a": 1}}),
            ({"x": {"a": 1}}, {"x": {"a": 2}}),
            ({"x": 1}, {"x": "1"}),
        ],
        "nul": [(None, "a"), ("a", None), ("a", "b")],
        "hn": [({"a": None}, {}), ({"a": None}, {"a": "x"}), ({"a": "x"}, {"a": "x"})],
        "lm": [([[{"k": "a"}, {"k": "b"}]], [[{"k": "b"}, {"k": "a"}]]), ([[{"k": "a"}]], [[{"k": "b"}]])],
        "emb": [
            (
                {"apiVersion": "v1", "kind": "A", "metadata": {"name": "x", "labels": {"a": "b"}}},
                {"apiVersion": "v1", "kind": "A", "metadata": {"name": "x", "labels": {"a": "c"}}},
            ),
            (
                {"apiVersion": "v1", "kind": "A", "metadata": {"name": "x"}},
                {"apiVersion": "v1", "kind": "A", "metadata": {"name": "y"}},
            ),
            (
                {"apiVersion": "v1", "kind": "A", "metadata": {"name": "x"}},
                {"apiVersion": "v1", "kind": "A", "metadata": {"name": "x"}},
            ),
        ],
        "add": [(["a", "b"], ["b", "a", "c"]), (["a", "b"], ["a"])],
        "addl": [(["a"], ["a"]), (["a", "b"], ["b"])],
        "addd": [(["2020-01-01"], ["2020-01-01"])],
        "once": [({"a": "x"}, {}), ({}, {"a": "x"}), ({"a": "x"}, {"a": "y"})],
        "two": [(6, 7), (7, 6), (1, 1), (1, 2), (3, 2)],
        "opt": [(1, 2), (2, 1), (ABSENT, 1), (ABSENT, 2)],
        "opto": [
            ({"a": "x"}, {"a": "x"}),
            ({"a": "x"}, {"a": "y"}),
            ({"a": "x", "my-b": "1"}, {"a": "x", "my-b": "1"}),
            ({"d": "2020-01-01"}, {"d": "2020-01-01"}),
            ({"a": "x", "s": ["a", "b"]}, {"a": "x", "s": ["b", "a"]}),
            (ABSENT, {"a": "x"}),
        ],
        "optd": [("2020-01-01", "2020-01-01"), ("2020-01-01", "2020-01-02")],
        "optl": [([{"a": 1}], [{"a": 2}])],
        "optml": [([{"k": "a", "v": 5}], [{"k": "a", "v": 6}]), ([{"k": "a", "v": 1}], [{"k": "b", "v": 2}])],
    }
    for name, tried in pairs.items():
        for before, after in tried:
            group.change({} if before is ABSENT else {name: before}, {} if after is ABSENT else {name: after})
    group.change(ABSENT, {"i": 1})
    group.change({"i": 1}, ABSENT)
    group.new({"i": 1, "s": "x", "l": ["a"], "opt": 1})
    group.new({"opt": 2, "optml": [{"k": "a", "v": 2}], "opto": {"a": "x"}})
    for kind, body in (
        (MERGE, {"spec": {"i": 1}}),
        (MERGE, {"spec": {"i": 3}}),
        (JSON_PATCH, [{"op": "replace", "path": "/spec/i", "value": 0}]),
        (JSON_PATCH, [{"op": "remove", "path": "/spec/i"}]),
        (APPLY, {"spec": {"i": 1}}),
        (APPLY, {"spec": {"i": 5, "s": "y"}}),
    ):
        group.send({"spec": {"i": 2}}, body, patch=kind)
    return group


def _tolerance() -> Group:
    """Objects that were there before the rules came."""
    low = "self > 5"
    item = obj({"k": string(), "v": ruled(integer(), low)}, required=["k"])
    fields = {
        "a": ruled(integer(), low),
        "b": ruled(string(), rule("self == 'x'", message="only x", reason="FieldValueForbidden")),
        "o": ruled(obj({"a": ruled(integer(), low), "b": integer()}), "self.b > 5"),
        "l": ruled(array(ruled(integer(), low)), "self.size() > 3"),
        "lo": array(obj({"a": ruled(integer(), low)})),
        "set": ruled(set_of(ruled(integer(), low)), "self.size() > 3"),
        "ml": ruled(keyed(item, "k"), "self.size() > 3"),
        "m": ruled(map_of(ruled(integer(), low)), "self.size() > 3"),
        "msg": ruled(integer(), rule(low, messageExpression="'only %d'.format([self])")),
        "err": ruled(integer(), "1 / (self - self) == 1"),
        "tr": ruled(integer(), "self > oldSelf || self > 5"),
        "opt": ruled(integer(), rule("oldSelf.hasValue() && self > 5", optionalOldSelf=True)),
        "pu": ruled({"type": "object", KEEPS: True}, "self == self && false"),
        "pup": ruled(obj({"a": integer()}, **{KEEPS: True}), "self.a > 5"),
        "deep": obj({"o": obj({"l": array(obj({"m": map_of(ruled(integer(), low))}))})}),
        "emb": ruled(
            obj({"spec": obj({"a": ruled(integer(), low)})}, **{EMBEDDED: True}), "self.metadata.name == 'x'"
        ),
        "nul": ruled(obj({"a": string(nullable=True), "b": integer()}), "has(self.a)"),
        "other": string(),
    }
    spec = ruled(obj(fields), "!has(self.a) || self.a > 4")
    whole = root(spec, rule("!has(self.spec.b) || self.spec.b == 'x'", fieldPath=".spec.b"))
    group = Group("tolerance", whole)
    values: dict[str, tuple[Any, Any]] = {
        "a": (1, 2),
        "b": ("y", "z"),
        "o": ({"a": 1, "b": 1}, {"a": 1, "b": 2}),
        "l": ([1, 2], [1, 3]),
        "lo": ([{"a": 1}, {"a": 2}], [{"a": 1}, {"a": 6}]),
        "set": ([1, 2], [2, 1]),
        "ml": ([{"k": "a", "v": 1}, {"k": "b", "v": 2}], [{"k": "b", "v": 2}, {"k": "a", "v": 1}]),
        "m": ({"a": 1, "b": 2}, {"a": 1, "b": 3}),
        "msg": (1, 2),
        "err": (1, 2),
        "tr": (1, 0),
        "opt": (1, 2),
        "pu": ({"x": 1}, {"x": 2}),
        "pup": ({"a": 1, "z": 1}, {"a": 1, "z": 2}),
        "deep": ({"o": {"l": [{"m": {"x": 1}}]}}, {"o": {"l": [{"m": {"x": 1, "y": 6}}]}}),
        "emb": (
            {"apiVersion": "v1", "kind": "A", "metadata": {"name": "y"}, "spec": {"a": 1}},
            {"apiVersion": "v1", "kind": "B", "metadata": {"name": "y"}, "spec": {"a": 1}},
        ),
        "nul": ({"a": None, "b": 1}, {"b": 1}),
    }
    for name, (before, after) in values.items():
        group.change({name: before, "other": "a"}, {name: before, "other": "a"})
        group.change({name: before, "other": "a"}, {name: before, "other": "b"})
        group.change({name: before, "other": "a"}, {name: after, "other": "a"})
        group.change({"other": "a"}, {name: before, "other": "a"})
    group.change(
        {"ml": values["ml"][0]}, {"ml": [{"k": "a", "v": 1}, {"k": "b", "v": 3}, {"k": "c", "v": 1}]}
    )
    group.change({"o": {"a": 1, "b": 9}}, {"o": {"a": 1, "b": 8}})
    group.change({"pup": {"a": 1}, "other": "a"}, {"pup": {"a": 1}, "other": "b"})
    group.change({"pu": {}, "other": "a"}, {"pu": {}, "other": "b"})
    group.change({"a": 1, "b": "y", "other": "a"}, {"a": 1, "b": "y", "other": "b"})
    group.change({"a": 1}, {"a": 1}, metadata={"labels": {"x": "y"}})
    group.send({"spec": {"a": 1, "b": "y"}}, {"spec": {"other": "b"}}, patch=MERGE)
    group.send({"spec": {"l": [1, 2]}}, {"spec": {"other": "b"}}, patch=APPLY)
    return group


def _changed_types() -> Group:
    """Values that the schema allowed when they were written."""
    later = obj(
        {
            "i": ruled(integer(), "self > 5"),
            "o": ruled(obj({"a": integer(), "b": string()}), "self.a > 5", "self.a > 5 || self.b == 'x'"),
            "l": ruled(
                array(integer()), "self.all(x, x > 5)", "self.exists(x, x > 5)", "self[0] > 5", "6 in self"
            ),
            "m": ruled(map_of(integer()), "self.all(k, self[k] > 5)", "self['a'] > 5"),
            "dt": ruled(obj({"a": string(format="date-time")}), "self.a > timestamp('2020-01-01T00:00:00Z')"),
            "other": string(),
        }
    )
    earlier = obj(
        {
            "i": string(),
            "o": obj({"a": string(), "b": string()}),
            "l": array(loose()),
            "m": map_of(string()),
            "dt": obj({"a": string()}),
            "other": string(),
        }
    )
    group = Group("changed types", root(later), earlier=root(earlier))
    for name, value in {
        "i": "x",
        "o": {"a": "x", "b": "x"},
        "l": ["x", 6],
        "m": {"a": "x"},
        "dt": {"a": "never"},
    }.items():
        group.change({name: value, "other": "a"}, {name: value, "other": "b"})
    group.change({"l": [6, "x"], "other": "a"}, {"l": [6, "x"], "other": "b"})
    group.change({"o": {"a": "x", "b": "y"}, "other": "a"}, {"o": {"a": "x", "b": "y"}, "other": "b"})
    return group


def _subresources() -> Group:
    spec = ruled(
        obj({"replicas": ruled(integer(), rule("self < 5", message="at most 4"))}), "has(self.replicas)"
    )
    status = ruled(
        obj(
            {
                "replicas": integer(),
                "phase": ruled(string(), rule("oldSelf != 'done' || self == 'done'", message="done")),
            }
        ),
        "!has(self.phase) || self.phase != 'bad'",
    )
    group = Group(
        "subresources",
        root(
            spec,
            rule(
                "!has(self.status) || !has(self.status.replicas) || self.status.replicas <= self.spec.replicas",
                message="more than wanted",
            ),
            status=status,
        ),
        subresources={
            "status": {},
            "scale": {"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas"},
        },
    )
    group.new({"replicas": 4})
    group.new({"replicas": 5})
    group.new({})
    group.new({"replicas": 1}, status={"phase": "bad"})
    wanted = {"spec": {"replicas": 3}}
    for status_sent in (
        {"phase": "bad"},
        {"phase": "good"},
        {"replicas": 3},
        {"replicas": 4},
        {"phase": 1},
        {"replicas": -1},
    ):
        group.send(wanted, {"status": status_sent}, part="status")
    group.send(wanted, {"spec": {"replicas": 9}, "status": {"phase": "good"}}, part="status")
    group.send(wanted, {"status": {"phase": "bad"}}, part="status", patch=MERGE)
    group.send({"spec": {"replicas": 9}}, {"status": {"phase": "good"}}, part="status")
    group.send({"spec": {}}, {"status": {"phase": "good"}}, part="status")
    for replicas in (4, 5, 0):
        group.send(wanted, {"spec": {"replicas": replicas}}, part="scale", patch=MERGE)
    group.send({"spec": {"replicas": 9}}, {"spec": {"replicas": 8}}, part="scale", patch=MERGE)
    return group


def _blocking() -> Group:
    fields = {
        "r": integer(maximum=5),
        "s": string(maxLength=3),
        "e": string(enum=["a"]),
        "l": array(integer(), maxItems=2),
        "m": map_of(integer(), maxProperties=1),
        "set": set_of(integer()),
        "p": string(pattern="^a"),
        "req": obj({"x": integer()}, required=["x"]),
        "f": string(format="date"),
        "not": integer(**{"not": {"minimum": 5}}),
        "emb": {"type": "object", EMBEDDED: True, KEEPS: True},
    }
    group = Group("blocking", root(ruled(obj(fields), rule("false", message="always broken"))))
    for spec in (
        {}, {"r": 9}, {"s": "long"}, {"e": "b"}, {"l": [1, 2, 3]}, {"m": {"a": 1, "b": 2}}, {"set": [1, 1]}, {"p": "b"},
        {"req": {}}, {"r": "x"}, {"f": "never"}, {"not": 7}, {"emb": {"kind": "A"}}, {"emb": {"apiVersion": "v1", "kind": "-"}},
        {"r": 9, "s": "long"}, {"unknown": 1},
    ):  # fmt: skip
        group.new(spec)
    group.new({}, metadata={"name": "Not A Name"})
    group.new({}, metadata={"name": ""})
    group.change({"s": "ab"}, {"s": "long"})
    group.change({"s": "ab"}, {"r": 9})
    return group


def _costs() -> Group:
    """Rules that are cheap by their limits, but not for what is sent."""
    numbers = array(integer(), maxItems=2000)
    # What the sizes of computed lists are nobody knows beforehand: the schema allows it, the evaluation does not.
    dear = "lists.range(900).all(x, lists.range(900).all(y, x + y >= 0))"
    fields = {
        "dear": ruled(integer(), rule(dear, message="dear"), rule("false", message="after")),
        "many": array(
            ruled(
                integer(), rule("lists.range(99).all(x, lists.range(99).all(y, x + y >= 0))", message="many")
            ),
            maxItems=100,
        ),
        "msg": ruled(
            integer(),
            rule(
                "self > 5",
                message="usual",
                messageExpression="lists.range(900).all(x, lists.range(900).all(y, x + y >= 0)) ? 'a' : 'b'",
            ),
            rule("false", message="after"),
        ),
        "n": ruled(numbers, "self.all(x, x < 10)"),
    }
    group = Group("costs", root(obj(fields)))
    group.new({"dear": 1})
    group.new({"many": [1]})
    group.new({"many": list(range(60))})
    group.new({"many": list(range(100))})
    group.new({"msg": 1})
    group.new({"msg": 6})
    group.new({"n": list(range(10)) * 150})
    group.new({"n": list(range(11)) * 100})
    return group


def bounded(schema: Any) -> Any:
    """With limits where there are none, so that rules are not too dear."""
    if isinstance(schema, list):
        return [bounded(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    found = {name: inner if name == "default" else bounded(inner) for name, inner in schema.items()}
    if schema.get("type") == "string" and "format" not in schema and "enum" not in schema:
        found.setdefault("maxLength", 50)
    elif schema.get("type") == "array":
        found.setdefault("maxItems", 20)
    elif isinstance(schema.get("additionalProperties"), dict):
        found.setdefault("maxProperties", 10)
    elif schema.get("x-kubernetes-int-or-string"):
        found.setdefault("maxLength", 50)
    return found


def groups() -> list[Group]:
    found = _groups()
    for group in found:
        group.schema = bounded(group.schema)
    return found


def _groups() -> list[Group]:
    return [
        _types(),
        _messages(),
        _transitions(),
        _tolerance(),
        _changed_types(),
        _subresources(),
        _blocking(),
        _costs(),
    ]
