"""What is allowed in pods and templates, but is hardly meant that way."""

from __future__ import annotations

from collections.abc import Iterator

from moorage.api.names import label_value_problems
from moorage.api.quantities import NANOS, parse
from moorage.cluster.base.errors import shown
from moorage.cluster.base.store import Document
from moorage.cluster.kinds.common import items_of, part, repeated
from moorage.cluster.kinds.pods.containers import all_containers
from moorage.cluster.kinds.pods.security import SECCOMP_CONTAINER, SECCOMP_POD
from moorage.cluster.kinds.pods.spec import PREFERRED, REQUIRED
from moorage.cluster.schema.forms import dns_label_problems

_RENAMED_LABELS = (
    ("beta.kubernetes.io/arch", "v1.14", "kubernetes.io/arch"),
    ("beta.kubernetes.io/os", "v1.14", "kubernetes.io/os"),
    ("failure-domain.beta.kubernetes.io/region", "v1.17", "topology.kubernetes.io/region"),
    ("failure-domain.beta.kubernetes.io/zone", "v1.17", "topology.kubernetes.io/zone"),
    ("beta.kubernetes.io/instance-type", "v1.17", "node.kubernetes.io/instance-type"),
)
_OLD_LABELS = {
    old: f'deprecated since {since}; use "{new}" instead' for old, since, new in _RENAMED_LABELS
} | {
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
    spec, annotations = part(template, "spec"), part(part(template, "metadata"), "annotations")
    prefix = f"{path}." if path else ""
    place = f"{prefix}spec"
    return [
        *_placement_warnings(spec, place),
        *(
            f"{prefix}metadata.annotations[{key}]: {_OLD_ANNOTATIONS[key]}"
            for key in _OLD_ANNOTATIONS
            if key in annotations
        ),
        *_volume_warnings(spec, place),
        *_list_warnings(spec, place, "hostAliases", "ip"),
        *_list_warnings(spec, place, "imagePullSecrets", "name"),
        *_fraction_warnings(part(spec, "overhead"), f"{place}.overhead"),
        *_seccomp_warnings(spec, SECCOMP_POD, annotations, prefix),
        *_container_warnings(spec, annotations, prefix),
        *_port_warnings(spec, place),
        *_end_warnings(spec, place),
    ]


def _placement_warnings(spec: Document, path: str) -> Iterator[str]:
    for key in part(spec, "nodeSelector"):
        if key in _OLD_LABELS:
            yield f"{path}.nodeSelector[{key}]: {_OLD_LABELS[key]}"
    nodes, place = part(part(spec, "affinity"), "nodeAffinity"), f"{path}.affinity.nodeAffinity"
    for term, where in items_of(part(nodes, REQUIRED), "nodeSelectorTerms", f"{place}.{REQUIRED}"):
        yield from _term_warnings(term, where)
    for term, where in items_of(nodes, PREFERRED, place):
        yield from _term_warnings(part(term, "preference"), f"{where}.preference", preferred=True)
    for constraint, where in items_of(spec, "topologySpreadConstraints", path):
        key = constraint.get("topologyKey", "")
        if key in _OLD_LABELS:
            yield f"{where}.topologyKey: {key} is {_OLD_LABELS[key]}"
        yield from _selector_warnings(constraint, where)


def _selector_warnings(term: Document, path: str) -> Iterator[str]:
    if "labelSelector" not in term:
        yield f"{path}.labelSelector: a null labelSelector results in matching no pod"


def _term_warnings(term: Document, path: str, *, preferred: bool = False) -> Iterator[str]:
    for requirement, place in items_of(term, "matchExpressions", path):
        key = requirement.get("key", "")
        if key in _OLD_LABELS:
            yield f"{place}.key: {key} is {_OLD_LABELS[key]}"
        for number, value in enumerate((requirement.get("values") or ()) if preferred else ()):
            for problem in label_value_problems(value):
                yield f"{place}.values[{number}]: {value} is invalid, {problem}"


def _volume_warnings(spec: Document, path: str) -> Iterator[str]:
    for volume, place in items_of(spec, "volumes", path):
        for source, text in _OLD_VOLUMES.items():
            if source in volume:
                yield f"{place}.{'storageOS' if source == 'storageos' else source}: {text}"
    for volume in spec.get("volumes") or ():
        for source in part(volume, "projected").get("sources") or ():
            if not source:
                yield f"volume {shown(volume.get('name', ''))} (Projected) has no sources provided"


def _list_warnings(spec: Document, path: str, field: str, name: str) -> Iterator[str]:
    values = [entry.get(name, "") for entry in spec.get(field) or ()]
    for index, value in repeated(values):
        yield f"{path}.{field}[{index}].{name}: duplicate {name} {shown(value)}"
    for index, value in enumerate(values):
        if not value and name == "name":
            yield f'{path}.{field}[{index}].name: invalid empty name ""'


def _fraction_warnings(amounts: Document, path: str) -> Iterator[str]:
    for name in ("memory", "ephemeral-storage"):
        amount = amounts.get(name)
        if amount is not None and parse(amount) % NANOS:
            yield f"{path}[{name}]: fractional byte value {shown(amount)} is invalid, must be an integer"


def _seccomp_warnings(owner: Document, key: str, annotations: Document, prefix: str) -> Iterator[str]:
    if key in annotations and "seccompProfile" not in part(owner, "securityContext"):
        text = 'non-functional in v1.27+; use the "seccompProfile" field instead'
        yield f"{prefix}metadata.annotations[{key}]: {text}"


def _container_warnings(spec: Document, annotations: Document, prefix: str) -> Iterator[str]:
    for container, path in all_containers(spec, f"{prefix}spec"):
        key = SECCOMP_CONTAINER + container.get("name", "")
        yield from _seccomp_warnings(container, key, annotations, prefix)
        resources = part(container, "resources")
        for kind in ("limits", "requests"):
            yield from _fraction_warnings(part(resources, kind), f"{path}.resources.{kind}")
        variables = container.get("env") or ()
        for index, name in repeated(variable.get("name", "") for variable in variables):
            value, reference = variables[index].get("value", ""), f"$({name})"
            if "valueFrom" in variables[index] or value == reference or reference not in value:
                text = "which may be dropped when using apply"
                yield f"{path}.env[{index}]: hides previous definition of {shown(name)}, {text}"


def _port_warnings(spec: Document, path: str) -> Iterator[str]:
    known: dict[tuple[int, str], list[tuple[str, str, int]]] = {}
    names: dict[str, str] = {}
    again = []
    for container, place in all_containers(spec, path):
        for port, where in items_of(container, "ports", place):
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
            first = names.setdefault(name, where)
            if name and first != where:
                text = f"services and probes that select ports by name will use {first}"
                again.append(f"{where}: duplicate port name {shown(name)} with {first}, {text}")
    yield from again


def _end_warnings(spec: Document, path: str) -> Iterator[str]:
    if spec.get("terminationGracePeriodSeconds", 0) < 0:
        text = "must be >= 0; negative values are invalid and will be treated as 1"
        yield f"{path}.terminationGracePeriodSeconds: {text}"
    for kind in ("podAffinity", "podAntiAffinity"):
        affinity, place = part(part(spec, "affinity"), kind), f"{path}.affinity.{kind}"
        for term, where in items_of(affinity, REQUIRED, place):
            yield from _selector_warnings(term, where)
        for weighted, where in items_of(affinity, PREFERRED, place):
            yield from _selector_warnings(part(weighted, "podAffinityTerm"), f"{where}.podAffinityTerm")
