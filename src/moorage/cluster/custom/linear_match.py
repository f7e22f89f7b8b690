"""Regular expressions without backtracking, for patterns and texts that come from anybody.

Python tries one way through a pattern after the other, which for some patterns takes longer than anybody
can wait. Here all ways are followed at once, letter by letter, and the time grows only with the length of the
text.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field

MOST_STATES = 20_000
_MOST_REMEMBERED = 20_000
_CHEAP = 1_000_000  # steps that backtracking may take at most

_FLAGS = {"i": re.IGNORECASE, "m": re.MULTILINE, "s": re.DOTALL}
_COUNTS = re.compile(r"\{(\d+)(,?)(\d*)\}")
_GROUP = re.compile(r"\(\?(?:P<\w+>|([ims]*)(?:-([ims]+))?:)")
_CLASS = re.compile(r"\[\^?(?:\\.|[^\]\\])*\]", re.DOTALL)
_REPEATED = "*+?{"


class TooLarge(ValueError):
    """A pattern whose repetitions multiply to more than can be followed."""


# The places where nothing is read, but something must hold: bits of what is around a place in a text.
_START, _END, _LINE_START, _LINE_END, _BOUNDARY, _NO_BOUNDARY = (1 << bit for bit in range(6))


@dataclass(slots=True)
class _State:
    reads: Callable[[str], object] | None = None
    """Whether it takes a letter; None for one that reads nothing."""
    needs: int = 0
    after: list[int] = field(default_factory=list)


class Expression:
    """A pattern in Python's notation, as far as `patterns` writes that."""

    def __init__(self, pattern: str) -> None:
        self._quick = re.compile(pattern, re.ASCII)
        self._parser = _Parser(pattern)
        self._begin, self._accepting = self._parser.run()
        self._states = self._parser.states
        self._closures: dict[tuple[frozenset[int], int], tuple[frozenset[int], bool]] = {}
        self._steps: dict[tuple[frozenset[int], str], frozenset[int]] = {}

    def search(self, text: str) -> bool:
        """Whether the pattern is found anywhere in the text."""
        parser = self._parser
        # In an empty text Python finds no \B, which Go does.
        if text and not parser.nested and len(text) ** (parser.repeats + 1) <= _CHEAP:
            return self._quick.search(text) is not None
        reached: frozenset[int] = frozenset()
        for place in range(len(text) + 1):
            around = _around(text, place) if parser.looks_around else 0
            reading, found = self._closure(reached, around)
            if found:
                return True
            if place < len(text):
                reached = self._step(reading, text[place])
        return False

    def _closure(self, reached: frozenset[int], around: int) -> tuple[frozenset[int], bool]:
        """The states that read next, and whether the end of the pattern is reached."""
        key = (reached, around)
        known = self._closures.get(key)
        if known is None:
            if len(self._closures) > _MOST_REMEMBERED:
                self._closures.clear()
            known = self._closures[key] = self._follow([*reached, self._begin], around)
        return known

    def _follow(self, waiting: list[int], around: int) -> tuple[frozenset[int], bool]:
        seen: set[int] = set()
        reading = []
        while waiting:
            number = waiting.pop()
            if number in seen:
                continue
            seen.add(number)
            state = self._states[number]
            if state.reads is not None:
                reading.append(number)
            elif state.needs & around == state.needs:
                waiting += state.after
        return frozenset(reading), self._accepting in seen

    def _step(self, reading: frozenset[int], letter: str) -> frozenset[int]:
        key = (reading, letter)
        known = self._steps.get(key)
        if known is None:
            if len(self._steps) > _MOST_REMEMBERED:
                self._steps.clear()
            states = self._states
            known = self._steps[key] = frozenset(
                after
                for number in reading
                if (reads := states[number].reads) is not None and reads(letter)
                for after in states[number].after
            )
        return known


def _around(text: str, place: int) -> int:
    before, behind = text[place - 1 : place] if place else "", text[place : place + 1]
    found = _BOUNDARY if _is_word(before) != _is_word(behind) else _NO_BOUNDARY
    if not before:
        found |= _START | _LINE_START
    elif before == "\n":
        found |= _LINE_START
    if not behind:
        found |= _END | _LINE_END
    elif behind == "\n":
        found |= _LINE_END
    return found


def _is_word(letter: str) -> bool:
    return letter == "_" or (letter.isascii() and letter.isalnum())


