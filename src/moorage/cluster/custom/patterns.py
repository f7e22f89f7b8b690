"""Regular expressions as Go has them, in Python's notation."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

from moorage.cluster.custom.linear_match import Expression, TooLarge

_POSIX = {
    "alnum": "0-9A-Za-z", "alpha": "A-Za-z", "ascii": r"\x00-\x7f", "blank": r"\t ",
    "cntrl": r"\x00-\x1f\x7f", "digit": "0-9", "graph": "!-~", "lower": "a-z", "print": " -~",
    "punct": r"!-/:-@\[-`{-~", "space": r"\t\n\v\f\r ",
    "upper": "A-Z", "word": "0-9A-Za-z_", "xdigit": "0-9A-Fa-f",
}  # fmt: skip
_SCRIPTS = {
    "Latin": "LATIN", "Greek": "GREEK", "Cyrillic": "CYRILLIC", "Han": "CJK", "Hiragana": "HIRAGANA",
    "Katakana": "KATAKANA", "Hebrew": "HEBREW", "Arabic": "ARABIC", "Thai": "THAI", "Hangul": "HANGUL",
}  # fmt: skip
_KEPT_ESCAPES = "wWdDsSbBtnrfva"
_PYTHON_ONLY = re.compile(r"\(\?(?:=|!|<=|<!|>|#|P=|P>|\()|[*+?}]\+|\\[1-9ZGghkKRXu]")
_MOST_REPEATS = 1000


class BadPattern(ValueError):
    """Go would not take this for a regular expression."""


@lru_cache(maxsize=1024)
def compiled(pattern: str) -> Expression | None:
    """The pattern, to be searched with; None if it is no regular expression."""
    try:
        return Expression(_translated(pattern))
    except (BadPattern, TooLarge, re.error, OverflowError, RecursionError):
        return None


def problem(pattern: str) -> str:
    """Why something is no regular expression; "" if it is one."""
    if compiled(pattern) is not None:
        return ""
    try:
        re.compile(_translated(pattern), re.ASCII)
    except BadPattern as error:
        return f"error parsing regexp: {error}"
    except re.error as error:
        return f"error parsing regexp: {_go_words(error, pattern)}"
    except (OverflowError, RecursionError):
        pass
    return f"error parsing regexp: expression nests too deeply: `{pattern}`"


def _go_words(error: re.error, pattern: str) -> str:
    words = error.msg
    if "missing ), unterminated" in words:
        return f"missing closing ): `{pattern}`"
    if "unbalanced parenthesis" in words:
        return f"unexpected ): `{pattern}`"
    if "unterminated character set" in words:
        return f"missing closing ]: `{pattern[pattern.rfind('[') :]}`"
    if "nothing to repeat" in words:
        at = min(error.pos or 0, len(pattern) - 1)
        return f"missing argument to repetition operator: `{pattern[at]}`"
    if "multiple repeat" in words:
        at = max((error.pos or 1) - 1, 0)
        return f"invalid nested repetition operator: `{pattern[at : at + 2]}`"
    if "bad character range" in words:
        return f"invalid character class range: `{words.removeprefix('bad character range ')}`"
    return f"invalid or unsupported Perl syntax: `{pattern}`"


def _translated(pattern: str) -> str:
    found = _PYTHON_ONLY.search(re.sub(r"\\\\", "  ", re.sub(r"\[[^\]]*\]", "x", pattern)))
    if found:
        text = found.group()
        if text.startswith("\\"):
            raise BadPattern(f"invalid escape sequence: `{text}`")
        if text.startswith("("):
            raise BadPattern(f"invalid or unsupported Perl syntax: `{text[:3]}`")
        raise BadPattern(f"invalid nested repetition operator: `{text}`")
    return _Translation(pattern).run()


class _Translation:
    """One walk along a pattern, collecting what Python has for each piece."""

    def __init__(self, pattern: str, *, scope: str = "", lines: bool = False) -> None:
        self._pattern = pattern
        self._scope = scope
        """The flags that hold for all of it, and must be said again for each alternative."""
        self._lines = lines
        self._depth = 0
        self._at = 0
        self._out: list[str] = []

    def run(self) -> str:
        while self._at < len(self._pattern):
            self._next()
        return "".join(self._out)

    def _take(self, length: int = 1) -> str:
        taken = self._pattern[self._at : self._at + length]
        self._at += length
        return taken

    def _next(self) -> None:
        letter = self._take()
        if letter == "\\":
            self._out.append(self._escape(inside=False))
        elif letter == "[":
            self._out.append(self._class())
        elif letter == "|" and self._scope and not self._depth:
            self._out.append(f")|{self._scope}")
        elif letter == "$" and not self._lines:
            self._out.append(r"(?:\Z)")
        elif letter == "(" and self._pattern.startswith("?", self._at):
            self._out.append(self._group())
        elif letter == "{" and not re.match(r"\d+(,\d*)?\}", self._pattern[self._at :]):
            self._out.append(r"\{")
        elif letter == "{":
            self._out.append(self._repeats())
        else:
            self._depth += (letter == "(") - (letter == ")")
            self._out.append(letter)

    def _repeats(self) -> str:
        end = self._pattern.index("}", self._at)
        counts = self._take(end + 1 - self._at)
        least, most = (re.findall(r"\d+", counts) * 2)[:2]
        if max(int(least), int(most)) > _MOST_REPEATS or int(least) > int(most):
            raise BadPattern(f"invalid repeat count: `{{{counts}`")
        return "{" + counts

    def _group(self) -> str:
        """`(?i)` holds until the end of the group around it; Python wants it to say where it ends."""
        flags = re.match(r"\?([imsU]*)(?:-([imsU]+))?([:)])", self._pattern[self._at :])
        if not flags:
            self._depth += 1
            if self._pattern.startswith("?<", self._at):
                self._at += 2
                return "(?P<"
            return "("
        self._at += flags.end()
        on = flags.group(1).replace("U", "")
        off = (flags.group(2) or "").replace("U", "")
        scope = f"(?{on}{'-' + off if off else ''}:"
        if flags.group(3) == ":":
            self._depth += 1
            return scope
        rest = _Translation(self._rest_of_group(), scope=scope, lines="m" in on)
        return f"{scope}{rest.run()})"

    def _rest_of_group(self) -> str:
        depth, place, in_class = 0, self._at, False
        while place < len(self._pattern):
            letter = self._pattern[place]
            if letter == "\\":
                place += 1
            elif in_class:
                in_class = letter != "]"
            elif letter == "[":
                in_class = True
            elif letter == "(":
                depth += 1
            elif letter == ")":
                if not depth:
                    break
                depth -= 1
            place += 1
        return self._take(place - self._at)

    def _class(self) -> str:
        out = ["["]
        if self._pattern.startswith("^", self._at):
            out.append(self._take())
        if self._pattern.startswith("]", self._at):
            self._at += 1
            out.append(r"\]")
        while self._at < len(self._pattern):
            named = re.match(r"\[:(\^?)([a-z]+):\]", self._pattern[self._at :])
            letter = self._take()
            if letter == "]":
                return "".join([*out, "]"])
            if named and named.group(2) in _POSIX:
                self._at += named.end() - 1
                out.append(_negated(_POSIX[named.group(2)]) if named.group(1) else _POSIX[named.group(2)])
            elif named:
                raise BadPattern(f"invalid character class range: `{named.group()}`")
            elif letter == "\\":
                out.append(self._escape(inside=True))
            else:
                out.append("\\" + letter if letter in "[&~|" else letter)
        raise BadPattern(f"missing closing ]: `{self._pattern[self._pattern.rfind('[') :]}`")

    def _escape(self, *, inside: bool) -> str:
        if self._at >= len(self._pattern):
            raise BadPattern("trailing backslash at end of expression: ``")
        letter = self._take()
        if letter in "pP":
            return self._unicode_class(letter, inside)
        if letter == "x":
            return self._code_point()
        if letter == "Q" and not inside:
            end = self._pattern.find("\\E", self._at)
            text = self._take((len(self._pattern) if end < 0 else end) - self._at)
            self._at += 2
            return re.escape(text)
        if not inside and letter in "Az":
            return r"\A" if letter == "A" else r"(?:\Z)"
        if letter in _KEPT_ESCAPES and not (inside and letter in "bB"):
            return "\\" + letter
        if letter.isalnum() and letter.isascii():
            raise BadPattern(f"invalid escape sequence: `\\{letter}`")
        return re.escape(letter)

    def _code_point(self) -> str:
        braced = re.match(r"\{([0-9A-Fa-f]+)\}|([0-9A-Fa-f]{2})", self._pattern[self._at :])
        if not braced or int(braced.group(1) or braced.group(2), 16) > 0x10FFFF:
            raise BadPattern("invalid escape sequence: `\\x`")
        self._at += braced.end()
        return re.escape(chr(int(braced.group(1) or braced.group(2), 16)))

    def _unicode_class(self, letter: str, inside: bool) -> str:
        found = re.match(r"\{(\^?)([A-Za-z_]+)\}|([A-Z])", self._pattern[self._at :])
        name = (found.group(2) or found.group(3)) if found else ""
        ranges = _unicode_ranges(name)
        if not found or not ranges:
            raise BadPattern(f"invalid character class range: `\\{letter}{found.group() if found else ''}`")
        self._at += found.end()
        if (letter == "P") != bool(found.group(1)):
            ranges = _negated(ranges)
        return ranges if inside else f"[{ranges}]"


@lru_cache(maxsize=64)
def _unicode_ranges(name: str) -> str:
    """The characters of a category such as L or Lu, or of a script, as ranges; "" if there are none."""
    script = _SCRIPTS.get(name)
    if not name or (not script and len(name) > 2):
        return ""

    def belongs(letter: str) -> bool:
        if script:
            return unicodedata.name(letter, "").startswith(script)
        return unicodedata.category(letter).startswith(name)

    return _ranges([code for code in range(0x110000) if belongs(chr(code))])


def _negated(ranges: str) -> str:
    letters = re.compile(f"[{ranges}]")
    return _ranges([code for code in range(0x110000) if not letters.match(chr(code))])


def _ranges(codes: list[int]) -> str:
    out = []
    start = previous = None
    for code in [*codes, None]:
        if previous is not None and code == previous + 1:
            previous = code
            continue
        if start is not None and previous is not None:
            out.append(f"\\U{start:08x}-\\U{previous:08x}")
        start = previous = code
    return "".join(out)
