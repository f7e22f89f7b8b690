"""Text or objects: what /flagz answers to which Accept header, recorded from kube-scheduler v1.36.4."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping

import pytest
import yaml

from moorage.server.pages import Content
from tests.server.test_app import Reply, serving

NAMED = "v=v1beta1;g=config.k8s.io;as=Flagz"
CONTENT = Content(flags={"v": "2", "config": ""})


def asked(path: str, headers: Mapping[str, str] | None = None, content: Content = CONTENT) -> Reply:
    async def main() -> Reply:
        async with serving(content) as ask:
            return await ask(path, headers=headers or {})

    return asyncio.run(main())


@pytest.mark.parametrize(
    ("accept", "content_type"),
    [
        ("", "text/plain; charset=utf-8"),
        ("*/*", "text/plain; charset=utf-8"),
        ("*", "text/plain; charset=utf-8"),
        ("text/*", "text/plain; charset=utf-8"),
        ("text/html,*/*;q=0.5", "text/plain; charset=utf-8"),
        (f"application/json;{NAMED}", "application/json;g=config.k8s.io;v=v1beta1;as=Flagz"),
        (f"application/*;{NAMED}", "application/json;g=config.k8s.io;v=v1beta1;as=Flagz"),
        (f"text/plain;q=0.5,application/yaml;{NAMED}", "application/yaml;g=config.k8s.io;v=v1beta1;as=Flagz"),
        ("application/json", None),
        (f"application/json;{NAMED.replace('beta1', '')}", None),
        (f"application/json;{NAMED.replace('Flagz', 'Statusz')}", None),
        (f"application/cbor;{NAMED}", None),
        (f"text/plain;{NAMED}", None),
        ("application/*", None),
        ("text/html", None),
        ("garbage", None),
    ],
)
def test_what_is_accepted(accept: str, content_type: str | None) -> None:
    reply = asked("/flagz", {"Accept": accept})
    if content_type is None:
        assert reply.status == 406
        said = "only the following media types are accepted: application/json, application/yaml, text/plain"
        assert json.loads(reply.text)["message"] == said
    else:
        assert (reply.status, reply.headers["Content-Type"]) == (200, content_type)


def test_an_object_in_both_forms() -> None:
    document = {
        "kind": "Flagz",
        "apiVersion": "config.k8s.io/v1beta1",
        "metadata": {"name": "kube-scheduler"},
        "flags": {"config": "", "v": "2"},
    }
    compact = asked("/flagz", {"Accept": f"application/json;{NAMED}"})
    assert compact.text == json.dumps(document, separators=(",", ":")) + "\n"
    assert "Warning" not in compact.headers
    for how in ({"User-Agent": "curl/8"}, {"Accept": f"application/json;pretty=1;{NAMED}"}):
        shown = asked("/flagz", {"Accept": f"application/json;{NAMED}", **how})
        assert shown.text == json.dumps(document, indent=2)
    assert yaml.safe_load(asked("/flagz", {"Accept": f"application/yaml;{NAMED}"}).text) == document


def test_the_old_version_is_deprecated() -> None:
    reply = asked("/statusz", {"Accept": "application/json;v=v1alpha1;g=config.k8s.io;as=Statusz"})
    assert json.loads(reply.text)["apiVersion"] == "config.k8s.io/v1alpha1"
    said = "This version of the statusz endpoint is deprecated. Please use a newer version."
    assert reply.headers["Warning"] == f'299 - "{said}"'


def test_without_their_gates_there_are_no_such_pages() -> None:
    content = Content(flags=None, shows_status=False)
    assert [asked(path, content=content).status for path in ("/flagz", "/statusz")] == [404, 404]
    paths = asked("/statusz", content=Content(flags=None)).text.splitlines()[-1]
    assert paths == "Paths: /configz /healthz /livez /metrics /readyz"
