"""From tokens to a tree, with macros already expanded."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from typing import NoReturn

from moorage.cel.evaluation.conversions import double_of_string
from moorage.cel.syntax.lexer import Token, bytes_of, string_of, tokens
from moorage.cel.syntax.macros import Macro, MacroError, Maker
from moorage.cel.syntax.source import CompileError, Issue, Source
from moorage.cel.syntax.tree import (
    Call,
    Entry,
    Expression,
    Identifier,
    ListLiteral,
    Literal,
    MapLiteral,
    Message,
    Select,
)
from moorage.cel.values import MAX_INT, MAX_UINT, MIN_INT, EvaluationError, Uint

MAX_NESTING = 250
"""Of rules of the grammar, and, counted apart, of operators and selections."""

_RELATIONS = {"<": "_<_", "<=": "_<=_", ">=": "_>=_", ">": "_>_", "==": "_==_", "!=": "_!=_", "in": "@in"}
_PRODUCTS = {"*": "_*_", "/": "_/_", "%": "_%_"}
_SUMS = {"+": "_+_", "-": "_-_"}
_RESERVED = frozenset(
    (
        "as",
        "break",
        "const",
        "continue",
        "else",
        "false",
        "for",
        "function",
        "if",
        "import",
        "in",
        "let",
        "loop",
        "package",
        "namespace",
        "null",
        "return",
        "true",
        "var",
        "void",
        "while",
    )
)
_LITERALS = ("true", "false", "null", "NUM_FLOAT", "NUM_INT", "NUM_UINT", "STRING", "BYTES")
_OPERAND = frozenset(("[", "{", "(", ".", "-", "!", *_LITERALS, "IDENTIFIER"))
"""What an operand begins with."""
_OPERATORS = frozenset(("&&", "||", "?", *_RELATIONS, *_PRODUCTS, *_SUMS))
_ORDER = (
    *("[", "]", "{", "}", "(", ")", ".", ",", "-", "!", "?", ":"),
    *_LITERALS,
    *("IDENTIFIER", "ESC_IDENTIFIER"),
)
"""In which messages name what they expect."""
_SKIPPED = r"(?:[\t \r\n\f]|//[^\n]*)*"
_MESSAGE = re.compile(rf"(?:\.{_SKIPPED}[A-Za-z_][A-Za-z0-9_]*{_SKIPPED})*\{{")
"""What follows the first name of `a.b.Message{...}`."""


def parse(source: Source, macros: Mapping[tuple[str, int, bool], Macro]) -> tuple[Expression, Maker]:
    """The tree; raises CompileError. The maker gives ids for further nodes."""
    return _Parser(source, macros).parse()


class _Unreadable(Exception):
    """The part of the expression that is being read is none; what is wrong has been noted."""


class _Parser:
    """Goes on after a mistake as the original does, to find others; it is silent until a token fits again."""

    def __init__(self, source: Source, macros: Mapping[tuple[str, int, bool], Macro]) -> None:
        self._source = source
        self._macros = macros
        self._issues: list[Issue] = []
        self._tokens = tokens(source, self._issues)
        self._token = next(self._tokens)
        self._next: Token | None = None
        self._is_lost = False
        self._around: list[tuple[str, ...]] = []  # what ends, or goes on with, what is open
        self._make = Maker()
        self._expressions = self._relations = self._calculations = 0  # rules under way

    def parse(self) -> tuple[Expression, Maker]:
        root: Expression | None = None
        try:
            root = self._expression()
            if self._token.kind != "<EOF>":
                is_last = self._peek().kind == "<EOF>"
                self._unexpected(["<EOF>"], "extraneous" if is_last else "mismatched")
        except _Unreadable:
            while self._token.kind != "<EOF>":
                self._skip()
        if root is None or self._issues:
            raise self._source.error(self._issues)
        if root.nesting > MAX_NESTING:
            raise self._error(-1, "max recursion depth exceeded")
        return root, self._make

    # What the grammar has, from the outside to the inside. Binary operators are all read here, without a call
    # per level, so that nested parentheses need few frames.

    def _expression(self) -> Expression:
        self._expressions = self._entered(self._expressions)
        result = self._disjunction()
        if self._token.kind == "?":
            operator = self._advance()
            self._around.append((":",))
            first = self._disjunction()
            self._around.pop()
            self._expect(":")
            second = self._expression()
            nesting = 1 + max(result.nesting, first.nesting, second.nesting)
            result = self._call(operator.offset, "_?_:_", [result, first, second], nesting)
        self._expressions -= 1
        return result

    def _disjunction(self) -> Expression:
        alternatives: list[Expression] = []
        either: list[int] = []
        while True:
            terms, both = [self._relation()], list[int]()
            while self._token.kind == "&&":
                both.append(self._advance().offset)
                terms.append(self._relation())
            alternatives.append(self._balanced("_&&_", terms, both, 0, len(both) - 1))
            if self._token.kind != "||":
                return self._balanced("_||_", alternatives, either, 0, len(either) - 1)
            either.append(self._advance().offset)

    def _balanced(
        self, function: str, terms: list[Expression], offsets: list[int], low: int, high: int
    ) -> Expression:
        """A tree of equal depth on both sides, as the operators can be grouped at will."""
        if high < low:
            return terms[low]
        middle = (low + high + 1) // 2
        left = self._balanced(function, terms, offsets, low, middle - 1)
        right = self._balanced(function, terms, offsets, middle + 1, high)
        return self._call(offsets[middle], function, [left, right], max(left.nesting, right.nesting))

    def _relation(self) -> Expression:
        self._relations = self._entered(self._relations)
        left = self._calculation(1)
        while (function := _RELATIONS.get(self._token.kind)) is not None:
            operator = self._advance()
            self._relations = self._entered(self._relations)
            right = self._calculation(1)
            self._relations -= 1
            left = self._call(operator.offset, function, [left, right], 1 + max(left.nesting, right.nesting))
        self._relations -= 1
        return left

    def _calculation(self, binding: int) -> Expression:
        self._calculations = self._entered(self._calculations)
        left = self._unary()
        while True:
            kind = self._token.kind
            if kind in _PRODUCTS and binding <= 2:
                function, tighter = _PRODUCTS[kind], 3
            elif kind in _SUMS and binding <= 1:
                function, tighter = _SUMS[kind], 2
            else:
                self._calculations -= 1
                return left
            operator = self._advance()
            right = self._calculation(tighter)
            left = self._call(operator.offset, function, [left, right], 1 + max(left.nesting, right.nesting))

    def _unary(self) -> Expression:
        depth, counts = len(self._around), (self._expressions, self._relations, self._calculations)
        try:
            return self._signed()
        except _Unreadable:
            del self._around[depth:]
            self._expressions, self._relations, self._calculations = counts
            known = {*_OPERATORS, "<EOF>", *[kind for kinds in self._around for kind in kinds]}
            while self._token.kind not in known:
                self._skip()
            return Identifier(self._make.id(), self._token.offset, "")

    def _signed(self) -> Expression:
        self._expect_operand()
        kind = self._token.kind
        if kind not in ("!", "-"):
            return self._member(self._primary())
        operators = [self._advance()]
        while self._token.kind == kind:
            operators.append(self._advance())
        if kind == "-" and len(operators) == 1 and self._token.kind in ("NUM_INT", "NUM_FLOAT"):
            return self._member(self._number(operators[0]))
        operand = self._member(self._primary())
        if len(operators) % 2 == 0:
            return operand
        return self._call(operators[0].offset, "!_" if kind == "!" else "-_", [operand], operand.nesting)

    def _member(self, operand: Expression) -> Expression:
        while True:
            if self._token.kind == ".":
                operand = self._selection(operand)
            elif self._token.kind == "[":
                operator = self._advance()
                self._around.append(("]",))
                self._expect_operand("?")
                function = "_[?_]" if self._accept("?") else "_[_]"
                index = self._expression()
                self._around.pop()
                self._expect("]")
                nesting = 1 + max(operand.nesting, index.nesting)
                operand = self._call(operator.offset, function, [operand, index], nesting)
            else:
                return operand

    def _selection(self, operand: Expression) -> Expression:
        dot = self._advance()
        optional = self._accept("?")
        name = self._token
        if name.kind == "ESC_IDENTIFIER":
            self._issue(name.offset, "unsupported syntax: '`'")
        elif name.kind != "IDENTIFIER":
            name = self._missing_name(dot, optional=optional)
        self._advance()
        if not optional and name.kind == "IDENTIFIER" and self._token.kind == "(":
            opening, arguments = self._arguments()
            nesting = 1 + max([operand.nesting, *[argument.nesting for argument in arguments]])
            return self._call(opening.offset, name.text, arguments, nesting, operand)
        result: Expression
        if optional:
            field = Literal(self._make.id(), name.offset, name.text)
            result = Call(self._make.id(), dot.offset, "_?._", None, [operand, field])
        else:
            result = Select(self._make.id(), dot.offset, operand, name.text)
        result.nesting = 1 + operand.nesting
        return result

    def _missing_name(self, dot: Token, *, optional: bool) -> Token:
        """The name that follows something else, if there is one."""
        found = self._token
        if optional:
            names = ["IDENTIFIER", "ESC_IDENTIFIER"]
            if self._peek().kind in names:
                self._drop(names)
                return self._token
            self._report(found.offset, f"Syntax error: {self._wrong(names)}")
            self._issue(found.offset, "unsupported ident kind")
        elif found.kind in ("true", "false", "null"):
            self._report(found.offset, f"Syntax error: {self._wrong(['IDENTIFIER'])}")
        else:
            end = found.offset if found.kind == "<EOF>" else found.offset + len(found.text)
            text = self._source.text[dot.offset : end].rstrip()
            self._report(found.offset, f"Syntax error: no viable alternative at input '{text}'")
        raise _Unreadable

    def _primary(self) -> Expression:
        kind = self._token.kind
        if kind == "(":
            self._advance()
            self._around.append((")",))
            nested = self._expression()
            self._around.pop()
            self._expect(")")
            return nested
        if kind == "[":
            return self._list()
        if kind == "{":
            return self._map()
        if kind == "." or kind == "IDENTIFIER":
            return self._name()
        return self._literal()

    def _name(self) -> Expression:
        start = self._token
        dot = "." if self._accept(".") else ""
        name = self._token
        if name.kind != "IDENTIFIER":
            self._unexpected(["IDENTIFIER"])
        self._advance()
        if _MESSAGE.match(self._source.text, self._token.offset):
            return self._message(dot + name.text)
        if name.text in _RESERVED:
            self._issue(start.offset, f"reserved identifier: {name.text}")
        if self._token.kind == "(":
            opening, arguments = self._arguments()
            nesting = max([argument.nesting for argument in arguments], default=0)
            return self._call(opening.offset, dot + name.text, arguments, nesting)
        return Identifier(self._make.id(), name.offset, dot + name.text)

    def _message(self, name: str) -> Expression:
        while self._accept("."):
            name += "." + self._expect("IDENTIFIER").text
        opening = self._expect("{")
        values: list[Expression] = []
        while self._more(values, "}"):
            self._accept("?")
            if self._token.kind == "ESC_IDENTIFIER":
                self._issue(self._token.offset, "unsupported syntax: '`'")
                self._advance()
            else:
                self._expect("IDENTIFIER")
            self._expect(":")
            values.append(self._expression())
        result = Message(self._make.id(), opening.offset, name, values)
        result.nesting = max([value.nesting for value in values], default=0)
        return result

    def _more(self, so_far: Sequence[object], closing: str) -> bool:
        """Whether another entry follows, or the closing token, before which a comma may stand."""
        if so_far:
            if self._token.kind not in (closing, ","):
                if self._peek().kind not in (closing, ","):
                    self._unexpected([closing, ","])
                self._drop([closing, ","])
            comma = self._accept(",")
            if not comma or self._token.kind not in (*_OPERAND, "?"):
                self._expect(closing)
                return False
            return True
        self._expect_operand(closing, ",", "?")
        if self._token.kind in (closing, ","):
            self._accept(",")
            self._expect(closing)
            return False
        return True

    def _arguments(self) -> tuple[Token, list[Expression]]:
        opening = self._expect("(")
        arguments: list[Expression] = []
        self._around.append((")", ","))
        self._expect_operand(")")
        if self._token.kind != ")":
            arguments.append(self._expression())
            while self._accept(","):
                arguments.append(self._expression())
        self._around.pop()
        self._expect(")")
        return opening, arguments

    def _list(self) -> Expression:
        opening = self._advance()
        elements: list[Expression] = []
        optional = set()
        while self._more(elements, "]"):
            if self._accept("?"):
                optional.add(len(elements))
            self._around.append(("]", ","))
            elements.append(self._expression())
            self._around.pop()
        result = ListLiteral(self._make.id(), opening.offset, elements, frozenset(optional))
        result.nesting = max([element.nesting for element in elements], default=0)
        return result

    def _map(self) -> Expression:
        opening = self._advance()
        entries: list[Entry] = []
        while self._more(entries, "}"):
            optional = self._accept("?")
            self._around.append(("}", ",", ":"))
            key = self._expression()
            colon = self._expect(":")
            entries.append(Entry(self._make.id(), colon.offset, key, self._expression(), optional))
            self._around.pop()
        result = MapLiteral(self._make.id(), opening.offset, entries)
        result.nesting = max([part.nesting for part in result.children()], default=0)
        return result

    def _literal(self) -> Expression:
        token = self._token
        value: object
        if token.kind in ("NUM_INT", "NUM_FLOAT"):
            return self._number(None)
        if token.kind == "-":
            return self._number(self._advance())
        if token.kind == "NUM_UINT":
            value = self._uint(token)
        elif token.kind in ("STRING", "BYTES"):
            value = self._quoted(token)
        elif token.kind in ("true", "false"):
            value = token.kind == "true"
        elif token.kind == "null":
            value = None
        else:
            self._unexpected(_OPERAND)
        self._advance()
        return Literal(self._make.id(), token.offset, value)

    def _quoted(self, token: Token) -> str | bytes:
        try:
            return string_of(token.text) if token.kind == "STRING" else bytes_of(token.text[1:])
        except ValueError as error:
            self._issue(token.offset, str(error))
            return ""

    def _number(self, sign: Token | None) -> Expression:
        if self._token.kind not in ("NUM_INT", "NUM_FLOAT"):
            self._unexpected(["NUM_FLOAT", "NUM_INT"])
        token = self._advance()
        text = token.text if sign is None else "-" + token.text
        start = token.offset if sign is None else sign.offset
        value: object
        if token.kind == "NUM_FLOAT":
            try:
                value = double_of_string(text)
            except EvaluationError:
                self._issue(start, "invalid double literal")
                value = 0.0
        else:
            value = _whole(token.text) * (-1 if sign else 1)
            if not MIN_INT <= value <= MAX_INT:
                self._issue(start, "invalid int literal")
        return Literal(self._make.id(), start, value)

    def _uint(self, token: Token) -> Uint:
        value = _whole(token.text[:-1])
        if value > MAX_UINT:
            self._issue(token.offset, "invalid uint literal")
        return Uint(value)

    # Making nodes

    def _call(
        self,
        offset: int,
        function: str,
        arguments: list[Expression],
        nesting: int,
        target: Expression | None = None,
    ) -> Expression:
        """A call, or what a macro of this name makes of it."""
        result: Expression | None = None
        macro = self._macros.get((function, len(arguments), target is not None))
        if macro is not None:
            try:
                result = macro(self._make.at(offset), target, arguments)
            except MacroError as error:
                if not self._is_lost:
                    self._issue(error.offset, str(error))
                result = Identifier(self._make.id(), offset, "")
        if result is None:
            result = Call(self._make.id(), offset, function, target, arguments)
        result.nesting = nesting
        return result

    # Reading tokens

    def _advance(self) -> Token:
        """Past a token that fits."""
        token = self._token
        self._is_lost = False
        self._skip()
        return token

    def _skip(self) -> None:
        if self._token.kind != "<EOF>":
            self._token = self._peek()
            self._next = None

    def _peek(self) -> Token:
        """The token after the present one."""
        if self._next is None:
            self._next = self._token if self._token.kind == "<EOF>" else next(self._tokens)
        return self._next

    def _accept(self, kind: str) -> bool:
        if self._token.kind != kind:
            return False
        self._advance()
        return True

    def _expect(self, kind: str) -> Token:
        """The token, even if it is missing, or behind one too many."""
        if self._token.kind != kind:
            if self._peek().kind == kind and self._token.kind != "<EOF>":
                self._drop([kind])
            elif self._token.kind in self._after(kind):
                name = kind if kind == "IDENTIFIER" else f"'{kind}'"
                offset = self._token.offset
                self._report(offset, f"Syntax error: missing {name} at '{self._token.text}'")
                return Token(kind, kind, offset)
            else:
                self._unexpected([kind])
        return self._advance()

    def _after(self, kind: str) -> Collection[str]:
        """What may follow such a token here, as far as it can be missing."""
        if kind == ":":
            return _OPERAND
        if kind in (")", "]", "}"):
            return {*_OPERATORS, ".", "[", *(self._around[-1] if self._around else ("<EOF>",))}
        return ()

    def _expect_operand(self, *others: str) -> None:
        """Makes sure that an operand begins here, or one of the other tokens."""
        wanted = {*_OPERAND, *others}
        if self._token.kind in wanted:
            return
        if self._token.kind != "<EOF>" and self._peek().kind in wanted:
            self._drop(wanted)
        else:
            self._unexpected(wanted)

    def _drop(self, expected: Collection[str]) -> None:
        """Notes a token too many, and goes past it."""
        self._report(self._token.offset, f"Syntax error: {self._wrong(expected, 'extraneous')}")
        self._is_lost = False
        self._skip()

    def _entered(self, rules: int) -> int:
        if rules >= MAX_NESTING:
            raise self._error(-1, f"expression recursion limit exceeded: {MAX_NESTING}")
        return rules + 1

    def _unexpected(self, expected: Collection[str], what: str = "mismatched") -> NoReturn:
        self._report(self._token.offset, f"Syntax error: {self._wrong(expected, what)}")
        raise _Unreadable

    def _wrong(self, expected: Collection[str], what: str = "mismatched") -> str:
        names = [
            name if name[-1].isupper() or name == "<EOF>" else f"'{name}'" for name in _ordered(expected)
        ]
        listed = names[0] if len(names) == 1 else "{" + ", ".join(names) + "}"
        return f"{what} input '{self._token.text}' expecting {listed}"

    def _report(self, offset: int, message: str) -> None:
        if not self._is_lost:
            self._issue(offset, message)
            self._is_lost = True

    def _issue(self, offset: int, message: str) -> None:
        self._issues.append(self._source.issue(offset, message))

    def _error(self, offset: int, message: str) -> CompileError:
        return self._source.error([*self._issues, self._source.issue(offset, message)])


def _ordered(kinds: Collection[str]) -> list[str]:
    return sorted(kinds, key=lambda kind: _ORDER.index(kind) if kind in _ORDER else -1)


def _whole(text: str) -> int:
    """Any number of digits; those beyond 64 bits only need to be too many."""
    digits = text.removeprefix("0x").lstrip("0") or "0"
    return int(digits[:40], 16 if text.startswith("0x") else 10)
