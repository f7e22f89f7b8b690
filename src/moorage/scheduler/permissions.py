"""What the scheduler must be allowed to do, and what of it the API server would refuse."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from moorage.client.errors import ApiError
from moorage.client.http import HttpClient
from moorage.client.resources import Resource
from moorage.config import KubeSchedulerConfiguration

_REVIEWS = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"


class Permission(NamedTuple):
    verb: str
    group: str
    resource: str
    subresource: str = ""
    namespace: str = ""
    name: str = ""

    def __str__(self) -> str:
        what = f"{self.resource}/{self.subresource}" if self.subresource else self.resource
        of = f"{what}.{self.group}" if self.group else what
        named = f" named {self.name}" if self.name else ""
        where = f" in namespace {self.namespace}" if self.namespace else ""
        return f"{self.verb} {of}{named}{where}"


def needed(resources: Iterable[Resource[Any]], config: KubeSchedulerConfiguration) -> list[Permission]:
    """Reading what is watched, binding, telling about it, and holding the lease."""
    found = [
        Permission(verb, resource.group, resource.plural)
        for resource in resources
        for verb in ("list", "watch")
    ]
    found += [
        Permission("create", "", "pods", "binding"),
        Permission("patch", "", "pods", "status"),
        Permission("delete", "", "pods"),
        Permission("create", "events.k8s.io", "events"),
        Permission("patch", "events.k8s.io", "events"),
    ]
    election = config.leader_election
    if election.leader_elect:
        lease = ("coordination.k8s.io", "leases", "", election.resource_namespace)
        found.append(Permission("create", *lease))
        found += [Permission(verb, *lease, election.resource_name) for verb in ("get", "update")]
    return found


async def missing_permissions(
    client: HttpClient, resources: Sequence[Resource[Any]], config: KubeSchedulerConfiguration
) -> list[Permission]:
    """The permissions that are needed and not given; none if the API server cannot be asked."""
    wanted = needed(resources, config)
    allowed = await asyncio.gather(*(_is_allowed(client, permission) for permission in wanted))
    return [permission for permission, yes in zip(wanted, allowed, strict=True) if not yes]


async def _is_allowed(client: HttpClient, permission: Permission) -> bool:
    attributes = {key: value for key, value in permission._asdict().items() if value}
    body = {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SelfSubjectAccessReview",
        "spec": {"resourceAttributes": attributes},
    }
    try:
        answer = await client.request_json("POST", _REVIEWS, body)
    except (ApiError, OSError):
        # Without an answer there is nothing to report; what is really missing shows when it is used.
        return True
    return bool(answer.get("status", {}).get("allowed", False))
