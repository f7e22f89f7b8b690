"""What pods are given to read, what they may use up, and who may do what."""

from __future__ import annotations

from typing import Any

from moorage.cluster.base.store import Document
from moorage.cluster.serving.tables.columns import AGE, NAME, Column, Columns, age_of, name_of, texts_of, wide
from moorage.cluster.serving.tables.parts import part, records, size, text


def _config_map(config_map: Document, now: float) -> list[Any]:
    entries = size(config_map, "data") + size(config_map, "binaryData")
    return [name_of(config_map), entries, age_of(config_map, now)]


def _secret(secret: Document, now: float) -> list[Any]:
    return [name_of(secret), text(secret, "type"), size(secret, "data"), age_of(secret, now)]


def _resource_quota(quota: Document, now: float) -> list[Any]:
    requests: list[str] = []
    limits: list[str] = []
    used = part(quota, "status", "used")
    for resource, hard in sorted(part(quota, "status", "hard").items()):
        column = limits if resource.startswith("limits.") else requests
        column.append(f"{resource}: {used.get(resource, '0')}/{hard}")
    return [name_of(quota), ", ".join(requests), ", ".join(limits), age_of(quota, now)]


def _role_binding(binding: Document, now: float) -> list[Any]:
    subjects: dict[str, list[str]] = {"User": [], "Group": [], "ServiceAccount": []}
    for subject in records(binding, "subjects"):
        kind, name = text(subject, "kind"), text(subject, "name")
        if kind == "ServiceAccount":
            name = f"{text(subject, 'namespace')}/{name}"
        if kind in subjects:
            subjects[kind].append(name)
    return [
        name_of(binding),
        f"{text(binding, 'roleRef', 'kind')}/{text(binding, 'roleRef', 'name')}",
        age_of(binding, now),
        *(", ".join(names) for names in subjects.values()),
    ]


CONFIG_MAPS = Columns((NAME, Column("Data"), AGE), _config_map)
SECRETS = Columns((NAME, *texts_of("Type", "Data"), AGE), _secret)
RESOURCE_QUOTAS = Columns((NAME, *texts_of("Request", "Limit"), AGE), _resource_quota)
ROLE_BINDINGS = Columns(
    (NAME, Column("Role"), AGE, *wide("Users", "Groups", "ServiceAccounts")), _role_binding
)
