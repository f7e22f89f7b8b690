"""Whether a container that really runs is ready for its work."""

from __future__ import annotations

import asyncio

import aiohttp

from moorage.cluster.base.store import Document


async def probe(check: Document, container: Document, host: str) -> str:
    """What speaks against it, or nothing. Only `httpGet` and `tcpSocket` are looked at.

    `host` is the pod's own address on this machine.
    """
    timeout = max(check.get("timeoutSeconds", 1), 1)
    try:
        if check.get("httpGet"):
            return await _get(check["httpGet"], container, host, timeout)
        if check.get("tcpSocket"):
            port = _port(check["tcpSocket"].get("port"), container)
            async with asyncio.timeout(timeout):
                _, writer = await asyncio.open_connection(host, port)
            writer.close()
    except (OSError, TimeoutError, aiohttp.ClientError, ValueError) as error:
        return str(error) or type(error).__name__
    return ""


async def _get(check: Document, container: Document, host: str, timeout: float) -> str:
    scheme = check.get("scheme", "HTTP").lower()
    path = check.get("path", "/").lstrip("/")
    url = f"{scheme}://{host}:{_port(check.get('port'), container)}/{path}"
    headers = {each.get("name", ""): each.get("value", "") for each in check.get("httpHeaders") or ()}
    async with (
        aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=timeout)) as session,
        session.get(url, headers=headers, ssl=False, allow_redirects=False) as answer,
    ):
        if 200 <= answer.status < 400:
            return ""
        return f"HTTP probe failed with statuscode: {answer.status}"


def _port(port: object, container: Document) -> int:
    """A number, or the port of the container that has this name."""
    if isinstance(port, int):
        return port
    for each in container.get("ports") or ():
        if each.get("name") == port:
            number: int = each.get("containerPort", 0)
            return number
    return int(str(port))
