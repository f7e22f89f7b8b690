"""What is allowed in pods and templates, but is hardly meant that way."""

from __future__ import annotations

from collections.abc import Iterator

from moorage.api.names import label_value_problems
from moorage.api.quantities import NANOS, parse
from moorage.cluster.base.errors import shown
from moorage.cluster.base.store import Document
from moorage.cluster.kinds.containers import all_containers
from moorage.cluster.kinds.pods_annotations import SECCOMP_CONTAINER, SECCOMP_POD
from moorage.cluster.schema.forms import dns_label_problems

_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
_NULL_SELECTOR = "a null labelSelector results in matching no pod"

_OLD_LABELS = {
    "beta.kubernetes.io/arch": 'deprecated since v1.14; use "kubernetes.io/arch" instead',
    "beta.kubernetes.io/os": 'deprecated since v1.14; use "kubernetes.io/os" instead',
    "failure-domain.beta.kubernetes.io/region": (
        'deprecated since v1.17; use "topology.kubernetes.io/region" instead'
    ),
    "failure-domain.beta.kubernetes.io/zone": (
        'deprecated since v1.17; use "topology.kubernetes.io/zone" instead'
    ),
    "beta.kubernetes.io/instance-type": (
        'deprecated since v1.17; use "node.kubernetes.io/instance-type" instead'
    ),
    "app.kubernetes.io/created-by": "deprecated since v1.9",
    "scheduler.alpha.kubernetes.io/preferAvoidPods": (
        "deprecated since v1.22; use Taints and Tolerations instead"
    ),
    "node-role.kubernetes.io/master": 'use "node-role.kubernetes.io/control-plane" instead',
}
_OLD_ANNOTATIONS = {
    "scheduler.alpha.kubernetes.io/critical-pod": (
        'non-functional in v1.16+; use the "priorityClassName" field instead'
    ),
    "security.alpha.kubernetes.io/sysctls": 'non-functional in v1.11+; use the "sysctls" field instead',
    "security.alpha.kubernetes.io/unsafe-sysctls": (
        'non-functional in v1.11+; use the "sysctls" field instead'
    ),
}
_OLD_VOLUMES = {
    "photonPersistentDisk": "deprecated in v1.11, non-functional in v1.16+",
    "gitRepo": "deprecated in v1.11, and disabled by default in v1.33+",
    "scaleIO": "deprecated in v1.16, non-functional in v1.22+",
    "flocker": "deprecated in v1.22, non-functional in v1.25+",
    "storageos": "deprecated in v1.22, non-functional in v1.25+",
    "quobyte": "deprecated in v1.22, non-functional in v1.25+",
    "glusterfs": "deprecated in v1.25, non-functional in v1.26+",
    "cephfs": "deprecated in v1.28, non-functional in v1.31+",
    "rbd": "deprecated in v1.28, non-functional in v1.31+",
}
_SEEN_AS = {"storageos": "storageOS"}


def is_new(document: Document) -> bool:
    """Whether a document is about to be created: only what is stored has a version."""
    return not document["metadata"].get("resourceVersion")


def name_warnings(document: Document, what: str) -> list[str]:
    """Names that are no DNS labels are poor names of hosts; said once, when the object is created."""
    problems = dns_label_problems(document["metadata"].get("name", ""))
    if not problems or not is_new(document):
        return []
    return [f"metadata.name: {what}; a DNS label is recommended: [{' '.join(problems)}]"]


def pod_warnings(template: Document, path: str = "") -> list[str]:
    """Of a pod, or of a template at `path`."""
    spec, metadata = template.get("spec", {}), template.get("metadata", {})
    prefix = f"{path}." if path else ""
    place = f"{prefix}spec"
    annotations = metadata.get("annotations") or {}
    return [
        *_placement_warnings(spec, place),
        *(
            f"{prefix}metadata.annotations[{key}]: {text}"
            for key, text in _OLD_ANNOTATIONS.items()
            if key in annotations
        ),
        *_volume_warnings(spec, place),
        *_name_list_warnings(spec, place),
        *_fraction_warnings(spec.get("overhead", {}), f"{place}.overhead"),
        *_seccomp_warnings(spec, annotations, prefix),
        *_container_warnings(spec, annotations, prefix),
        *_port_warnings(spec, place),
        *_end_warnings(spec, place),
    ]


def _placement_warnings(spec: Document, path: str) -> Iterator[str]:
    for key in spec.get("nodeSelector", ()):
        if key in _OLD_LABELS:
            yield f"{path}.nodeSelector[{key}]: {_OLD_LABELS[key]}"
    nodes = spec.get("affinity", {}).get("nodeAffinity", {})
    place = f"{path}.affinity.nodeAffinity"
    for index, term in enumerate(nodes.get(_REQUIRED, {}).get("nodeSelectorTerms") or ()):
        yield from _term_warnings(term, f"{place}.{_REQUIRED}.nodeSelectorTerms[{index}]")
    for index, term in enumerate(nodes.get(_PREFERRED, ())):
        where = f"{place}.{_PREFERRED}[{index}].preference"
        yield from _term_warnings(term.get("preference", {}), where, preferred=True)
    for index, constraint in enumerate(spec.get("topologySpreadConstraints", ())):
        where = f"{path}.topologySpreadConstraints[{index}]"
        key = constraint.get("topologyKey", "")
        if key in _OLD_LABELS:
            yield f"{where}.topologyKey: {key} is {_OLD_LABELS[key]}"
        if "labelSelector" not in constraint:
            yield f"{where}.labelSelector: {_NULL_SELECTOR}"


