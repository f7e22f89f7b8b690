"""From tokens to a tree, with macros already expanded."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
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
_OPERAND = (
    "{'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, "
    "IDENTIFIER}"
)
_SKIPPED = r"(?:[\t \r\n\f]|//[^\n]*)*"
_MESSAGE = re.compile(rf"(?:\.{_SKIPPED}[A-Za-z_][A-Za-z0-9_]*{_SKIPPED})*\{{")
"""What follows the first name of `a.b.Message{...}`."""


def parse(source: Source, macros: Mapping[tuple[str, int, bool], Macro]) -> tuple[Expression, Maker]:
    """The tree; raises CompileError. The maker gives ids for further nodes."""
    return _Parser(source, macros).parse()


class _Parser:
    def __init__(self, source: Source, macros: Mapping[tuple[str, int, bool], Macro]) -> None:
        self._source = source
        self._macros = macros
        self._tokens = tokens(source)
        self._token = next(self._tokens)
        self._issues: list[Issue] = []
        self._make = Maker()
        self._expressions = self._relations = self._calculations = 0  # rules under way

    def parse(self) -> tuple[Expression, Maker]:
        root = self._expression()
        if self._token.kind != "<EOF>":
            is_last = next(self._tokens).kind == "<EOF>"
            self._unexpected("<EOF>", "extraneous" if is_last else "mismatched")
        if self._issues:
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
            first = self._disjunction()
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
                function = "_[?_]" if self._accept("?") else "_[_]"
                index = self._expression()
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
            self._unexpected(
                "{'?', IDENTIFIER, ESC_IDENTIFIER}" if not optional else "{IDENTIFIER, ESC_IDENTIFIER}"
            )
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

    def _primary(self) -> Expression:
        kind = self._token.kind
        if kind == "(":
            self._advance()
            nested = self._expression()
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
            self._unexpected("IDENTIFIER")
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
            comma = self._accept(",")
            if not comma or self._token.kind == closing:
                self._expect(closing)
                return False
            return True
        if self._token.kind in (closing, ","):
            self._accept(",")
            self._expect(closing)
            return False
        return True

    def _arguments(self) -> tuple[Token, list[Expression]]:
        opening = self._expect("(")
        arguments: list[Expression] = []
        if self._token.kind != ")":
            arguments.append(self._expression())
            while self._accept(","):
                arguments.append(self._expression())
        self._expect(")")
        return opening, arguments

    def _list(self) -> Expression:
        opening = self._advance()
        elements: list[Expression] = []
        optional = set()
        while self._more(elements, "]"):
            if self._accept("?"):
                optional.add(len(elements))
            elements.append(self._expression())
        result = ListLiteral(self._make.id(), opening.offset, elements, frozenset(optional))
        result.nesting = max([element.nesting for element in elements], default=0)
        return result

    def _map(self) -> Expression:
        opening = self._advance()
        entries: list[Entry] = []
        while self._more(entries, "}"):
            optional = self._accept("?")
            key = self._expression()
            colon = self._expect(":")
            entries.append(Entry(self._make.id(), colon.offset, key, self._expression(), optional))
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
            self._unexpected("{NUM_FLOAT, NUM_INT}")
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
                self._issue(error.offset, str(error))
                result = Identifier(self._make.id(), offset, "")
        if result is None:
            result = Call(self._make.id(), offset, function, target, arguments)
        result.nesting = nesting
        return result

    # Reading tokens

    def _advance(self) -> Token:
        token = self._token
        if token.kind != "<EOF>":
            self._token = next(self._tokens)
        return token

    def _accept(self, kind: str) -> bool:
        if self._token.kind != kind:
            return False
        self._advance()
        return True

    def _expect(self, kind: str) -> Token:
        if self._token.kind != kind:
            self._unexpected(kind if kind == "IDENTIFIER" else f"'{kind}'")
        return self._advance()

    def _entered(self, rules: int) -> int:
        if rules >= MAX_NESTING:
            raise self._error(-1, f"expression recursion limit exceeded: {MAX_NESTING}")
        return rules + 1

    def _unexpected(self, expected: str, what: str = "mismatched") -> NoReturn:
        message = f"Syntax error: {what} input '{self._token.text}' expecting {expected}"
        raise self._error(self._token.offset, message)

    def _issue(self, offset: int, message: str) -> None:
        self._issues.append(self._source.issue(offset, message))

    def _error(self, offset: int, message: str) -> CompileError:
        return self._source.error([*self._issues, self._source.issue(offset, message)])


def _whole(text: str) -> int:
    """Any number of digits; those beyond 64 bits only need to be too many."""
    digits = text.removeprefix("0x").lstrip("0") or "0"
    return int(digits[:40], 16 if text.startswith("0x") else 10)
