"""From options to everything that has to be known before objects can be written."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from msgspec.structs import replace

from moorage import __version__
from moorage.api.meta import Object
from moorage.api.names import dns_label_problems
from moorage.cli.deployment.plugin_files import PluginFiles
from moorage.cli.setup import (
    BadInput,
    find_features,
    make_registry,
    not_enabled,
    read_input,
    refuse_broken,
    unknown_names,
    unused,
)
from moorage.config import KubeSchedulerConfiguration, load
from moorage.config.convert import Conversion
from moorage.config.defaults import DEFAULT_SCHEDULER_NAME
from moorage.config.load import load_document
from moorage.config.types import ExtenderTLSConfig, LeaderElection
from moorage.framework.handle import Services
from moorage.framework.loading.registry import Registry
from moorage.framework.permissions import Permission
from moorage.plugins.catalog import CONTRIB_SOURCE, SOURCE
from moorage.process.permissions import of_service_account, of_shadow
from moorage.process.watched import watched
from moorage.scheduler.profiles import default_document, make_profiles

DEFAULT_NAME = "moorage"
SHADOW_NAME = "moorage-shadow"
DEFAULT_NAMESPACE = "kube-system"
DEFAULT_IMAGE = f"moorage:{__version__}"
_MAX_CONFIG_MAP = 1024 * 1024
_SERVICE_NAME = re.compile("[a-z]([-a-z0-9]{0,61}[a-z0-9])?")
_OF_THE_CLUSTER = frozenset(
    (
        "default",
        *("admin", "cluster-admin", "edit", "view"),
        *("kube-scheduler", "kube-controller-manager", "cloud-controller-manager"),
        "extension-apiserver-authentication-reader",
    )
)
"""Service accounts, roles and leases that every cluster has, and that these objects would take over."""
_IMAGE = re.compile(r"[-._:@/a-zA-Z0-9]+")

Document = dict[str, Any]


@dataclass(frozen=True)
class Wishes:
    """What the options of `moorage manifests` say."""

    config_file: str | None = None
    plugins: tuple[str, ...] = ()
    features: tuple[str, ...] = ()
    name: str | None = None
    namespace: str = DEFAULT_NAMESPACE
    image: str | None = None
    replicas: int | None = None
    """Two, unless it is said; a shadow is alone."""
    replace_default: bool = False
    shadow: bool = False
    metrics_service: bool = False
    service_monitor: bool = False


@dataclass(frozen=True)
class Plan:
    """What the objects are made of."""

    name: str
    namespace: str
    image: str
    replicas: int
    configuration: Document
    plugin_files: dict[str, str]
    plugin_flags: list[str]
    permissions: list[Permission]
    is_shadow: bool
    """Whether it only judges another scheduler."""
    kinds: list[type[Object]]
    """The custom resources that are to be defined."""
    warnings: list[str]
    """How the configuration differs from the file."""


def make_plan(wishes: Wishes) -> Plan:
    """Checks everything that can be checked without a cluster; raises BadInput or ConfigError."""
    if wishes.shadow:
        _check_shadow(wishes)
    features = find_features(wishes.features)
    registry, added = make_registry(wishes.plugins)
    document, warnings = _given(wishes, registry, [*(feature.plugin for feature in features), *added])
    profiles = document["profiles"] = [each or {} for each in document.get("profiles") or [{}]]
    name = _checked_names(wishes, [each.get("schedulerName") or DEFAULT_SCHEDULER_NAME for each in profiles])
    warnings += _name_profiles(profiles, name, wishes)
    configuration, more = _in_cluster(document, name, wishes)
    config = load(json.dumps(configuration)).config
    permissions = _permissions(config, registry, wishes)
    files = PluginFiles(wishes.plugins, wishes.image)
    if wishes.image is None:
        _refuse_installed(config, registry, added)
        _refuse_certificate_files(config)
    if (
        sum(len(text.encode()) for text in (*files.texts.values(), json.dumps(configuration)))
        > _MAX_CONFIG_MAP
    ):
        raise BadInput("--plugin: the files are too large for a ConfigMap (1 MiB); put them into an image")
    return Plan(
        name=name,
        namespace=wishes.namespace,
        image=wishes.image or DEFAULT_IMAGE,
        replicas=1 if wishes.shadow else wishes.replicas or 2,
        configuration=configuration,
        plugin_files=dict(sorted(files.texts.items())),
        plugin_flags=files.flags,
        permissions=permissions,
        is_shadow=wishes.shadow,
        kinds=[kind for feature in features for kind in feature.kinds],
        warnings=[*warnings, *more, *unused(config, added)],
    )


def _check_shadow(wishes: Wishes) -> None:
    if wishes.replace_default:
        raise BadInput("--replace-default: a shadow replaces nobody; leave it or --shadow out")
    if wishes.replicas not in (None, 1):
        raise BadInput("--replicas: one shadow sees everything; leave it out")


def _given(wishes: Wishes, registry: Registry, added: list[str]) -> Conversion:
    """The configuration as v1, without defaults."""
    if wishes.config_file is None:
        return Conversion(default_document(registry, list(dict.fromkeys(added))), [])
    text, source = read_input(wishes.config_file)
    # Errors are reported as every other command reports them.
    config = load(text, source=source).config
    refuse_broken(config, registry)
    document, warnings = load_document(text, source=source)
    warnings += [*unknown_names(config, registry, source), *not_enabled(config, wishes.features, source)]
    return Conversion(document, warnings)


def _checked_names(wishes: Wishes, profiles: list[str]) -> str:
    """The name of the objects and of the lease."""
    problems = dns_label_problems(wishes.namespace)
    if problems:
        raise BadInput(f"--namespace: {wishes.namespace!r}: {problems[0]}")
    if wishes.image is not None and not _IMAGE.fullmatch(wishes.image):
        raise BadInput(f"--image: {wishes.image!r} is not the name of an image; write registry/name:tag")
    own = [name for name in profiles if name != DEFAULT_SCHEDULER_NAME]
    usual = own[0] if own == profiles and not wishes.replace_default else DEFAULT_NAME
    name = wishes.name or (SHADOW_NAME if wishes.shadow else usual)
    if not _SERVICE_NAME.fullmatch(name):
        rule = "use at most 63 lower-case letters, digits and dashes, a letter first"
        raise BadInput(f"--name: {name!r} cannot be the name of objects; {rule}")
    if name == DEFAULT_SCHEDULER_NAME and not wishes.replace_default:
        raise BadInput(
            f"--name: {name} is the cluster's own scheduler, and two of one name race for the same pods; "
            "choose another, or --replace-default"
        )
    replaces_scheduler = wishes.replace_default and name == LeaderElection().resource_name
    if name in _OF_THE_CLUSTER and not replaces_scheduler:
        raise BadInput(f"--name: {name} is the name of something that the cluster itself has; choose another")
    return name


def _name_profiles(profiles: list[Document], name: str, wishes: Wishes) -> list[str]:
    """Makes sure that beside the cluster's own scheduler nobody, and in its place one, serves its pods.

    Returns what is worth a warning.
    """
    names = [each.get("schedulerName") or DEFAULT_SCHEDULER_NAME for each in profiles]
    if wishes.shadow:
        return []  # it judges the pods of others
    if wishes.replace_default:
        if len(profiles) == 1:
            profiles[0] = {**profiles[0], "schedulerName": DEFAULT_SCHEDULER_NAME}
        elif DEFAULT_SCHEDULER_NAME not in names:
            raise BadInput(
                f"--replace-default: no profile is called {DEFAULT_SCHEDULER_NAME}; rename one of them"
            )
        return []
    renamed = []
    for place, old in enumerate(names):
        if old != name and (old == DEFAULT_SCHEDULER_NAME or (len(names) == 1 and wishes.name)):
            if name in names:
                raise BadInput(f"--name: {name} is a profile already, and {old} cannot be called that, too")
            profiles[place] = {**profiles[place], "schedulerName": name}
            if not wishes.name and wishes.config_file is not None:
                renamed.append(f"profiles[{place}].schedulerName: {old} is called {name} here")
    return renamed


def _in_cluster(document: Document, name: str, wishes: Wishes) -> Conversion:
    """The configuration with a lease of its own, and the connection that a pod has anyway."""
    given = document.get("leaderElection") or {}
    usual = LeaderElection()
    lease: Document = (
        {"resourceName": usual.resource_name, "resourceNamespace": usual.resource_namespace}
        if wishes.replace_default
        else {"resourceName": name, "resourceNamespace": wishes.namespace}
    )
    election: Document = {**given, "leaderElect": True, **lease}
    if wishes.shadow:
        given, lease, election = {}, {}, {"leaderElect": False}
    warnings = [
        f"leaderElection.{key}: {json.dumps(given[key])} is {json.dumps(election[key])} here"
        for key in ("leaderElect", *lease)
        if given.get(key) not in (None, "", election[key])
    ]
    connection = dict(document.get("clientConnection") or {})
    if connection.pop("kubeconfig", None):
        warnings.append("clientConnection.kubeconfig: left out, a pod uses its service account")
    adjusted = {"leaderElection": election, "clientConnection": connection}
    last = document["profiles"]
    others = {key: value for key, value in document.items() if key not in (*adjusted, "profiles")}
    kept = {key: value for key, value in adjusted.items() if value}
    return Conversion({**others, **kept, "profiles": last}, warnings)


def _permissions(config: KubeSchedulerConfiguration, registry: Registry, wishes: Wishes) -> list[Permission]:
    """What a scheduler with this configuration needs: its plugins are made and asked."""
    services = Services()
    # Files with certificates are in the pod, not here.
    extenders = [replace(extender, tls_config=None) for extender in config.extenders]
    profiles = make_profiles(replace(config, extenders=extenders), registry, services)
    try:
        resources = watched(services.listers, profiles.values())
        if wishes.shadow:
            return of_shadow(resources)
        return of_service_account(resources, profiles.values(), config)
    finally:
        for profile in profiles.values():
            profile.close()


def _refuse_installed(config: KubeSchedulerConfiguration, registry: Registry, added: Iterable[str]) -> None:
    """Moorage's own image has no packages of plugins."""
    enabled = {name for profile in config.profiles for name in profile.plugins.enabled_names()}
    for entry in registry:
        comes_along = entry.source in (SOURCE, CONTRIB_SOURCE) or entry.name in added
        if entry.name in enabled and not comes_along:
            raise BadInput(
                f"plugin {entry.name}: Moorage's own image does not have the package {entry.source}: "
                "build one with it and give --image"
            )


def _refuse_certificate_files(config: KubeSchedulerConfiguration) -> None:
    """Moorage's own image has no certificates of extenders."""
    for place, extender in enumerate(config.extenders):
        given = extender.tls_config or ExtenderTLSConfig()
        for field, file in (("cert", given.cert_file), ("key", given.key_file), ("ca", given.ca_file)):
            if file:
                raise BadInput(
                    f"extenders[{place}].tlsConfig.{field}File: the pod has no file {file}: "
                    f"write its content in base64 as {field}Data, or build an image with it and give --image"
                )
