"""What is said of webhooks wherever they are configured."""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import urlsplit

from moorage.cluster.base.errors import Cause, invalid_value, required

_URL_FORM = "; desired format: https://host[/path]"


def url_problems(field: str, url: str) -> Iterator[Cause]:
    try:
        found = urlsplit(url)
    except ValueError as error:
        yield required(field, f"url must be a valid URL: {error}{_URL_FORM}")
        return
    user, at, host = found.netloc.rpartition("@")
    for wrong, value, detail in (
        (found.scheme != "https", found.scheme, f"'https' is the only allowed URL scheme{_URL_FORM}"),
        (not host, "", f"host must be specified{_URL_FORM}"),
        (at, user, "user information is not permitted in the URL"),
        (found.fragment, found.fragment, "fragments are not permitted in the URL"),
        (found.query, found.query, "query parameters are not permitted in the URL"),
    ):
        if wrong:
            yield invalid_value(field, value, detail)
