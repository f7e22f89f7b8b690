"""The rules for how objects get from one version to another."""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import urlsplit

from moorage.cluster.base.errors import Cause, forbidden_value, required
from moorage.cluster.base.store import Document
from moorage.cluster.custom.wording import invalid, unsupported
from moorage.cluster.schema.forms import dns_1035_label_problems

_REVIEW_VERSIONS = ("v1", "v1beta1")
_STRATEGIES = ("None", "Webhook")


def conversion_problems(conversion: Document | None) -> Iterator[Cause]:
    if conversion is None:
        return
    path = "spec.conversion"
    strategy = conversion.get("strategy", "")
    if not strategy:
        yield required(f"{path}.strategy")
    elif strategy not in _STRATEGIES:
        yield unsupported(f"{path}.strategy", strategy, _STRATEGIES)
    webhook = conversion.get("webhook") or {}
    client, versions = webhook.get("clientConfig"), webhook.get("conversionReviewVersions") or []
    if strategy != "Webhook":
        detail = "should not be set when strategy is not set to Webhook"
        if client is not None:
            yield forbidden_value(f"{path}.webhookClientConfig", detail)
        if versions:
            yield forbidden_value(f"{path}.conversionReviewVersions", detail)
        return
    if client is None:
        yield required(f"{path}.webhookClientConfig", "required when strategy is set to Webhook")
    elif (client.get("url") is None) == (client.get("service") is None):
        yield required(f"{path}.webhookClientConfig", "exactly one of url or service is required")
    elif client.get("url") is not None:
        yield from _url_problems(f"{path}.webhookClientConfig.url", client["url"])
    yield from _review_version_problems(f"{path}.conversionReviewVersions", versions)


def _url_problems(field: str, url: str) -> Iterator[Cause]:
    form = "; desired format: https://host[/path]"
    try:
        found = urlsplit(url)
    except ValueError as error:
        yield required(field, f"url must be a valid URL: {error}{form}")
        return
    user, at, host = found.netloc.rpartition("@")
    if found.scheme != "https":
        yield invalid(field, found.scheme, f"'https' is the only allowed URL scheme{form}")
    if not host:
        yield invalid(field, "", f"host must be specified{form}")
    if at:
        yield invalid(field, user, "user information is not permitted in the URL")
    if found.fragment:
        yield invalid(field, found.fragment, "fragments are not permitted in the URL")
    if found.query:
        yield invalid(field, found.query, "query parameters are not permitted in the URL")


def _review_version_problems(field: str, versions: list[str]) -> Iterator[Cause]:
    if not versions:
        yield required(field)
        return
    for place, version in enumerate(versions):
        if version in versions[:place]:
            yield invalid(f"{field}[{place}]", version, "duplicate version")
            continue
        for problem in dns_1035_label_problems(version):
            yield invalid(f"{field}[{place}]", version, problem)
    if not set(versions) & set(_REVIEW_VERSIONS):
        yield invalid(field, versions, f"must include at least one of {', '.join(_REVIEW_VERSIONS)}")
