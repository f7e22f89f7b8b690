"""The rules of containers: those of every kind, and what is special about init and ephemeral ones."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from moorage.cluster.base.errors import (
    duplicate_value,
    forbidden_value,
    invalid_value,
    required,
    too_many,
    unsupported_value,
    value_not_found,
)
from moorage.cluster.base.store import Document
from moorage.cluster.kinds.environment import check_environment, check_environment_sources
from moorage.cluster.kinds.mounts import check_devices, check_mounts
from moorage.cluster.kinds.pods_resources import check_requirements
from moorage.cluster.kinds.pods_security import check_container_security
from moorage.cluster.kinds.probes import check_lifecycle, check_probes
from moorage.cluster.kinds.rules import Found, check_choice, check_dns_label
from moorage.cluster.schema.forms import port_name_problems, port_number_problems

PULL_POLICIES = ("Always", "IfNotPresent", "Never")
_MESSAGE_POLICIES = ("File", "FallbackToLogsOnError")
_PROTOCOLS = ("SCTP", "TCP", "UDP")
_RESTART_POLICIES = ("Always", "Never", "OnFailure")
_NOT_EPHEMERAL = (
    "ports",
    "resources",
    "livenessProbe",
    "readinessProbe",
    "startupProbe",
    "lifecycle",
    "restartPolicy",
    "resizePolicy",
    "restartPolicyRules",
)
_OF_SIDECARS = ("lifecycle", "livenessProbe", "readinessProbe", "startupProbe")


@dataclass(slots=True)
class Surroundings:
    """What the rules of a container must know of its pod."""

    volumes: Mapping[str, Document]
    claims: Collection[str]
    grace: int | None
    restart_policy: str
    host_users: bool


def check_containers(containers: Sequence[Document], path: str, pod: Surroundings, found: Found) -> None:
    if not containers:
        found.append(required(path))
        return
    names: set[str] = set()
    for index, container in enumerate(containers):
        place = f"{path}[{index}]"
        _check_container(container, place, pod, found)
        name = container.get("name", "")
        if name in names:
            found.append(duplicate_value(f"{place}.name", name))
        names.add(name)
        if "lifecycle" in container:
            check_lifecycle(container["lifecycle"], f"{place}.lifecycle", pod.grace, found)
        check_probes(container, place, found)
        if "restartPolicy" in container or "restartPolicyRules" in container:
            _check_restarts(container, place, found)
    _check_host_ports(containers, path, found)


def check_init_containers(
    containers: Sequence[Document],
    regular: Sequence[Document],
    path: str,
    pod: Surroundings,
    found: Found,
) -> None:
    names = {container.get("name", "") for container in regular}
    for index, container in enumerate(containers):
        place = f"{path}[{index}]"
        _check_container(container, place, pod, found)
        _check_restarts(container, place, found)
        name = container.get("name", "")
        if name in names:
            found.append(duplicate_value(f"{place}.name", name))
        elif name:
            names.add(name)
        _check_host_ports([container], path, found)
        sidecar = container.get("restartPolicy") == "Always"
        if sidecar:
            if "lifecycle" in container:
                check_lifecycle(container["lifecycle"], f"{place}.lifecycle", pod.grace, found)
            check_probes(container, place, found)
            continue
        for field in _OF_SIDECARS:
            if field in container:
                detail = "may not be set for init containers without restartPolicy=Always"
                found.append(forbidden_value(f"{place}.{field}", detail))
        for number, policy in enumerate(container.get("resizePolicy", ())):
            if policy.get("restartPolicy") == "RestartContainer":
                detail = "must not be set to 'RestartContainer' for non-sidecar initContainers"
                where = f"{place}.resizePolicy[{number}].restartPolicy"
                found.append(invalid_value(where, policy["restartPolicy"], detail))


def check_ephemeral_containers(
    containers: Sequence[Document], others: Sequence[Document], path: str, pod: Surroundings, found: Found
) -> None:
    known = {container.get("name", "") for container in others}
    names = set(known)
    for index, container in enumerate(containers):
        place = f"{path}[{index}]"
        _check_container(container, place, pod, found)
        check_image_padding(container, place, found)
        name, target = container.get("name", ""), container.get("targetContainerName", "")
        if name in names:
            found.append(duplicate_value(f"{place}.name", name))
        names.add(name)
        if target and target not in known:
            found.append(value_not_found(f"{place}.targetContainerName", target))
        detail = "cannot be set for an Ephemeral Container"
        for field in _NOT_EPHEMERAL:
            if container.get(field):
                found.append(forbidden_value(f"{place}.{field}", detail))
        for number, mount in enumerate(container.get("volumeMounts", ())):
            for field in ("subPath", "subPathExpr"):
                if mount.get(field):
                    found.append(forbidden_value(f"{place}.volumeMounts[{number}].{field}", detail))


def check_image_padding(container: Document, path: str, found: Found) -> None:
    """Only pods mind: templates may have placeholders."""
    image = container.get("image", "")
    if image != image.strip():
        detail = "must not have leading or trailing whitespace"
        found.append(invalid_value(f"{path}.image", image, detail))


def all_containers(spec: Document, path: str) -> Iterator[tuple[Document, str]]:
    """All containers of a pod with where they are, init containers first."""
    for kind in ("initContainers", "containers", "ephemeralContainers"):
        for index, container in enumerate(spec.get(kind) or ()):
            yield container, f"{path}.{kind}[{index}]"


def _check_container(container: Document, path: str, pod: Surroundings, found: Found) -> None:
    name = container.get("name", "")
    if name:
        check_dns_label(name, f"{path}.name", found)
    else:
        found.append(required(f"{path}.name"))
    if not container.get("image"):
        found.append(required(f"{path}.image"))
    check_choice(
        container.get("terminationMessagePolicy", ""),
        f"{path}.terminationMessagePolicy",
        _MESSAGE_POLICIES,
        found,
    )
    if "ports" in container:
        _check_ports(container["ports"], f"{path}.ports", found)
    if "env" in container:
        check_environment(container["env"], f"{path}.env", found)
    if "envFrom" in container:
        check_environment_sources(container["envFrom"], f"{path}.envFrom", found)
    if "volumeMounts" in container:
        check_mounts(container, pod.volumes, f"{path}.volumeMounts", found)
    if "volumeDevices" in container:
        check_devices(container, pod.volumes, f"{path}.volumeDevices", found)
    check_choice(container.get("imagePullPolicy", ""), f"{path}.imagePullPolicy", PULL_POLICIES, found)
    if container.get("resources"):
        check_requirements(container["resources"], f"{path}.resources", pod.claims, found)
    if "resizePolicy" in container:
        _check_resize_policy(container["resizePolicy"], f"{path}.resizePolicy", pod.restart_policy, found)
    if "securityContext" in container:
        check_container_security(
            container["securityContext"], f"{path}.securityContext", pod.host_users, found
        )


def _check_ports(ports: Sequence[Document], path: str, found: Found) -> None:
    names: set[str] = set()
    for index, port in enumerate(ports):
        place = f"{path}[{index}]"
        name = port.get("name", "")
        if name:
            problems = port_name_problems(name)
            if problems:
                found.extend(invalid_value(f"{place}.name", name, problem) for problem in problems)
            elif name in names:
                found.append(duplicate_value(f"{place}.name", name))
            else:
                names.add(name)
        number, on_host = port.get("containerPort", 0), port.get("hostPort", 0)
        if number:
            for problem in port_number_problems(number):
                found.append(invalid_value(f"{place}.containerPort", number, problem))
        else:
            found.append(required(f"{place}.containerPort"))
        if on_host:
            for problem in port_number_problems(on_host):
                found.append(invalid_value(f"{place}.hostPort", on_host, problem))
        check_choice(port.get("protocol", ""), f"{place}.protocol", _PROTOCOLS, found)


def _check_host_ports(containers: Sequence[Document], path: str, found: Found) -> None:
    taken: set[str] = set()
    for index, container in enumerate(containers):
        for number, port in enumerate(container.get("ports", ())):
            if not port.get("hostPort"):
                continue
            place = f"{port.get('protocol', '')}/{port.get('hostIP', '')}/{port['hostPort']}"
            if place in taken:
                found.append(duplicate_value(f"{path}[{index}].ports[{number}].hostPort", place))
            taken.add(place)


def _check_resize_policy(
    policies: Sequence[Document], path: str, pod_restart_policy: str, found: Found
) -> None:
    resources: set[str] = set()
    for index, policy in enumerate(policies):
        resource, restart = policy.get("resourceName", ""), policy.get("restartPolicy", "")
        if resource in resources:
            found.append(duplicate_value(f"{path}[{index}]", resource))
        resources.add(resource)
        check_choice(resource, path, ("cpu", "memory"), found)
        check_choice(restart, path, ("NotRequired", "RestartContainer"), found)
        if pod_restart_policy == "Never" and restart != "NotRequired":
            detail = "must be 'NotRequired' when pod `restartPolicy` is 'Never'"
            found.append(invalid_value(path, restart, detail))


def _check_restarts(container: Document, path: str, found: Found) -> None:
    policy, rules = container.get("restartPolicy"), container.get("restartPolicyRules", ())
    if policy is None:
        if rules:
            detail = "must specify restartPolicy when restart rules are used"
            found.append(required(f"{path}.restartPolicy", detail))
    elif policy not in _RESTART_POLICIES:
        found.append(unsupported_value(f"{path}.restartPolicy", policy, _RESTART_POLICIES))
    if len(rules) > 20:
        found.append(too_many(f"{path}.restartPolicyRules", len(rules), 20))
    for index, rule in enumerate(rules):
        place = f"{path}.restartPolicyRules[{index}]"
        action = rule.get("action", "")
        if action not in ("Restart", "RestartAllContainers"):
            actions = ("Restart", "RestartAllContainers")
            found.append(unsupported_value(f"{place}.action", action, actions))
        codes = rule.get("exitCodes")
        if codes is None:
            found.append(required(f"{place}.exitCodes", "must be specified"))
            continue
        operator = codes.get("operator", "")
        if operator not in ("In", "NotIn"):
            found.append(unsupported_value(f"{place}.exitCodes.operator", operator, ("In", "NotIn")))
        values = codes.get("values", ())
        if len(values) > 255:
            found.append(too_many(f"{place}.exitCodes.values", len(values), 255))
