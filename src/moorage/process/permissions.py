"""What the scheduler must be allowed to do, and what of it the API server would refuse."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from typing import Any

from moorage.client.errors import ApiError
from moorage.client.http import HttpClient
from moorage.client.resources import Resource
from moorage.config import KubeSchedulerConfiguration
from moorage.config.types import LeaderElection
from moorage.contrib.features import of_plugins
from moorage.framework.permissions import Permission
from moorage.framework.runtime.profile import Profile
from moorage.process.controllers import of_controllers

_REVIEWS = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"

_OF_EVERY_SCHEDULER = (
    Permission("create", "", "pods", "binding"),
    Permission("patch", "", "pods", "status"),
    Permission("create", "events.k8s.io", "events"),
    Permission("patch", "events.k8s.io", "events"),
)

_OF_A_SERVICE_ACCOUNT = (
    # The election tells of itself in the core group, and so does everything where there is no other.
    Permission("create", "", "events"),
    Permission("patch", "", "events"),
    # Who may read its metrics and configuration
    Permission("create", "authentication.k8s.io", "tokenreviews"),
    Permission("create", "authorization.k8s.io", "subjectaccessreviews"),
)


def needed(
    resources: Iterable[Resource[Any]], profiles: Iterable[Profile], config: KubeSchedulerConfiguration
) -> list[Permission]:
    """Reading what is watched, binding, telling about it, what plugins declare, and holding the lease.

    And what the controllers beside the plugins need.
    """
    profiles, election = list(profiles), config.leader_election
    found = [
        Permission(verb, resource.group, resource.plural)
        for resource in resources
        for verb in ("list", "watch")
    ]
    found += _OF_EVERY_SCHEDULER
    found += [
        permission
        for profile in profiles
        for plugin in profile.plugins.values()
        for permission in plugin.permissions
    ]
    found += _of_lease(election, ("create", "get", "update"))
    features = of_plugins({name for profile in profiles for name in profile.plugins})
    found += [
        Permission("patch", kind.group, kind.resource, "status")
        for feature in features
        for kind in feature.kinds
    ]
    if features:
        found += _of_lease(of_controllers(election), ("create", "get", "update"))
    return list(dict.fromkeys(found))


def of_service_account(
    resources: Sequence[Resource[Any]], profiles: Iterable[Profile], config: KubeSchedulerConfiguration
) -> list[Permission]:
    """What an identity of its own is given: what is needed, and what `moorage run` uses where it can."""
    found = [*needed(resources, profiles, config), *_OF_A_SERVICE_ACCOUNT]
    found += [Permission("get", resource.group, resource.plural) for resource in resources]
    found += _of_lease(config.leader_election, ("list", "watch"))
    return list(dict.fromkeys(found))


def of_shadow(resources: Iterable[Resource[Any]]) -> list[Permission]:
    """What one needs that only looks."""
    return [
        Permission(verb, resource.group, resource.plural)
        for resource in resources
        for verb in ("get", "list", "watch")
    ]


def _of_lease(election: LeaderElection, verbs: Iterable[str]) -> list[Permission]:
    if not election.leader_elect:
        return []
    lease = ("coordination.k8s.io", "leases", "", election.resource_namespace)
    # A right to create cannot be tied to a name.
    return [Permission(verb, *lease, "" if verb == "create" else election.resource_name) for verb in verbs]


async def missing_permissions(
    client: HttpClient,
    resources: Sequence[Resource[Any]],
    profiles: Iterable[Profile],
    config: KubeSchedulerConfiguration,
) -> list[Permission]:
    """The permissions that are needed and not given; none if the API server cannot be asked."""
    wanted = needed(resources, profiles, config)
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
