"""Definitions with rules in CEL, and objects that keep or break them: what `record_custom_rules` asks about."""

from __future__ import annotations

from typing import Any

Document = dict[str, Any]
RULES = "x-kubernetes-validations"
KEEPS = "x-kubernetes-preserve-unknown-fields"
EMBEDDED = "x-kubernetes-embedded-resource"
INT_OR_STRING = "x-kubernetes-int-or-string"


def rule(text: str, **more: Any) -> Document:
    return {"rule": text, **more}


def ruled(schema: Document, *rules: str | Document, **more: Any) -> Document:
    """A schema with rules; the text of a rule is enough."""
    return {**schema, **more, RULES: [rule(each) if isinstance(each, str) else each for each in rules]}


def string(**more: Any) -> Document:
    return {"type": "string", **more}


def integer(**more: Any) -> Document:
    return {"type": "integer", **more}


def number(**more: Any) -> Document:
    return {"type": "number", **more}


def boolean(**more: Any) -> Document:
    return {"type": "boolean", **more}


def array(items: Document, **more: Any) -> Document:
    return {"type": "array", "items": items, **more}


def set_of(items: Document, **more: Any) -> Document:
    return array(items, **{"x-kubernetes-list-type": "set", **more})


def keyed(items: Document, *keys: str, **more: Any) -> Document:
    of_keys = {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": list(keys)}
    return array(items, **{**of_keys, **more})


def map_of(values: Document, **more: Any) -> Document:
    return {"type": "object", "additionalProperties": values, **more}


def obj(properties: Document, **more: Any) -> Document:
    return {"type": "object", "properties": properties, **more}


def root(spec: Document, *rules: str | Document, **properties: Document) -> Document:
    whole = obj({"spec": spec, **properties})
    return ruled(whole, *rules) if rules else whole


def loose(**more: Any) -> Document:
    return {INT_OR_STRING: True, **more}


ITEM = obj({"k": string(), "v": integer()}, required=["k"])
PROPERTIES = {
    "s": string(),
    "s5": string(maxLength=5),
    "e": string(enum=["one", "three"]),
    "i": integer(),
    "i32": integer(format="int32"),
    "n": number(),
    "b": boolean(),
    "dt": string(format="date-time"),
    "d": string(format="date"),
    "du": string(format="duration"),
    "by": string(format="byte"),
    "ip": string(format="ipv4"),
    "ios": loose(),
    "ios5": loose(maxLength=5),
    "l": array(string()),
    "l5": array(string(maxLength=10), maxItems=5),
    "li": array(integer(), maxItems=10),
    "lo": array(ITEM),
    "ll": array(array(integer(), maxItems=5), maxItems=5),
    "set": set_of(string()),
    "ml": keyed(ITEM, "k"),
    "m": map_of(string()),
    "m5": map_of(string(maxLength=10), maxProperties=5),
    "mo": map_of(ITEM),
    "o": obj({"a": string(), "b": integer()}),
    "o2": obj({"a": string(), "b": integer()}),
    "nul": string(nullable=True),
    "nulo": obj({"a": string()}, nullable=True),
    "emb": obj({"spec": obj({"a": string()})}, **{EMBEDDED: True}),
    "embp": {"type": "object", EMBEDDED: True, KEEPS: True},
    "pu": {"type": "object", KEEPS: True},
    "pup": obj({"known": string()}, **{KEEPS: True}),
    "any": {KEEPS: True},
    "la": array({KEEPS: True}),
    "empty": {"type": "object"},
    "open": {"type": "object", "additionalProperties": True},
    "my-field": string(),
    "a__b": string(),
    "x.y": string(),
    "p/q": string(),
    "namespace": string(),
    "true": string(),
    "_under": string(),
    "__two__": string(),
    "1abc": string(),
    "ünï": string(),
    "self": string(),
    "int": integer(),
}
SPEC = obj(PROPERTIES)

EXPRESSIONS = """\
true
self.s == 'a'
self.s.size() > 3 && self.i < 10
has(self.s) && self.s.startsWith('a')
self.missing == 1
has(self.missing)
self.s == 1
self.s + 1 == 'a1'
self.i == '1'
self.i == 1.0
self.i < 1.5
self.i < self.n
self.n == 1
self.n > 1.0
self.b
!self.b
self.i
self.s
self
'text'
self.ios
self.ios == 1
self.ios == '1'
self.ios > 5
type(self.ios) == string ? self.ios.endsWith('%') : self.ios < 5
self.ios + 1 == 2
self.ios5.size() < 3
self.dt > timestamp('2020-01-01T00:00:00Z')
self.dt > self.d
self.dt == '2020-01-01T00:00:00Z'
self.d.getFullYear() > 2000
self.du > duration('1h')
self.du < self.dt
self.dt - self.d < self.du
self.by == b'abc'
self.by.size() < 10
self.by == 'abc'
self.ip.startsWith('10.')
ip(self.ip).family() == 4
isIP(self.s)
self.l.all(x, x == 'a')
self.l5.all(x, x == 'a')
self.l5.all(x, x > 1)
self.l5.exists(x, self.l5.exists(y, x == y))
self.l == ['a']
self.l == [1]
self.l + ['b'] == ['a', 'b']
self.l[0] == 'a'
self.l['a'] == 'a'
self.l.foo
self.li.sum() > 3
self.li.max() > 3
self.li.isSorted()
self.l5.isSorted()
self.l5.join(',').size() < 10
self.l5.map(x, x + 'a').size() > 0
self.l5.filter(x, x != 'a') == []
self.ll.all(x, x.all(y, y > 0))
self.ll[0][0] == 1
self.lo.all(x, x.k == 'a')
self.lo.all(x, x.z == 'a')
self.lo[0].k == 'a'
self.set == ['a', 'b']
'a' in self.set
1 in self.set
self.set.exists_one(x, x == 'a')
sets.contains(self.l5, ['a'])
sets.equivalent(self.l5, self.l5)
self.ml.all(x, x.v > 1)
self.ml == self.lo
self.ml.exists(x, x.k == 'a' && x.v == 1)
self.m['a'] == 'b'
self.m.a == 'b'
'a' in self.m
self.m.all(k, self.m[k] == 'x')
self.m5.all(k, self.m5[k] == 'x')
self.m5.all(k, v, k == v)
self.m == {'a': 'b'}
self.m == {'a': 1}
self.m[1] == 'b'
self.mo.all(k, self.mo[k].k == 'x')
self.mo['a'].z == 1
self.o.a == 'x'
self.o == self.o2
self.o == self.o
self.o == {'a': 'x'}
self.o['a'] == 'x'
self.o.all(k, k == 'a')
self.o + self.o
self.nul == null
self.nulo == null
self.s == null
self.emb.metadata.name == 'x'
self.emb.kind == 'x' && self.emb.apiVersion == 'v1'
self.emb.metadata.labels == {}
self.emb.spec.a == 'x'
self.embp.metadata.generateName == 'x'
self.embp.spec.a == 'x'
self.pu.a == 1
self.pu == self.pu
has(self.pu.a)
self.pup.known == 'x'
self.pup.unknown == 'x'
self.any == 1
has(self.any)
self.la.size() == 0
self.empty.a == 1
self.open.a == 1
self.my__dash__field == 'x'
self.my-field == 'x'
self.a__underscores__b == 'x'
self.a__b == 'x'
self.x__dot__y == 'x'
self.p__slash__q == 'x'
self.__namespace__ == 'x'
self.namespace == 'x'
self.__true__ == 'x'
self.true == 'x'
self._under == 'x'
self.__two__ == 'x'
self.__underscores__two__underscores__ == 'x'
self.ünï == 'x'
self.self == 'x'
self.int == 1
metadata.name == 'x'
object.spec == 1
oldSelf.i <= self.i
oldSelf == self
self.i >= oldSelf
self.all(oldSelf, true)
self.s.matches('[a-z]+')
self.s.matches('[a-z')
self.s.matches(self.s)
self.s5.matches('^[a-z]*$')
self.s5.find('[a-z') == ''
duration('1x') < self.du
timestamp('yesterday') < self.dt
self.s ==
self.s == 'a
(self.s == 'a'
self.s = 'a'
self.s === 'a'
self..s == 'a'
1 +
if (true) { true }
self.i > 0 and self.i < 5
self.i > 0 & self.i < 5
'\\q' == 'q'
1 == 1u
[1, 'a'].size() == 2
{'a': 1, 'b': 'x'}.size() == 2
[1, 2].exists(x, x == self.i)
self.i in [1, 2, 3]
self.e in ['one', 'two']
self.e.matches('.*')
self.unknownFunction()
unknownFunction(self.s)
self.s.size(1) > 0
size(self.s, 1) > 0
self.s.split(',')[0] == 'a'
self.s.lowerAscii() == self.s
self.s5.replace('a', 'b') == 'x'
'%s'.format([self.s]) == 'x'
'%d %s'.format([self.i]) == 'x'
url(self.s).getHost() == 'x'
isURL(self.s)
quantity(self.s).isGreaterThan(quantity('1'))
isQuantity(self.s5)
semver('1.0.0').isLessThan(semver(self.s))
cidr('10.0.0.0/8').containsIP(self.ip)
format.dns1123Label().validate(self.s5).hasValue()
format.nothing().validate(self.s5).hasValue()
!format.named('dns1123Label').hasValue()
self.?s.orValue('x') == 'x'
self.?o.?a.hasValue()
optional.of(self.s).hasValue()
optional.none().hasValue()
self.o.?missing.hasValue()
authorizer.path('/x').check('get').allowed()
request.name == 'x'
cel.bind(x, self.s5, x + x == 'aa')
self.l5.sort() == self.l5
self.l5.distinct().size() == self.l5.size()
self.l5.transformList(i, v, i).size() > 0
self.l5.flatten()
lists.range(5).all(x, x < 6)
lists.range(self.i).all(x, x < 6)
math.greatest(1, 2) == 2
self.s.charAt(0) == 'a'
self.s.indexOf('a') == 0
dyn(self.s) == 1
dyn(self.s)
string(self.i) == '1'
int(self.s) == 1
double(self.i) == self.n
bool(self.s)
self.i / 0 == 1
self.i % 2 == 0
-self.i < 0
self.b ? true : false
self.b ? 1 : 'a'
self.b ? self.s == 'a' : self.i
self.l.exists(x, y, x == y)
self.s.all(x, x == 'a')
has(self)
has(self.s.size())
has(self['s'])
self.s.foo
type(self) == map
type(self.o) == self
self.spec
!self.s
self.s && self.b
self.s || self.i
self.s in ['a', 1]
{self.s: 1}.size() == 1
{1.5: 1}.size() == 1
Foo{a: 1} == self
self.l5.all(x, self.l5.all(y, self.l5.all(z, x == y && y == z)))
self.l.all(x, self.l.all(y, x == y))
self.m.all(k, self.m.all(j, self.m[k] == self.m[j]))
self.lo.all(x, self.lo.exists_one(y, x.k == y.k))
self.l.map(x, x.size()).sum() < 100
self.s.contains(self.s)
self.l.exists(x, x.contains(self.s))
self.set.all(x, x in self.l)
self.l5.all(x, x in self.l5)
self.s + self.s == self.s
[self.s, self.s].all(x, x == self.s)
self.li.all(x, self.li.filter(y, y == x).size() == 1)
self.by + self.by == b''
self.m5.map(k, k).size() == 5
self.m5.exists(k, k.startsWith('a') && self.m5[k].endsWith('b'))
self.ll.map(x, x.sum()).sum() > 5
""".splitlines()
"""Each is the only rule of a spec with all these properties."""
SYNTAX = r"""
self.1 == 1
self.'a'
self.(1)
self.[0]
self.{
self.in
self.null == 1
self.false
self.-1
self.
self. == 1
self.+
self.,
self.)
self.?
self.?1
self.?.a
self.`a` == 1
self.s.size( > 1
self.s.size(1
self.s.size(1,
self.s.size(1,)
self.s.size(,1)
self.s.size())
self.l[0
self.l[
self.l[]
self.l[0) == 1
((self.b)
(self.b
[1, 2
[1 2]
[1,,2]
{1: 2
{1 2}
{'a' 1}
self.b ? 1
self.b ? 1 2
self.b ?
self.b ? : 1
self.b : 1
self.s == 'a' 'b'
self.s == 'a' b c
self.b &&
self.b && || self.b
&& self.b
== 1
self.b or self.b
not self.b
self.b; true
self.b, true
self.b @ 1
self.b $ 1 $ 2
self.b # comment
self.s == "a
self.s == 'a
b'
self.s == 'a\xzz'
self.s == '\u12'
self.s == 'it's'
self.s == `a`
has(self.s
has(self.s) has(self.b)
self.l.all(x, x > 1
self.l.all(x x > 1)
self.l.all(x, )
1 + + 1
1 + * 1
()
[
]
)
}
self self self self
if self.b then true
self.b = true
self.b | true
self.b & true & false
a.b.c.
.self.
1.5.6
1..2
0x
0xg
5abc
'a' 'b' 'c'
\
self.b \ true
""".strip().splitlines()
"""Expressions that cannot be read."""

ALL = rule("self.all(x, x.size() > 0)")
MESSAGE = "messageExpression"
LONG_LIST = array(string(maxLength=100), maxItems=1000)


def _definitions() -> dict[str, Document]:
    of_strings = ruled(array(ruled(string(), "self.size() > 0")), ALL)
    old = "self == oldSelf"
    inside = {"a": ruled(string(), old)}
    return {
        "rule at the root": root(SPEC, "self.spec.s == 'a'"),
        "metadata at the root": root(SPEC, "self.metadata.name == 'a'", "self.metadata.generateName == ''"),
        "labels at the root": root(SPEC, "self.metadata.labels == {}", "self.metadata.namespace == ''"),
        "kind at the root": root(SPEC, "self.kind == 'a' && self.apiVersion == 'b'", "self.status == 1"),
        "metadata that is declared": {
            **root(SPEC, "self.metadata.name.size() < 5"),
            "properties": {
                "spec": SPEC,
                "metadata": obj({"name": ruled(string(maxLength=5), "self == 'a'")}),
            },
        },
        "metadata that is declared in whole": {
            **root(SPEC, "self.metadata.name.matches(self.kind)"),
            "properties": {
                "apiVersion": string(maxLength=9),
                "kind": string(maxLength=9),
                "metadata": obj(
                    {"name": string(maxLength=5), "generateName": ruled(string(maxLength=5), "self == 'a'")}
                ),
            },
        },
        "rules everywhere": root(
            ruled(
                obj(
                    {
                        "s": ruled(string(), "self == 'a'", "self.size() == 1"),
                        "i": ruled(integer(), "self > 0"),
                        "l": ruled(LONG_LIST, "self.size() > 0"),
                        "m": ruled(
                            map_of(ruled(string(), "self.size() > 0"), maxProperties=9), "self.size() > 0"
                        ),
                    }
                ),
                "has(self.s)",
            ),
            "has(self.spec)",
        ),
        "wrong in three places": root(
            ruled(obj({"s": ruled(string(), "self == 1"), "i": ruled(integer(), "self ==")}), "self.z == 1")
        ),
        "several wrong rules": root(ruled(SPEC, "self.z == 1", "true", "self.s", "self.i + 'a'")),
        "rule over lines": root(ruled(SPEC, rule("self.s == 'a' &&\n  self.z == 1", message="m"))),
        "wide letters": root(ruled(SPEC, "self.s == 'ü€𝄞' && self.z == '‘' || self.y")),
        "rule for an unescapable property": root(obj({"1abc": ruled(string(), "self == 1", "self == 'a'")})),
        "rule for a reserved property": root(obj({"for": ruled(string(), "self == 1", "self == 'a'")})),
        "rule for what is not typed": root(obj({"any": ruled({KEEPS: True}, "true")})),
        "rule for a list of what is not typed": root(obj({"la": ruled(array({KEEPS: True}), "true")})),
        "rule for a map of what is not typed": root(obj({"ma": ruled(map_of({KEEPS: True}), "true")})),
        "rule within what is not seen": root(
            ruled(obj({"la": array(ruled({KEEPS: True}, "true"))}), "has(self.la)")
        ),
        "rule for int or string": root(obj({"a": ruled(loose(), "self == 1", "self > 'a'", "self.z == 1")})),
        "rule for an embedded object": root(
            obj(
                {
                    "e": ruled(
                        PROPERTIES["emb"], "self.metadata.name == self.spec.a", "self.metadata.labels == 1"
                    )
                }
            )
        ),
        "rule for an open embedded object": root(
            obj({"e": ruled(PROPERTIES["embp"], "self.kind == 'a'", "self.spec == 1")})
        ),
        "rule for a nullable": root(obj({"a": ruled(string(nullable=True), "self == null", "self == 'a'")})),
        "rule for an open object": root(
            obj({"a": ruled(PROPERTIES["pup"], "self.known == 'a'", "self.z == 1")})
        ),
        "rule for allowed properties": root(
            obj({"a": ruled(PROPERTIES["open"], "self.z == 1", "self.size() == 0")})
        ),
        "rule for a boolean": root(obj({"a": ruled(boolean(), "self", "!self")})),
        "rule for a date": root(
            obj({"a": ruled(string(format="date"), "self > timestamp('2020-01-01T00:00:00Z')")})
        ),
        "old self in an atomic list": root(obj({"l": array(obj(inside))})),
        "old self in a set": root(obj({"l": set_of(ruled(string(), old))})),
        "old self in an atomic object": root(obj({"o": obj(inside, **{"x-kubernetes-map-type": "atomic"})})),
        "old self in a keyed list": root(
            obj({"l": keyed(obj({"k": string(), **inside}, required=["k"]), "k")})
        ),
        "old self in a list in a keyed list": root(
            obj({"l": keyed(obj({"k": string(), "in": array(obj(inside))}, required=["k"]), "k")})
        ),
        "old self in a keyed list in a list": root(
            obj({"o": array(obj({"l": keyed(obj({"k": string(), **inside}, required=["k"]), "k")}))})
        ),
        "old self in a map": root(obj({"m": map_of(ruled(string(), old))})),
        "old self of a list": root(obj({"l": ruled(array(string(maxLength=9), maxItems=9), old)})),
        "old self in deep lists": root(obj({"l": array(array(ruled(integer(), old)))})),
        "old self at the root": root(SPEC, "self.spec.i == oldSelf.spec.i"),
        "optional old self": root(
            ruled(
                SPEC,
                rule("oldSelf.hasValue() || self.i == 1", optionalOldSelf=True),
                rule("oldSelf.orValue(self).i <= self.i", optionalOldSelf=True),
                rule("!oldSelf.hasValue() || oldSelf.value().i == self.i", optionalOldSelf=True),
                rule("oldSelf.?i.orValue(0) <= self.i", optionalOldSelf=True),
            )
        ),
        "optional old self used plainly": root(
            ruled(
                SPEC,
                rule("oldSelf.i <= self.i", optionalOldSelf=True),
                rule("oldSelf == self", optionalOldSelf=True),
                rule("self.i == 1", optionalOldSelf=True),
                rule("self.i == 1", optionalOldSelf=False),
                rule("oldSelf.hasValue()", optionalOldSelf=False),
                rule("self.i ==", optionalOldSelf=True),
                rule("oldSelf.z.hasValue()", optionalOldSelf=True),
                rule("oldSelf.value().z == 1", optionalOldSelf=True),
            )
        ),
        "optional old self in an atomic list": root(
            obj({"l": array(ruled(string(), rule("oldSelf.hasValue()", optionalOldSelf=True)))})
        ),
        "messages that are computed": root(
            ruled(
                SPEC,
                rule("true", messageExpression="'a' + self.s"),
                rule("true", messageExpression="self.i"),
                rule("true", messageExpression="self.z"),
                rule("true", messageExpression="'a' +"),
                rule("true", messageExpression="dyn('a')"),
                rule("true", messageExpression="oldSelf.s"),
                rule("true", messageExpression="string(self.i)", message="m"),
                rule("true", messageExpression="b'a'"),
                rule("true", messageExpression="self.s.matches('[') ? 'a' : 'b'"),
                rule("self.z", messageExpression="self.z"),
                rule("self.i ==", messageExpression="self.z", message="m", reason="FieldValueForbidden"),
            )
        ),
        "a message with a number": root(
            ruled(obj({"i": integer()}), rule("true", messageExpression="'has ' + string(self.i)"))
        ),
        "messages that cost too much": root(
            ruled(
                SPEC,
                rule("true", messageExpression="self.l.map(x, self.l.map(y, x + y).join('')).join('')"),
                rule("true", messageExpression="self.l.all(x, self.l.all(y, x == y)) ? 'a' : 'b'"),
                rule("true", messageExpression="self.s.replace('', self.s)"),
                rule("true", messageExpression="self.l5.join(',')"),
            )
        ),
        "reasons": root(
            ruled(
                SPEC,
                *(
                    rule("true", reason=f"FieldValue{name}")
                    for name in ("Required", "Forbidden", "Invalid", "Duplicate")
                ),
            )
        ),
        "wrong reason": root(ruled(SPEC, rule("true", reason="Wrong"), rule("self.z"))),
        "paths of fields": root(
            ruled(
                SPEC,
                *(
                    rule("true", fieldPath=path)
                    for path in (".s", ".o.a", "['s']", ".o['a']", ".mo", ".mo.x", ".mo['x'].k", ".mo.x.k")
                ),
                *(
                    rule("true", fieldPath=path)
                    for path in (".my-field", "['my-field']", "['a__b']", ".m['it\\'s']")
                ),
            )
        ),
        "wrong paths of fields": root(
            ruled(
                SPEC,
                *(
                    rule("true", fieldPath=path)
                    for path in (
                        ".z",
                        "s",
                        "s.",
                        ".",
                        ".s.",
                        ".s.x",
                        ".l[0]",
                        ".l",
                        ".o[a]",
                        "['s'",
                        "[s]",
                        ".o.['a']",
                        ".s\n",
                        " .s",
                        " ",
                        "..s",
                        "['s']x",
                        ".mo['x'].z",
                        ".m['\\q']",
                        ".pu.x",
                        "['']",
                        ".any.x",
                    )
                ),
            )
        ),
        "rule beside other mistakes": root(
            obj(
                {
                    "a": ruled(string(**{"x-kubernetes-list-type": "set"}), "self.z"),
                    "b": ruled(string(), "self.z"),
                }
            )
        ),
        "rule above other mistakes": root(
            ruled(
                obj({"a": string(**{"x-kubernetes-list-type": "set"}), "b": ruled(string(), "self.z")}),
                "self.z",
            )
        ),
        "rule and no type": root(ruled({}, "self.z")),
        "empty rule beside a wrong one": root(ruled(SPEC, "", "self.z")),
        "rule in all of": root({**SPEC, "allOf": [{RULES: [rule("self.s == 'a'")]}]}),
        "rule in any of": root({**SPEC, "anyOf": [{"properties": {"s": {RULES: [rule("self == 'a'")]}}}]}),
        "rule in not": root({**SPEC, "not": {RULES: [rule("self.s == 'a'")]}}),
        # Costs
        "unbounded list of unbounded strings": root(obj({"l": of_strings})),
        "rule in a list without a limit": root(obj({"l": array(ruled(string(), "self.matches('a')"))})),
        "rule in a list with a limit": root(
            obj({"l": array(ruled(string(maxLength=10), "self.matches('a')"), maxItems=10)})
        ),
        "rule in a long list": root(
            obj(
                {"l": array(ruled(string(maxLength=1000), "self.matches('abcdefghijklmnop')"), maxItems=1000)}
            )
        ),
        "rule in a longer list": root(
            obj(
                {
                    "l": array(
                        ruled(string(maxLength=1000), "self.matches('abcdefghijklmnop')"), maxItems=10000
                    )
                }
            )
        ),
        "rule a little too dear": root(
            obj({"l": array(ruled(string(), "self == 'abcdefghij'"), maxItems=3_500_000)})
        ),
        "rule in a map without a limit": root(obj({"m": map_of(ruled(string(), "self.matches('abc')"))})),
        "rule in a map with a limit": root(
            obj({"m": map_of(ruled(string(maxLength=10), "self.matches('abc')"), maxProperties=10)})
        ),
        "rule in objects with required properties": root(
            obj(
                {
                    "l": array(
                        ruled(
                            obj({"name": string(), "x": string(default="a")}, required=["name", "x"]),
                            "self.name.contains('a')",
                        )
                    )
                }
            )
        ),
        "rule in lists in lists": root(obj({"l": array(array(array(ruled(integer(), "self > 0"))))})),
        "rule in bounded lists in lists": root(
            obj({"l": array(array(ruled(integer(), "self > 0 && self < 100"), maxItems=100), maxItems=100)})
        ),
        "rule in a bounded list in a list": root(
            obj({"l": array(array(ruled(integer(), "self > 0"), maxItems=100))})
        ),
        "negative limits": root(
            obj({"l": array(ruled(string(maxLength=-1), "self.matches('a')"), maxItems=-5)})
        ),
        "limit of none": root(obj({"l": array(ruled(string(maxLength=0), "self.matches('a')"), maxItems=0)})),
        "many rules too dear together": root(
            obj(
                {
                    f"l{n}": ruled(
                        array(string(maxLength=100), maxItems=60 + n),
                        "self.all(x, self.all(y, self.all(z, x.contains(z))))",
                    )
                    for n in range(5)
                }
            )
        ),
        "many rules just affordable": root(
            obj(
                {
                    f"l{n}": ruled(
                        array(string(maxLength=10), maxItems=40), "self.all(x, self.all(y, x == y))"
                    )
                    for n in range(9)
                }
            )
        ),
        "twelve rules too dear together": root(
            ruled(
                obj({"l": array(integer(), maxItems=1100)}),
                *(f"self.l.all(x, self.l.exists(y, x == y + {n}))" for n in range(20)),
            )
        ),
        "dates are short": root(
            obj(
                {
                    "l": ruled(
                        array(string(format="date-time")),
                        "self.all(x, x > timestamp('2020-01-01T00:00:00Z'))",
                    )
                }
            )
        ),
        "durations are short": root(
            obj({"l": ruled(array(string(format="duration")), "self.all(x, x > duration('1h'))")})
        ),
        "bytes": root(
            obj(
                {
                    "l": ruled(
                        array(string(format="byte", maxLength=10), maxItems=10), "self.all(x, x.size() > 1)"
                    )
                }
            )
        ),
        "enums are short": root(
            obj(
                {
                    "l": ruled(
                        array(string(enum=["a", "bcdefgh"]), maxItems=100), "self.all(x, self.all(y, x == y))"
                    )
                }
            )
        ),
        "enums and a length": root(
            obj(
                {
                    "l": ruled(
                        array(string(enum=["a", "bc"], maxLength=50), maxItems=100),
                        "self.all(x, self.all(y, x == y))",
                    )
                }
            )
        ),
        "int or string with a length": root(
            obj({"l": ruled(array(loose(maxLength=10), maxItems=100), "self.all(x, self.all(y, x == y))")})
        ),
        "int or string without a length": root(
            obj({"l": ruled(array(loose(), maxItems=100), "self.all(x, string(x).contains('a'))")})
        ),
        "keys of a map": root(
            obj({"m": ruled(map_of(string(maxLength=5)), "self.all(k, k.contains('abc'))")})
        ),
        "values of a map": root(
            obj(
                {
                    "m": ruled(
                        map_of(string(maxLength=5), maxProperties=100), "self.all(k, self[k].contains('abc'))"
                    )
                }
            )
        ),
        "objects in a map": root(
            obj({"m": ruled(map_of(ITEM, maxProperties=100), "self.all(k, self[k].k.contains('abc'))")})
        ),
        "uniqueness": root(
            obj({"l": ruled(array(ITEM, maxItems=64), "self.all(x, self.exists_one(y, x.k == y.k))")})
        ),
        "uniqueness without a limit": root(
            obj({"l": ruled(array(ITEM), "self.all(x, self.exists_one(y, x.k == y.k))")})
        ),
        "metadata is unbounded": root(SPEC, "self.metadata.name.matches(self.metadata.name)"),
        "computed strings": root(
            obj(
                {
                    "l": ruled(
                        array(string(maxLength=10), maxItems=100),
                        "self.map(x, x + x).all(x, x.contains('abc'))",
                    )
                }
            )
        ),
        "split and join": root(
            obj(
                {
                    "s": ruled(
                        string(maxLength=1000),
                        "self.split(',').all(x, x.size() > 1)",
                        "self.split(',').join(';').contains('abc')",
                    )
                }
            )
        ),
        "split without a limit": root(obj({"s": ruled(string(), "self.split(',').all(x, x.size() > 1)")})),
        "find all": root(obj({"s": ruled(string(maxLength=1000), "self.findAll('a').all(x, x.size() > 0)")})),
        "sums and orders": root(
            obj(
                {
                    "l": ruled(
                        array(string(maxLength=50), maxItems=5000),
                        "self.isSorted()",
                        "self.indexOf('a') == 0",
                        "self.max() == 'a'",
                    )
                }
            )
        ),
        "orders without a limit": root(obj({"l": ruled(array(string()), "self.isSorted()")})),
        "sets of lists": root(
            obj(
                {
                    "l": ruled(
                        array(string(maxLength=50), maxItems=2000),
                        "sets.contains(self, self)",
                        "sets.intersects(self, ['a'])",
                    )
                }
            )
        ),
        "names and quantities": root(
            obj(
                {
                    "l": ruled(
                        array(string()),
                        "self.all(x, isQuantity(x))",
                        "self.all(x, format.dns1123Label().validate(x).hasValue())",
                    )
                }
            )
        ),
        "addresses": root(
            obj(
                {
                    "l": ruled(
                        array(string(maxLength=50), maxItems=9999),
                        "self.all(x, cidr('10.0.0.0/8').containsIP(x))",
                        "self.all(x, url(x).getHost() == 'a')",
                    )
                }
            )
        ),
        "conditions": root(
            obj(
                {
                    "l": ruled(
                        LONG_LIST,
                        "self.size() > 5 ? self.all(x, x.contains('abc')) : self.all(x, self.all(y, x == y))",
                    )
                }
            )
        ),
        "bindings": root(
            obj({"l": ruled(LONG_LIST, "cel.bind(a, self.map(x, x + x), a.all(x, a.all(y, x == y)))")})
        ),
        "optional old self has a cost": root(
            obj(
                {
                    "l": ruled(
                        LONG_LIST,
                        rule(
                            "oldSelf.hasValue() && oldSelf.value().all(x, self.all(y, x.contains(y)))",
                            optionalOldSelf=True,
                        ),
                    )
                }
            )
        ),
        "old self has a cost": root(
            obj({"l": ruled(LONG_LIST, "oldSelf.all(x, self.all(y, x.contains(y)))")})
        ),
        "two variables": root(
            obj(
                {
                    "m": ruled(
                        map_of(string(maxLength=99), maxProperties=999),
                        "self.all(k, v, self.all(j, w, v.contains(w)))",
                    )
                }
            )
        ),
        "indexing": root(
            obj(
                {
                    "l": ruled(
                        LONG_LIST, "self.all(x, self[0].contains(x) && self[self.size() - 1].contains('abc'))"
                    )
                }
            )
        ),
        "equality of large things": root(
            obj(
                {
                    "a": LONG_LIST,
                    "b": LONG_LIST,
                    **{
                        "l": array(
                            ruled(obj({"a": LONG_LIST, "b": LONG_LIST}), "self.a == self.b"), maxItems=9999
                        )
                    },
                }
            )
        ),
        "format": root(
            obj(
                {
                    "s": ruled(
                        string(),
                        "'%s'.format([self]).contains('abc')",
                        "self.replace('a', 'bcd').contains('x')",
                    )
                }
            )
        ),
        # Defaults
        "default that keeps a rule": root(obj({"a": ruled(string(default="a"), "self == 'a'")})),
        "default that breaks a rule": root(obj({"a": ruled(string(default="b"), "self == 'a'")})),
        "default that breaks two rules": root(
            obj(
                {
                    "a": ruled(
                        obj({"x": ruled(integer(), "self > 5"), "y": integer()}, default={"x": 1, "y": 2}),
                        rule("self.x > self.y", message="order"),
                    )
                }
            )
        ),
        "default with a wrong rule": root(
            obj({"a": ruled(string(default="b"), "self.z == 1"), "b": ruled(string(), "self.z")})
        ),
        "default with a transition": root(obj({"a": ruled(string(default="b"), "self != oldSelf")})),
        "default with an optional transition": root(
            obj({"a": ruled(string(default="b"), rule("oldSelf.hasValue()", optionalOldSelf=True))})
        ),
        "default with a message": root(
            obj(
                {
                    "a": ruled(
                        integer(default=3),
                        rule(
                            "self > 5",
                            messageExpression="string(self) + ' is not enough'",
                            reason="FieldValueForbidden",
                        ),
                    )
                }
            )
        ),
        "default with a path": root(
            obj({"a": ruled(obj({"x": integer()}, default={"x": 3}), rule("self.x > 5", fieldPath=".x"))})
        ),
        "default of an item": root(obj({"l": array(obj({"a": ruled(string(default="b"), "self == 'a'")}))})),
        "default that has no value": root(
            obj({"a": ruled(obj({"x": integer()}, default={}), "self.x == 1")})
        ),
        "default with a rule around it": root(ruled(obj({"a": string(default="b")}), "self.a == 'a'")),
        "default of an embedded object": root(
            obj(
                {
                    "e": ruled(
                        {
                            **PROPERTIES["emb"],
                            "default": {"apiVersion": "v1", "kind": "A", "metadata": {"name": "x"}},
                        },
                        "self.metadata.name == 'y'",
                    )
                }
            )
        ),
        "default that costs too much": root(
            obj(
                {
                    "l": ruled(
                        array(integer(), default=list(range(300)), maxItems=500),
                        "self.all(x, self.all(y, self.exists(z, x + y + z < 0) || true))",
                    )
                }
            )
        ),
    }


DEFINITIONS = _definitions()

_DEAR = root(obj({"l": ruled(array(string()), "self.all(x, x.contains('abcdefghijk'))")}))
_DEAR_BEFORE = root(obj({"l": array(string())}))
CHANGES: list[tuple[str, Document, Document]] = [
    ("a rule comes", root(SPEC), root(ruled(SPEC, "self.z == 1"))),
    ("a good rule comes", root(SPEC), root(ruled(SPEC, "self.s == 'a'"))),
    ("a rule that is too dear comes", _DEAR_BEFORE, _DEAR),
    ("a rule changes", root(ruled(SPEC, "self.s == 'a'")), root(ruled(SPEC, "self.s == 1"))),
    (
        "the type below a rule changes",
        root(obj({"a": ruled(string(), "self == 'a'")})),
        root(obj({"a": ruled(integer(), "self == 'a'")})),
    ),
]
"""Changes of definitions: what it is called, before and after."""
