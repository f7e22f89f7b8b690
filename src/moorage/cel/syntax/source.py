"""The text of an expression, places in it, and what is wrong there."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass

_MAX_SHOWN_ERRORS = 100
_MAX_SNIPPET = 16384


class CompileError(Exception):
    """An expression cannot be used: the text is what users are told, with lines that show the places."""

    def __init__(self, message: str, issues: tuple[Issue, ...] = ()) -> None:
        super().__init__(message)
        self.issues = issues


@dataclass(frozen=True, slots=True)
class Issue:
    """One thing that is wrong; line and column count from 1, or are 0 for the whole expression."""

    line: int
    column: int
    message: str


class Source:
    """An expression as text."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._line_starts = [0, *(index + 1 for index, character in enumerate(text) if character == "\n")]

    def issue(self, offset: int, message: str) -> Issue:
        """At this character; a negative one: of the whole."""
        if offset < 0:
            return Issue(0, 0, message)
        if not self.text:
            return Issue(1, 0, message)  # there is no first character
        line = bisect_right(self._line_starts, offset)
        return Issue(line, offset - self._line_starts[line - 1] + 1, message)

    def error(self, issues: list[Issue]) -> CompileError:
        """All issues in one, in the order of their places."""
        ordered = sorted(issues, key=lambda issue: (issue.line, issue.column))
        shown = [self._shown(issue) for issue in ordered[:_MAX_SHOWN_ERRORS]]
        if len(issues) > _MAX_SHOWN_ERRORS:
            shown.append(f"{len(issues) - _MAX_SHOWN_ERRORS} more errors were truncated")
        return CompileError("\n".join(shown), tuple(ordered))

    def _shown(self, issue: Issue) -> str:
        text = f"ERROR: <input>:{issue.line or -1}:{issue.column}: {issue.message}"
        snippet = self._line(issue.line)
        if snippet is None or len(snippet.encode()) > _MAX_SNIPPET:
            return text
        before, at = snippet[: issue.column - 1], snippet[issue.column - 1 : issue.column]
        dots = "".join("." if character.isascii() else "．" for character in before)
        return f"{text}\n | {snippet}\n | {dots}{'^' if at.isascii() else '＾'}"

    def _line(self, line: int) -> str | None:
        if not self.text or not 1 <= line <= len(self._line_starts):
            return None
        start = self._line_starts[line - 1]
        end = self.text.find("\n", start)
        return self.text[start : end if end >= 0 else len(self.text)].replace("\t", " ")