def _term_warnings(term: Document, path: str, *, preferred: bool = False) -> Iterator[str]:
    for index, requirement in enumerate(term.get("matchExpressions", ())):
        key = requirement.get("key", "")
        place = f"{path}.matchExpressions[{index}]"
        if key in _OLD_LABELS:
            yield f"{place}.key: {key} is {_OLD_LABELS[key]}"
        for number, value in enumerate(requirement.get("values", ()) if preferred else ()):
            for problem in label_value_problems(value):
                yield f"{place}.values[{number}]: {value} is invalid, {problem}"


def _volume_warnings(spec: Document, path: str) -> Iterator[str]:
    for index, volume in enumerate(spec.get("volumes", ())):
        for source, text in _OLD_VOLUMES.items():
            if source in volume:
                yield f"{path}.volumes[{index}].{_SEEN_AS.get(source, source)}: {text}"
    for volume in spec.get("volumes", ()):
        for source in volume.get("projected", {}).get("sources") or ():
            if not source:
                yield f"volume {shown(volume.get('name', ''))} (Projected) has no sources provided"


def _name_list_warnings(spec: Document, path: str) -> Iterator[str]:
    for field, name in (("hostAliases", "ip"), ("imagePullSecrets", "name")):
        seen = set()
        for index, entry in enumerate(spec.get(field, ())):
            value = entry.get(name, "")
            if value in seen:
                yield f"{path}.{field}[{index}].{name}: duplicate {name} {shown(value)}"
            seen.add(value)
    for index, entry in enumerate(spec.get("imagePullSecrets", ())):
        if not entry.get("name"):
            yield f'{path}.imagePullSecrets[{index}].name: invalid empty name ""'


def _fraction_warnings(amounts: Document, path: str) -> Iterator[str]:
    for name in ("memory", "ephemeral-storage"):
        amount = amounts.get(name)
        if amount is not None and parse(amount) % NANOS:
            yield f"{path}[{name}]: fractional byte value {shown(amount)} is invalid, must be an integer"


def _seccomp_warnings(spec: Document, annotations: dict[str, str], prefix: str) -> Iterator[str]:
    if SECCOMP_POD in annotations and "seccompProfile" not in spec.get("securityContext", {}):
        yield (
            f"{prefix}metadata.annotations[{SECCOMP_POD}]: "
            'non-functional in v1.27+; use the "seccompProfile" field instead'
        )


def _container_warnings(spec: Document, annotations: dict[str, str], prefix: str) -> Iterator[str]:
    for container, path in all_containers(spec, f"{prefix}spec"):
        key = SECCOMP_CONTAINER + container.get("name", "")
        if key in annotations and "seccompProfile" not in container.get("securityContext", {}):
            yield (
                f"{prefix}metadata.annotations[{key}]: "
                'non-functional in v1.27+; use the "seccompProfile" field instead'
            )
        resources = container.get("resources", {})
        for kind in ("limits", "requests"):
            yield from _fraction_warnings(resources.get(kind, {}), f"{path}.resources.{kind}")
        yield from _variable_warnings(container.get("env", ()), f"{path}.env")


def _variable_warnings(variables: list[Document], path: str) -> Iterator[str]:
    seen = set()
    for index, variable in enumerate(variables):
        name, value = variable.get("name", ""), variable.get("value", "")
        if name in seen:
            reference = f"$({name})"
            if "valueFrom" in variable or value == reference or reference not in value:
                yield (
                    f"{path}[{index}]: hides previous definition of {shown(name)}, "
                    "which may be dropped when using apply"
                )
        seen.add(name)


def _port_warnings(spec: Document, path: str) -> Iterator[str]:
    known: dict[tuple[int, str], list[tuple[str, str, int]]] = {}
    names: dict[str, str] = {}
    again = []
    for container, place in all_containers(spec, path):
        for index, port in enumerate(container.get("ports", ())):
            where = f"{place}.ports[{index}]"
            ip, on_host = port.get("hostIP", ""), port.get("hostPort", 0)
            others = known.setdefault((port.get("containerPort", 0), port.get("protocol", "")), [])
            for other, other_ip, other_port in others:
                if (ip, on_host) == (other_ip, other_port):
                    yield f"{where}: duplicate port definition with {other}"
                elif not on_host or not other_port:
                    yield f"{where}: overlapping port definition with {other}"
                elif on_host == other_port and bool(ip) != bool(other_ip):
                    yield f"{where}: dangerously ambiguous port definition with {other}"
            others.append((where, ip, on_host))
            name = port.get("name", "")
            if name and name in names:
                first = names[name]
                again.append(
                    f"{where}: duplicate port name {shown(name)} with {first}, services and probes that "
                    f"select ports by name will use {first}"
                )
            elif name:
                names[name] = where
    yield from again


def _end_warnings(spec: Document, path: str) -> Iterator[str]:
    if spec.get("terminationGracePeriodSeconds", 0) < 0:
        yield (
            f"{path}.terminationGracePeriodSeconds: must be >= 0; "
            "negative values are invalid and will be treated as 1"
        )
    for kind in ("podAffinity", "podAntiAffinity"):
        affinity = spec.get("affinity", {}).get(kind, {})
        for index, term in enumerate(affinity.get(_REQUIRED, ())):
            if "labelSelector" not in term:
                yield f"{path}.affinity.{kind}.{_REQUIRED}[{index}].labelSelector: {_NULL_SELECTOR}"
        for index, weighted in enumerate(affinity.get(_PREFERRED, ())):
            if "labelSelector" not in weighted.get("podAffinityTerm", {}):
                place = f"{path}.affinity.{kind}.{_PREFERRED}[{index}].podAffinityTerm.labelSelector"
                yield f"{place}: {_NULL_SELECTOR}"