class _Parser:
    """Makes states of a pattern; each part has a state it begins with and one it ends with."""

    def __init__(self, pattern: str) -> None:
        self._pattern = pattern
        self._at = 0
        self.states: list[_State] = []
        self.repeats = 0
        """How many parts can be repeated."""
        self.nested = False
        """Whether more than single letters are repeated, which is where backtracking has no bounds."""
        self.looks_around = False

    def run(self) -> tuple[int, int]:
        return self._alternatives(re.ASCII)

    def _new(self, state: _State) -> int:
        if len(self.states) >= MOST_STATES:
            raise TooLarge(self._pattern)
        self.states.append(state)
        return len(self.states) - 1

    def _empty(self, *after: int) -> int:
        return self._new(_State(after=list(after)))

    def _alternatives(self, flags: int) -> tuple[int, int]:
        begin, end = self._empty(), self._empty()
        while True:
            first, last = self._sequence(flags)
            self.states[begin].after.append(first)
            self.states[last].after.append(end)
            if not self._pattern.startswith("|", self._at):
                return begin, end
            self._at += 1

    def _sequence(self, flags: int) -> tuple[int, int]:
        begin = end = self._empty()
        while self._at < len(self._pattern) and self._pattern[self._at] not in "|)":
            first, last = self._repeated(flags)
            self.states[end].after.append(first)
            end = last
        return begin, end

    def _repeated(self, flags: int) -> tuple[int, int]:
        start, size = self._at, len(self.states)
        part = self._part(flags)
        single = len(self.states) - size == 2
        end = self._at
        least, most = self._counts()
        if (least, most) == (1, 1):
            return part
        if most is None or most > 1:
            self.repeats += 1
            self.nested |= not single
        return self._copies(part, least, most, (start, end, flags))

    def _counts(self) -> tuple[int, int | None]:
        """How often the last part may stand; a question mark behind says only which way is tried first."""
        sign = self._pattern[self._at : self._at + 1]
        if not sign or sign not in _REPEATED:
            return 1, 1
        if sign == "{":
            counts = _COUNTS.match(self._pattern, self._at)
            assert counts is not None
            self._at = counts.end()
            least = int(counts[1])
            most = least if not counts[2] else int(counts[3]) if counts[3] else None
        else:
            self._at += 1
            least, most = (1 if sign == "+" else 0), (1 if sign == "?" else None)
        if self._pattern.startswith("?", self._at):
            self._at += 1
        return least, most

    def _copies(
        self, part: tuple[int, int], least: int, most: int | None, place: tuple[int, int, int]
    ) -> tuple[int, int]:
        """The part as often in a row as it may stand, with ways past those that need not be there."""
        begin = end = self._empty()
        finish = self._empty()
        copies = max(least, 1) if most is None else most
        for number in range(copies):
            first, last = part if not number else self._again(*place)
            if number >= least:
                self.states[end].after.append(finish)
            self.states[end].after.append(first)
            if most is None and number == copies - 1:
                self.states[last].after.append(first)
            end = self._empty()
            self.states[last].after.append(end)
        self.states[end].after.append(finish)
        return begin, finish

    def _again(self, start: int, end: int, flags: int) -> tuple[int, int]:
        behind, self._at = self._at, start
        part = self._part(flags)
        assert self._at == end
        self._at = behind
        return part

    def _part(self, flags: int) -> tuple[int, int]:
        letter = self._pattern[self._at]
        if letter == "(":
            return self._group(flags)
        if letter == "[":
            found = _CLASS.match(self._pattern, self._at)
            assert found is not None
            return self._letter(found[0], flags)
        text = self._pattern[self._at : self._at + (2 if letter == "\\" else 1)]
        needs = self._needs(text, flags)
        if not needs:
            return self._letter(text, flags)
        self._at += len(text)
        self.looks_around = True
        end = self._empty()
        return self._new(_State(needs=needs, after=[end])), end

    @staticmethod
    def _needs(text: str, flags: int) -> int:
        lines = flags & re.MULTILINE
        return {
            "^": _LINE_START if lines else _START,
            "$": _LINE_END if lines else _END,
            "\\A": _START,
            "\\Z": _END,
            "\\b": _BOUNDARY,
            "\\B": _NO_BOUNDARY,
        }.get(text, 0)

    def _letter(self, text: str, flags: int) -> tuple[int, int]:
        self._at += len(text)
        end = self._empty()
        return self._new(_State(reads=re.compile(text, flags).fullmatch, after=[end])), end

    def _group(self, flags: int) -> tuple[int, int]:
        opening = _GROUP.match(self._pattern, self._at)
        self._at = opening.end() if opening else self._at + 1
        if opening:
            for letter in opening[1] or "":
                flags |= _FLAGS[letter]
            for letter in opening[2] or "":
                flags &= ~_FLAGS[letter]
        part = self._alternatives(flags)
        self._at += 1
        return part
