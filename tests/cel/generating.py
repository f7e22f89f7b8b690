"""Random selectors and devices, for comparing evaluators with one another.

Most expressions are well typed; a few words of some are wrong on purpose, and many fail when they are
evaluated.
What the original does differently from run to run is left out: it goes over maps in any order.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

DRIVER = "gpu.example.com"
_DOMAINS = (DRIVER, DRIVER, DRIVER, "topology.example.org", "missing.example.net")
_ATTRIBUTES = ("model", "index", "ecc", "driverVersion", "empty", "serial", "missing", "text")
_CAPACITIES = ("memory", "cores", "missing")
_STRINGS = (
    "",
    "a",
    "a100",
    "h100",
    "abc",
    "a,b,c",
    "ä€😀",
    "0123456789",
    "0123456789abc",
    "x" * 31,
    "GPU-1",
    "1.2.3",
    "10Gi",
)
_PATTERNS = ("a", "^a.*$", "[0-9]+", "(a|b)+", "", ".", "b$", "(?i)A100", r"\\d+", "(")

_SIMPLE = {
    "bool": ("true", "false", "device.allowMultipleAllocations", "@attribute"),
    "int": ("0", "1", "-1", "2", "7", "9223372036854775807", "-9223372036854775808", "@attribute"),
    "uint": ("0u", "1u", "3u", "18446744073709551615u"),
    "double": ("0.0", "1.0", "-1.5", "2.5", "1e300", "3.0", "1e-7"),
    "string": ('"@string"', '"@string"', "'@string'", "device.driver", "@attribute"),
    "bytes": ('b"abc"', "b''", r"b'\xff\x00'", 'b"ä"'),
    "duration": ('duration("1h")', 'duration("90s")', 'duration("-1.5h")', 'duration("0")'),
    "timestamp": (
        'timestamp("2024-02-29T12:34:56Z")',
        'timestamp("1969-12-31T23:59:59.5+02:00")',
        "timestamp(0)",
    ),
    "quantity": ('quantity("40Gi")', 'quantity("1")', 'quantity("1.5")', 'quantity("x")', "@capacity"),
    "semver": ('semver("1.2.3")', 'semver("2.0.0-rc.1")', 'semver("1")', 'semver("v1.0", true)'),
    "ints": ("[1, 2, 3]", "[]", "[0]", "[3, 1, 2, 1]", "[7, -1]"),
    "strings": ('["a", "b"]', "[]", '["a100"]', '["", "abc", "a"]', '["0123456789abc", "x"]'),
    "dyns": ("[dyn(1), dyn('a')]", "[@attribute]", "[dyn(1), dyn(1.0), dyn(1u)]", "dyn([1, 2])"),
    "map": ('{"a": 1}', "{}", '{"b": 2, "a": 1}', '{"x": 0}'),
    "dyn": (
        *("@attribute",) * 3,
        *("dyn(1)", 'dyn("a")', "dyn(2.0)", "dyn(null)", "dyn(1u)", "dyn([1])", "dyn(true)"),
    ),
    "maybe int": ("optional.of(1)", "optional.none()", "[1, 2][?0]", '{"a": 1}[?"b"]', '{"a": 1}.?a'),
    "maybe string": ('optional.of("a")', "optional.none()", '["a"][?3]', "optional.ofNonZeroValue('')"),
    "maybe dyn": (
        'device.attributes["@domain"].?@name',
        'device.attributes[?"@domain"].model',
        'device.capacity["@domain"].?memory',
        "device.?driver",
    ),
}
"""Texts without anything below them; words with `@` are replaced."""
_TIMES = (
    *("getFullYear", "getMonth", "getDate", "getDayOfMonth", "getDayOfWeek", "getDayOfYear"),
    *("getHours", "getMinutes", "getSeconds", "getMilliseconds"),
)
_ZONES = ("+01:30", "-05:00", "UTC", "nowhere", "1:x")


class Generator:
    """Makes expressions of wanted types."""

    def __init__(self, random: Random) -> None:
        self._random = random
        self._variables: list[tuple[str, str]] = []
        self._makers: dict[str, list[Callable[[int], str]]] = {
            "bool": self._bools(),
            "int": self._ints(),
            "uint": self._uints(),
            "double": self._doubles(),
            "string": self._strings(),
            "bytes": self._bytes(),
            "duration": self._durations(),
            "timestamp": self._timestamps(),
            "quantity": self._quantities(),
            "semver": self._semvers(),
            "ints": self._lists("int"),
            "strings": self._lists("string"),
            "dyns": self._dyn_lists(),
            "map": self._maps(),
            "dyn": self._dyns(),
            "maybe int": self._optionals("int"),
            "maybe string": self._optionals("string"),
            "maybe dyn": self._optional_dyns(),
        }

    def selector(self) -> str:
        self._variables.clear()
        return self.of("bool", self._random.choice((1, 2, 2, 3, 3, 4, 5)))

    def of(self, kind: str, depth: int) -> str:
        random = self._random
        if random.random() < 0.01:
            kind = random.choice(list(self._makers))
        usable = [name for name, its in self._variables if its == kind]
        if usable and random.random() < 0.5:
            return random.choice(usable)
        if depth <= 0:
            return self._simple(kind)
        if random.random() < 0.06:
            wrapped = self.of(kind, depth - 1)
            return random.choice(
                (
                    f"dyn({wrapped})",
                    f"({wrapped})",
                    f"({self.of('bool', depth - 2)} ? {wrapped} : {self.of(kind, depth - 2)})",
                )
            )
        if random.random() < 0.04:
            return self._bound(kind, depth)
        return random.choice(self._makers[kind])(depth - 1)

    def _bound(self, kind: str, depth: int) -> str:
        name = self._name()
        its = self._random.choice(("int", "string", "dyn", "ints", "quantity", "maybe dyn", "bool"))
        value = self.of(its, depth - 2)
        self._variables.append((name, its))
        result = self.of(kind, depth - 1)
        self._variables.pop()
        return f"cel.bind({name}, {value}, {result})"

    def _name(self) -> str:
        return self._random.choice(("x", "y", "z", "v", "key"))

    def _domain(self) -> str:
        return self._random.choice(_DOMAINS)

    def _attribute(self) -> str:
        random = self._random
        name = random.choice(_ATTRIBUTES)
        selection = random.choice((f".{name}", f".{name}", f'["{name}"]'))
        return f'device.attributes["{self._domain()}"]{selection}'

    def _capacity(self) -> str:
        return f'device.capacity["{self._domain()}"].{self._random.choice(_CAPACITIES)}'

    def _simple(self, kind: str) -> str:
        random = self._random
        text = random.choice(_SIMPLE[kind])
        return (
            text.replace("@attribute", self._attribute())
            .replace("@capacity", self._capacity())
            .replace("@string", random.choice(_STRINGS))
            .replace("@domain", self._domain())
            .replace("@name", random.choice(_ATTRIBUTES))
        )

    def _template(self, text: str, *kinds: str) -> Callable[[int], str]:
        return lambda depth: text.format(*[self.of(kind, depth) for kind in kinds])

    def _choice(self, texts: tuple[str, ...], *kinds: str) -> Callable[[int], str]:
        return lambda depth: self._random.choice(texts).format(*[self.of(kind, depth) for kind in kinds])

    def _loop(self, texts: tuple[str, ...], over: str, its: str, *kinds: str) -> Callable[[int], str]:
        """A macro with a variable; `{0}` is the range, `{1}` the variable, `{2}` and so on use it."""

        def make(depth: int) -> str:
            source = self.of(over, depth - 1)
            name = self._name()
            self._variables.append((name, its))
            parts = [self.of(kind, depth - 1) for kind in kinds]
            self._variables.pop()
            return self._random.choice(texts).format(source, name, *parts)

        return make

    def _bools(self) -> list[Callable[[int], str]]:
        relation = ("{0} < {1}", "{0} <= {1}", "{0} > {1}", "{0} >= {1}")
        equality = ("{0} == {1}", "{0} != {1}")
        quantifiers = ("{0}.all({1}, {2})", "{0}.exists({1}, {2})", "{0}.exists_one({1}, {2})")
        two = ("{0}.all(i, {1}, {2})", "{0}.exists(i, {1}, {2})", "{0}.existsOne(i, {1}, {2})")
        pattern = self._random.choice
        kinds = ("int", "uint", "double", "string", "bytes", "duration", "timestamp", "dyn", "bool")
        return [
            self._choice(("({0} && {1})", "({0} || {1})"), "bool", "bool"),
            self._choice(("({0} && {1})", "({0} || {1})", "({0} && {1} && {0})"), "bool", "bool"),
            self._template("!({0})", "bool"),
            *[self._choice(relation, kind, kind) for kind in kinds],
            *[
                self._choice(equality, kind, kind)
                for kind in (*kinds, "ints", "strings", "map", "quantity", "semver", "maybe int", "dyns")
            ],
            self._choice(relation, "int", "double"),
            self._choice(relation, "uint", "int"),
            self._choice(equality, "dyn", "string"),
            self._choice(equality, "dyn", "int"),
            self._choice(equality, "string", "dyn"),
            self._choice(equality, "dyn", "dyn"),
            self._template("{0} in {1}", "int", "ints"),
            self._template("{0} in {1}", "string", "strings"),
            self._template("{0} in {1}", "dyn", "dyns"),
            self._template("{0} in {1}", "dyn", "strings"),
            self._template("{0} in {1}", "string", "map"),
            self._template('{0} in ["a100", "h100"]', "dyn"),
            self._template("{0} in [1, 2, 3]", "dyn"),
            self._template("{0} in [1.0, 2.5]", "dyn"),
            lambda depth: f'"{self._domain()}" in device.attributes',
            lambda depth: f'"{self._random.choice(_ATTRIBUTES)}" in device.attributes["{self._domain()}"]',
            lambda depth: f'has(device.attributes["{self._domain()}"].{self._random.choice(_ATTRIBUTES)})',
            self._choice(("has({0}.a)", "has({0}.missing)"), "map"),
            self._choice(("has({0}.a)",), "dyn"),
            self._choice(
                ("{0}.contains({1})", "{0}.startsWith({1})", "{0}.endsWith({1})"), "string", "string"
            ),
            self._choice(("{0}.contains({1})", "{0}.startsWith({1})", "{0}.endsWith({1})"), "dyn", "string"),
            lambda depth: f'{self.of("string", depth)}.matches("{pattern(_PATTERNS[:-1])}")',
            lambda depth: f'{self.of("dyn", depth)}.matches("{pattern(_PATTERNS)}")',
            self._template("{0}.matches({1})", "string", "string"),
            self._template("matches({0}, {1})", "string", "string"),
            self._loop(quantifiers, "ints", "int", "bool"),
            self._loop(quantifiers, "strings", "string", "bool"),
            self._loop(quantifiers, "dyns", "dyn", "bool"),
            self._loop(two, "ints", "int", "bool"),
            self._loop(two, "strings", "string", "bool"),
            self._loop(
                ("{{'a': {3}}}.all({1}, {2})", "{{'a': {3}}}.exists(k, {1}, {2})"),
                "ints",
                "string",
                "bool",
                "string",
            ),
            self._template("bool({0})", "string"),
            self._template("bool({0})", "dyn"),
            self._choice(("{0}.hasValue()",), "maybe dyn"),
            self._choice(("{0}.hasValue()",), "maybe int"),
            self._template("{0}.compareTo({1}) >= 0", "quantity", "quantity"),
            self._choice(("{0}.isGreaterThan({1})", "{0}.isLessThan({1})"), "quantity", "quantity"),
            self._choice(("{0}.isGreaterThan({1})", "{0}.isLessThan({1})"), "semver", "semver"),
            self._choice(("{0}.isGreaterThan({1})",), "dyn", "semver"),
            self._template("isQuantity({0})", "string"),
            self._template("isSemver({0})", "string"),
            self._template("{0}.isInteger()", "quantity"),
            self._template("{0}.isSorted()", "ints"),
            self._template("{0}.isSorted()", "strings"),
            self._template("{0}.includes({1})", "dyn", "dyn"),
            self._choice(
                ("sets.contains({0}, {1})", "sets.intersects({0}, {1})", "sets.equivalent({0}, {1})"),
                "ints",
                "ints",
            ),
            self._choice(("type({0}) == int", "type({0}) == string", "type({0}) == type({0})"), "dyn"),
            self._choice(("isIP({0})", "isCIDR({0})", "isURL({0})"), "string"),
        ]

    def _ints(self) -> list[Callable[[int], str]]:
        return [
            self._choice(("{0} + {1}", "{0} - {1}", "{0} * {1}", "{0} / {1}", "{0} % {1}"), "int", "int"),
            self._template("-({0})", "int"),
            self._choice(("size({0})", "{0}.size()"), "string"),
            self._choice(("size({0})", "{0}.size()"), "ints"),
            self._choice(("size({0})", "{0}.size()"), "dyn"),
            self._choice(("size({0})", "{0}.size()"), "map"),
            self._choice(("size({0})", "{0}.size()"), "bytes"),
            self._choice(("int({0})",), "string"),
            self._choice(("int({0})",), "double"),
            self._choice(("int({0})",), "uint"),
            self._choice(("int({0})",), "duration"),
            self._choice(("int({0})",), "timestamp"),
            self._choice(("int({0})",), "dyn"),
            self._template("{0}[{1}]", "ints", "int"),
            self._template("{0}[{1}]", "map", "string"),
            self._choice(("{0}.a", "{0}.b", '{0}["x"]'), "map"),
            self._template("{0}.indexOf({1})", "string", "string"),
            self._template("{0}.indexOf({1})", "ints", "int"),
            self._template("{0}.lastIndexOf({1})", "strings", "string"),
            self._choice(("{0}.sum()", "{0}.min()", "{0}.max()"), "ints"),
            self._template("{0}.compareTo({1})", "quantity", "quantity"),
            self._template("{0}.compareTo({1})", "semver", "semver"),
            self._choice(("{0}.major()", "{0}.minor()", "{0}.patch()"), "semver"),
            self._choice(("{0}.sign()", "{0}.asInteger()"), "quantity"),
            self._template("{0}.orValue({1})", "maybe int", "int"),
            self._template("{0}.value()", "maybe int"),
            lambda depth: f"{self.of('timestamp', depth)}.{self._random.choice(_TIMES)}()",
            self._time_in_zone,
            lambda depth: f"{self.of('duration', depth)}.{self._random.choice(_TIMES[6:])}()",
            self._template("{0}.orValue({1})", "maybe dyn", "int"),
            self._choice(("dyn({0}).reverse()[0]", "dyn({0}).first().value()"), "dyns"),
            self._choice(("(dyn({0}) + {1})[0]", "({1} + dyn({0}))[1]"), "dyns", "ints"),
            self._template("dyn({0}).orValue({1})", "maybe string", "int"),
            self._template("dyn({0})[{1}]", "map", "string"),
        ]

    def _time_in_zone(self, depth: int) -> str:
        part, zone = self._random.choice(_TIMES), self._random.choice(_ZONES)
        return f'{self.of("timestamp", depth)}.{part}("{zone}")'

    def _uints(self) -> list[Callable[[int], str]]:
        return [
            self._choice(("{0} + {1}", "{0} - {1}", "{0} * {1}", "{0} / {1}", "{0} % {1}"), "uint", "uint"),
            self._template("uint({0})", "int"),
            self._template("uint({0})", "double"),
            self._template("uint({0})", "string"),
            self._template("uint({0})", "dyn"),
        ]

    def _doubles(self) -> list[Callable[[int], str]]:
        return [
            self._choice(("{0} + {1}", "{0} - {1}", "{0} * {1}", "{0} / {1}"), "double", "double"),
            self._template("-({0})", "double"),
            self._template("double({0})", "int"),
            self._template("double({0})", "uint"),
            self._template("double({0})", "string"),
            self._template("double({0})", "dyn"),
            self._template("{0}.asApproximateFloat()", "quantity"),
        ]

    def _strings(self) -> list[Callable[[int], str]]:
        return [
            self._template("{0} + {1}", "string", "string"),
            self._template("{0} + {1}", "dyn", "string"),
            self._template("string({0})", "int"),
            self._template("string({0})", "double"),
            self._template("string({0})", "uint"),
            self._template("string({0})", "bool"),
            self._template("string({0})", "bytes"),
            self._template("string({0})", "duration"),
            self._template("string({0})", "timestamp"),
            self._template("string({0})", "dyn"),
            self._template("{0}[{1}]", "strings", "int"),
            self._template("{0}.charAt({1})", "string", "int"),
            self._choice(("{0}.lowerAscii()", "{0}.upperAscii()", "{0}.trim()"), "string"),
            self._choice(("{0}.lowerAscii()", "{0}.trim()"), "dyn"),
            self._template("{0}.substring({1})", "string", "int"),
            self._template("{0}.substring({1}, {2})", "string", "int", "int"),
            self._template("{0}.replace({1}, {2})", "string", "string", "string"),
            self._template("{0}.replace({1}, {2}, {3})", "string", "string", "string", "int"),
            self._choice(("{0}.join()", '{0}.join(",")'), "strings"),
            self._template("{0}.join({1})", "strings", "string"),
            lambda depth: f'{self.of("string", depth)}.find("{self._random.choice(_PATTERNS[:-1])}")',
            self._template("{0}.find({1})", "string", "string"),
            self._template('"%s-%d".format([{0}, {1}])', "string", "int"),
            self._template('"%s %s".format([{0}, {1}])', "double", "bool"),
            self._template('"%s".format([{0}])', "ints"),
            self._template("{0}.orValue({1})", "maybe string", "string"),
            self._template("{0}.orValue({1})", "maybe dyn", "string"),
            self._template("{0}.value()", "maybe string"),
            self._choice(("{0}.min()", "{0}.max()"), "strings"),
            self._template("strings.quote({0})", "string"),
            self._template("ip({0}).family() == 4 ? 'a' : 'b'", "string"),
        ]

    def _bytes(self) -> list[Callable[[int], str]]:
        return [self._template("{0} + {1}", "bytes", "bytes"), self._template("bytes({0})", "string")]

    def _durations(self) -> list[Callable[[int], str]]:
        return [
            self._choice(("{0} + {1}", "{0} - {1}"), "duration", "duration"),
            self._template("{0} - {1}", "timestamp", "timestamp"),
            self._template("duration({0})", "string"),
        ]

    def _timestamps(self) -> list[Callable[[int], str]]:
        return [
            self._choice(("{0} + {1}", "{0} - {1}"), "timestamp", "duration"),
            self._template("{1} + {0}", "timestamp", "duration"),
            self._template("timestamp({0})", "int"),
            self._template("timestamp({0})", "string"),
        ]

    def _quantities(self) -> list[Callable[[int], str]]:
        return [
            self._choice(("{0}.add({1})", "{0}.sub({1})"), "quantity", "quantity"),
            self._choice(("{0}.add({1})", "{0}.sub({1})"), "quantity", "int"),
            self._template("quantity({0})", "string"),
            lambda depth: self._capacity(),
            lambda depth: self._capacity(),
        ]

    def _semvers(self) -> list[Callable[[int], str]]:
        return [self._template("semver({0})", "string"), self._template("semver({0}, {1})", "string", "bool")]

    def _lists(self, kind: str) -> list[Callable[[int], str]]:
        kinds = f"{kind}s"
        special: list[Callable[[int], str]] = (
            [
                self._template("{0}.split({1})", "string", "string"),
                self._template("{0}.findAll({1})", "string", "string"),
            ]
            if kind == "string"
            else [lambda depth: f"lists.range({self._random.randint(0, 5)})"]
        )
        return [
            *special,
            self._template("{0} + {1}", kinds, kinds),
            self._template("[{0}]", kind),
            self._template("[{0}, {1}]", kind, kind),
            self._template("[{0}, ?{1}]", kind, f"maybe {kind}"),
            self._loop(("{0}.map({1}, {2})", "{0}.transformList(i, {1}, {2})"), kinds, kind, kind),
            self._loop(
                ("{0}.map({1}, {2}, {3})", "{0}.transformList(i, {1}, {2}, {3})"), kinds, kind, "bool", kind
            ),
            self._loop(("{0}.filter({1}, {2})",), kinds, kind, "bool"),
            self._loop(
                ("{0}.map({1}, {2})",),
                "strings" if kind == "int" else "ints",
                "string" if kind == "int" else "int",
                kind,
            ),
            self._loop(("{0}.sortBy({1}, {2})",), kinds, kind, "int"),
            self._choice(("{0}.sort()", "{0}.reverse()", "{0}.distinct()"), kinds),
            self._template("{0}.slice({1}, {2})", kinds, "int", "int"),
            self._template("[{0}, {1}].flatten()", kinds, kinds),
        ]

    def _dyn_lists(self) -> list[Callable[[int], str]]:
        return [
            self._template("[dyn({0}), {1}]", "int", "dyn"),
            self._template("[{0}]", "dyn"),
            self._template("{0} + {1}", "dyns", "dyns"),
            self._loop(("{0}.map({1}, {2})",), "dyns", "dyn", "dyn"),
            self._loop(("{0}.filter({1}, {2})",), "dyns", "dyn", "bool"),
            self._choice(("{0}.sort()", "{0}.distinct()", "{0}.reverse()"), "dyns"),
        ]

    def _maps(self) -> list[Callable[[int], str]]:
        return [
            self._template('{{"a": {0}}}', "int"),
            self._template('{{{0}: {1}, "b": 2}}', "string", "int"),
            self._template('{{?"a": {0}}}', "maybe int"),
            self._loop(("{0}.transformMapEntry(i, {1}, {{string(i): {2}}})",), "ints", "int", "int"),
            self._loop(("{{'k': 1}}.transformMap({1}, v, {2})",), "ints", "string", "int"),
            self._loop(("{{'k': 1}}.transformMap({1}, v, {2}, {3})",), "ints", "string", "bool", "int"),
        ]

    def _dyns(self) -> list[Callable[[int], str]]:
        return [
            lambda depth: self._attribute(),
            lambda depth: self._attribute(),
            lambda depth: f'device.attributes["{self._domain()}"][{self.of("string", depth)}]',
            lambda depth: f"device.attributes[{self.of('string', depth)}].{self._random.choice(_ATTRIBUTES)}",
            self._template("dyn({0})", "int"),
            self._template("dyn({0})", "string"),
            self._template("dyn({0})", "ints"),
            self._template("dyn({0})", "map"),
            self._template("dyn({0})", "double"),
            self._template("{0}[{1}]", "dyn", "dyn"),
            self._template("{0}.a", "dyn"),
            self._template("{0}.orValue({1})", "maybe dyn", "dyn"),
            self._template("{0}.value()", "maybe dyn"),
            self._template("{0}[{1}]", "dyns", "int"),
            self._choice(("{0} + {1}", "{0} - {1}", "{0} * {1}"), "dyn", "dyn"),
        ]

    def _optionals(self, kind: str) -> list[Callable[[int], str]]:
        maybe = f"maybe {kind}"
        return [
            self._template("optional.of({0})", kind),
            self._template("optional.ofNonZeroValue({0})", kind),
            self._template("{0}[?{1}]", f"{kind}s", "int"),
            self._template("{0}.or({1})", maybe, maybe),
            self._choice(("{0}.first()", "{0}.last()"), f"{kind}s"),
            self._loop(("{0}.optMap({1}, {2})",), maybe, kind, kind),
            self._loop(("{0}.optFlatMap({1}, {2})",), maybe, kind, maybe),
            *([self._choice(('{0}[?"a"]', "{0}.?b"), "map")] if kind == "int" else []),
        ]

    def _optional_dyns(self) -> list[Callable[[int], str]]:
        return [
            lambda depth: f'device.attributes["{self._domain()}"].?{self._random.choice(_ATTRIBUTES)}',
            lambda depth: f'device.attributes["{self._domain()}"][?{self.of("string", depth)}]',
            lambda depth: f'device.?attributes["{self._domain()}"].{self._random.choice(_ATTRIBUTES)}',
            self._template("optional.of({0})", "dyn"),
            self._template("{0}.or({1})", "maybe dyn", "maybe dyn"),
            self._template("{0}.?a", "dyn"),
            self._loop(("{0}.optMap({1}, {2})",), "maybe dyn", "dyn", "dyn"),
        ]


def random_device(random: Random) -> dict[str, Any]:
    attributes: dict[str, Any] = {}
    for name in _ATTRIBUTES:
        if name != "missing" and random.random() < 0.8:
            attributes[name] = {
                "model": {"string": random.choice(("a100", "h100", "GPU-1"))},
                "index": {"int": random.choice((0, 1, 2, 7, -1))},
                "ecc": {"bool": random.random() < 0.5},
                "driverVersion": {"version": random.choice(("1.2.3", "2.0.0-rc.1", "1.2.3+build"))},
                "empty": {"string": ""},
                "serial": {"string": random.choice(_STRINGS)},
                "text": {"string": random.choice(_STRINGS)},
            }[name]
    if random.random() < 0.5:
        attributes["topology.example.org/model"] = {"string": "rack"}
        attributes["topology.example.org/index"] = {"int": 3}
    if random.random() < 0.02:
        attributes["list"] = {"strings": ["a", "b"]}
    capacity = {
        name: {"value": random.choice(("40Gi", "80Gi", "1", "500m", "1e3", "0"))}
        for name in _CAPACITIES
        if name != "missing" and random.random() < 0.8
    }
    device: dict[str, Any] = {"name": "device", "attributes": attributes, "capacity": capacity}
    if random.random() < 0.3:
        device["allowMultipleAllocations"] = random.random() < 0.5
    return device


_PIECES = (
    *(
        " ",
        ".",
        ",",
        "(",
        ")",
        "[",
        "]",
        "{",
        "}",
        "?",
        ":",
        "-",
        "!",
        "+",
        "*",
        "/",
        "%",
        "&&",
        "||",
        "==",
        "<",
    ),
    *(
        "in",
        "1",
        "0x1F",
        "0x",
        "1u",
        ".5",
        "1e3",
        "1.",
        "9223372036854775808",
        "null",
        "true",
        "a",
        "x",
        "dyn",
    ),
    *("'", '"', "\\", "\\n", "b'", 'r"', "\n", "\t", "// ", "`", "_", "ä", "#", "optional", "if", "..", "--"),
    *(
        "device",
        "size",
        "has",
        "'''",
        "u",
        "\\x41",
        "\\777",
        "\\u00e4",
        "google.protobuf.Timestamp",
        "x{}",
        "!!",
    ),
)


def mutated(random: Random, expression: str) -> str:
    """With a few pieces taken out, put in or put in place of others."""
    for _ in range(random.choice((1, 1, 2, 3))):
        start = random.randrange(len(expression) + 1)
        end = min(len(expression), start + random.choice((0, 0, 1, 2, 5)))
        expression = expression[:start] + random.choice(("", *_PIECES)) + expression[end:]
    return expression


def cases(seed: int, count: int, *, mutate: bool = False) -> list[dict[str, Any]]:
    """Expressions with devices, as the original's evaluator reads them."""
    random = Random(seed)
    generator = Generator(random)
    made = []
    for _ in range(count):
        expression = generator.selector()
        if mutate:
            expression = mutated(random, expression)
        made.append({"expression": expression, "driver": DRIVER, "device": random_device(random)})
    return made
