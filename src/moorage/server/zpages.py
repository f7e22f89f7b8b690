"""What /flagz and /statusz answer: text, or an object if the caller names one in its Accept header."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import msgspec
import yaml
from aiohttp import web

GROUP = "config.k8s.io"
_VERSIONS = {"v1alpha1": "deprecated", "v1beta1": ""}
_TYPES = ("application/json", "application/yaml", "text/plain")
_HUMANS = ("curl", "Wget", "Mozilla/5.0")
_TRUE = ("1", "t", "T", "TRUE", "true", "True")
_HEADING = """
{component} {page}
Warning: This endpoint is not meant to be machine parseable, has no formatting compatibility guarantees \
and is for debugging purposes only.
"""


@dataclass(frozen=True)
class ZPage:
    """A page in both forms; `fields` are those of the object."""

    component: str
    kind: str
    text: Callable[[], str]
    fields: Callable[[], Mapping[str, Any]]

    async def __call__(self, request: web.Request) -> web.Response:
        accept = request.headers.get("Accept", "").strip()
        chosen = _choose(accept, self.kind) if accept else _Choice("text/plain")
        if chosen is None:
            return _not_acceptable()
        if chosen.type == "text/plain":
            heading = _HEADING.format(component=self.component, page=self.kind.lower())
            return web.Response(text=heading + self.text())
        return self._structured(chosen, pretty=chosen.pretty or _for_humans(request))

    def _structured(self, chosen: _Choice, *, pretty: bool) -> web.Response:
        document = {
            "kind": self.kind,
            "apiVersion": f"{GROUP}/{chosen.version}",
            "metadata": {"name": self.component},
            **self.fields(),
        }
        headers = {"Content-Type": f"{chosen.type};g={GROUP};v={chosen.version};as={self.kind}"}
        if state := _VERSIONS[chosen.version]:
            page = self.kind.lower()
            said = f"This version of the {page} endpoint is {state}. Please use a newer version."
            headers["Warning"] = f'299 - "{said}"'
        if chosen.type == "application/yaml":
            return web.Response(body=yaml.safe_dump(document).encode(), headers=headers)
        body = msgspec.json.encode(document)
        return web.Response(
            body=msgspec.json.format(body, indent=2) if pretty else body + b"\n", headers=headers
        )


class _Choice(NamedTuple):
    type: str
    version: str = ""
    pretty: bool = False


def _choose(accept: str, kind: str) -> _Choice | None:
    """The first form that the caller accepts: text unless it names the object it wants."""
    for wanted, parameters in _clauses(accept):
        named = {key: parameters.get(key, "") for key in ("g", "v", "as") if key in parameters}
        if parameters.get("sv") or parameters.get("stream"):
            continue
        for offered in _TYPES:
            if wanted not in (offered, f"{offered.split('/')[0]}/*", "*/*"):
                continue
            if offered == "text/plain":
                if not named:
                    return _Choice(offered)
            elif named == {"g": GROUP, "v": parameters.get("v"), "as": kind} and named["v"] in _VERSIONS:
                return _Choice(offered, named["v"], parameters.get("pretty") == "1")
    return None


def _clauses(accept: str) -> Iterable[tuple[str, dict[str, str]]]:
    """The types in an Accept header with their parameters, the most wanted first."""

    def read() -> Iterator[tuple[float, str, dict[str, str]]]:
        for part in accept.split(","):
            name, *pairs = (word.strip() for word in part.split(";"))
            parameters = {
                key.strip(): value.strip() for key, equals, value in map(_halves, pairs) if equals and value
            }
            try:
                weight = float(parameters.pop("q", "1"))
            except ValueError:
                weight = 0.0
            yield weight, "*/*" if name == "*" else name, parameters

    ordered = sorted(read(), key=lambda each: (-each[0], each[1].count("*")))
    return [(name, parameters) for _, name, parameters in ordered]


def _halves(pair: str) -> tuple[str, str, str]:
    return pair.partition("=")


def _for_humans(request: web.Request) -> bool:
    if asked := request.query.get("pretty"):
        return asked in _TRUE
    return request.headers.get("User-Agent", "").startswith(_HUMANS)


def _not_acceptable() -> web.Response:
    status = {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": f"only the following media types are accepted: {', '.join(_TYPES)}",
        "reason": "NotAcceptable",
        "code": 406,
    }
    body = msgspec.json.format(msgspec.json.encode(status), indent=2)
    return web.Response(status=406, body=body, content_type="application/json")
