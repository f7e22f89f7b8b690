"""Proxies of the environment."""

from __future__ import annotations

import pytest

from moorage.client.proxies import proxy_from_environment


@pytest.mark.parametrize(
    ("server", "environ", "expected"),
    [
        ("https://api:6443", {}, ""),
        ("https://api:6443", {"HTTPS_PROXY": "http://p:1"}, "http://p:1"),
        ("https://api:6443", {"https_proxy": "p:1"}, "http://p:1"),
        ("https://api:6443", {"HTTP_PROXY": "http://p:1"}, ""),
        ("http://api", {"HTTP_PROXY": "http://p:1"}, "http://p:1"),
        ("https://127.0.0.1:6443", {"HTTPS_PROXY": "p:1"}, ""),
        ("https://localhost", {"HTTPS_PROXY": "p:1"}, ""),
        ("https://[::1]:6443", {"HTTPS_PROXY": "p:1"}, ""),
        ("https://10.96.0.1", {"HTTPS_PROXY": "p:1", "NO_PROXY": "a.b, 10.96.0.0/12"}, ""),
        ("https://10.1.0.1", {"HTTPS_PROXY": "p:1", "NO_PROXY": "10.96.0.0/12,bad/x"}, "http://p:1"),
        ("https://10.1.0.1", {"HTTPS_PROXY": "p:1", "NO_PROXY": "10.1.0.1"}, ""),
        ("https://[fd00::1]", {"HTTPS_PROXY": "p:1", "NO_PROXY": "fd00::1"}, ""),
        ("https://a.b.c", {"HTTPS_PROXY": "p:1", "NO_PROXY": "b.c"}, ""),
        ("https://xb.c", {"HTTPS_PROXY": "p:1", "NO_PROXY": "b.c"}, "http://p:1"),
        ("https://b.c", {"HTTPS_PROXY": "p:1", "NO_PROXY": ".b.c"}, "http://p:1"),
        ("https://a.b.c", {"HTTPS_PROXY": "p:1", "NO_PROXY": "*.b.c"}, ""),
        ("https://a:1", {"HTTPS_PROXY": "p:1", "NO_PROXY": "a:1"}, ""),
        ("https://a:2", {"HTTPS_PROXY": "p:1", "NO_PROXY": "a:1"}, "http://p:1"),
        ("https://a", {"HTTPS_PROXY": "p:1", "no_proxy": "*"}, ""),
    ],
)
def test_proxies(server: str, environ: dict[str, str], expected: str) -> None:
    assert proxy_from_environment(server, environ) == expected
