"""What relates the fields of a pod's spec, whether it stands in a pod or in a template."""

from __future__ import annotations

from collections.abc import Iterator

from moorage.cluster.base import errors
from moorage.cluster.base.errors import Cause
from moorage.cluster.base.store import Document
from moorage.cluster.kinds.common import earlier, items_of, part
from moorage.cluster.kinds.pods.containers import all_containers
from moorage.cluster.schema.checking import Around, check, check_form, relates
from moorage.cluster.schema.forms import label_value_problems, size

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
_SEARCH_CHARACTERS = 2048
_ANY_KEY = 'operator must be Exists when `key` is empty, which means "match all values and all keys"'


@relates("core.v1.PodSpec", where="shareProcessNamespace")
def _processes(spec: Document, path: str, around: Around) -> Iterator[Cause]:
    if spec["shareProcessNamespace"] and spec.get("hostPID"):
        text = "ShareProcessNamespace and HostPID cannot both be enabled"
        yield errors.invalid_value(f"{path}.securityContext.shareProcessNamespace", True, text)


@relates("core.v1.PodSpec", where="hostUsers")
def _own_users(spec: Document, path: str, around: Around) -> Iterator[Cause]:
    if spec["hostUsers"] is False:
        text = "when `hostUsers` is false"
        for field, place in (("hostNetwork", "hostNetwork"), ("hostPID", "HostPID"), ("hostIPC", "HostIPC")):
            if spec.get(field):
                yield errors.forbidden_value(f"{path}.{place}", text)
        for container, place in all_containers(spec, path):
            if container.get("volumeDevices"):
                yield errors.forbidden_value(f"{place}.volumeDevices", text)


@relates("core.v1.PodSpec", where="hostNetwork")
def _host_network(spec: Document, path: str, around: Around) -> Iterator[Cause]:
    if not spec.get("hostNetwork"):
        return
    for container, where in items_of(spec, "containers", path):
        for port, place in items_of(container, "ports", where):
            on_host = port.get("hostPort", 0)
            if (on_host or "core.v1.Pod" in around) and on_host != port.get("containerPort", 0):
                text = "must match `containerPort` when `hostNetwork` is true"
                yield errors.invalid_value(f"{place}.hostPort", on_host, text)


@relates("core.v1.PodSpec", where="hostnameOverride")
def _hostname_override(spec: Document, path: str, around: Around) -> Iterator[Cause]:
    for field in ("setHostnameAsFQDN", "hostNetwork"):
        if spec.get(field):
            text = f"may not be specified when {field} is true"
            yield errors.forbidden_value(f"{path}.hostnameOverride", text)


@relates("core.v1.PodSpec", where="resourceClaims")
def _resource_claims(spec: Document, path: str, around: Around) -> Iterator[Cause]:
    names: set[str] = set()
    for claim, place in items_of(spec, "resourceClaims", path):
        name = claim.get("name", "")
        if name in names:
            yield errors.duplicate_value(f"{place}.name", name)
        elif name:
            yield from check_form("dns-label", name, f"{place}.name")
            names.add(name)


@relates("core.v1.PodResourceClaim")
def _claim_source(claim: Document, path: str, around: Around) -> Iterator[Cause]:
    given = ("resourceClaimName" in claim) + ("resourceClaimTemplateName" in claim)
    if given == 2:
        text = "at most one of `resourceClaimName` or `resourceClaimTemplateName` may be specified"
        yield errors.invalid_value(path, claim, text)
    elif not given:
        text = "must specify one of: `resourceClaimName`, `resourceClaimTemplateName`"
        yield errors.invalid_value(path, claim, text)


# Names of hosts


@relates("core.v1.PodSpec")
def _dns(spec: Document, path: str, around: Around) -> Iterator[Cause]:
    config, place = spec.get("dnsConfig"), f"{path}.dnsConfig"
    own_only = spec.get("dnsPolicy") == "None"
    if own_only and config is None:
        yield errors.required(place, "must provide `dnsConfig` when `dnsPolicy` is None")
    elif own_only and config is not None and not config.get("nameservers"):
        text = "must provide at least one DNS nameserver when `dnsPolicy` is None"
        yield errors.required(f"{place}.nameservers", text)
    else:
        yield from check("core.v1.PodDNSConfig", config, place, around)


@relates("core.v1.PodDNSConfig")
def _searches(config: Document, path: str, around: Around) -> Iterator[Cause]:
    searches = config.get("searches") or ()
    if size(" ".join(searches)) > _SEARCH_CHARACTERS:
        text = (
            f"must not have more than {_SEARCH_CHARACTERS} characters (including spaces) in the search list"
        )
        yield errors.invalid_value(f"{path}.searches", searches, text)
    for index, search in enumerate(searches):
        if search != ".":
            domain, place = search.removesuffix("."), f"{path}.searches[{index}]"
            yield from check_form("dns-subdomain-with-underscores", domain, place)
    for option, place in items_of(config, "options", path):
        if not option.get("name"):
            yield errors.required(place, "must not be empty")


# Where a pod may go: affinity, tolerations, spreading and gates


@relates("core.v1.PodAffinityTerm", where="namespaces")
def _namespaces(term: Document, path: str, around: Around) -> Iterator[Cause]:
    for name in term["namespaces"]:
        yield from check_form("dns-label", name, f"{path}.namespace")


@relates("core.v1.PodAffinityTerm", "core.v1.TopologySpreadConstraint", where="matchLabelKeys")
def _same_labels(term: Document, path: str, around: Around) -> Iterator[Cause]:
    """Labels that must be the incoming pod's own.

    The server itself adds one requirement to the selector for each of them, at its end; a key that stands
    there twice is one that someone else had put there before.
    """
    keys, others, selector = (
        term["matchLabelKeys"],
        term.get("mismatchLabelKeys") or (),
        term.get("labelSelector"),
    )
    yield from _label_keys(keys, selector, f"{path}.matchLabelKeys")
    places = {key: index for index, key in enumerate(keys)}
    seen = set(part(selector or {}, "matchLabels"))
    for requirement in (selector or {}).get("matchExpressions") or ():
        key = requirement.get("key", "")
        if key in places and key in seen:
            text = "exists in both matchLabelKeys and labelSelector"
            yield errors.invalid_value(f"{path}[{places[key]}]", key, text)
        seen.add(key)
    for index, key in enumerate(keys):
        if key in others:
            text = "exists in both matchLabelKeys and mismatchLabelKeys"
            yield errors.invalid_value(f"{path}.matchLabelKeys[{index}]", key, text)


@relates("core.v1.PodAffinityTerm", where="mismatchLabelKeys")
def _other_labels(term: Document, path: str, around: Around) -> Iterator[Cause]:
    yield from _label_keys(term["mismatchLabelKeys"], term.get("labelSelector"), f"{path}.mismatchLabelKeys")


def _label_keys(keys: list[str], selector: Document | None, path: str) -> Iterator[Cause]:
    if keys and selector is None:
        yield errors.forbidden_value(path, "must not be specified when labelSelector is not set")
        return
    for index, key in enumerate(keys):
        yield from check_form("qualified-name", key, f"{path}[{index}]")


@relates("core.v1.Toleration")
def _toleration(toleration: Document, path: str, around: Around) -> Iterator[Cause]:
    operator, value, effect = (toleration.get(name, "") for name in ("operator", "value", "effect"))
    place = f"{path}.operator"
    if not toleration.get("key") and operator != "Exists":
        yield errors.invalid_value(place, operator, _ANY_KEY)
    if "tolerationSeconds" in toleration and effect != "NoExecute":
        text = "effect must be 'NoExecute' when `tolerationSeconds` is set"
        yield errors.invalid_value(f"{path}.effect", effect, text)
    if operator in ("Equal", ""):
        if problems := label_value_problems(value):
            yield errors.invalid_value(place, value, ";".join(problems))
    elif operator != "Exists":
        known = ("Equal", "Exists", "Lt", "Gt") if operator in ("Lt", "Gt") else ("Equal", "Exists")
        yield errors.unsupported_value(place, operator, known)
    elif value:
        yield errors.invalid_value(place, value, "value must be empty when `operator` is 'Exists'")


@relates("core.v1.TopologySpreadConstraint")
def _repeated_spreading(constraint: Document, path: str, around: Around) -> Iterator[Cause]:
    """The earlier one of two is blamed."""
    pairs = [_spread_by(each) for each in around["core.v1.PodSpec"]["topologySpreadConstraints"]]
    place = int(path[:-1].rpartition("[")[2])
    if pairs[place] in pairs[place + 1 :]:
        text = f"{{{', '.join(pairs[place])}}}"
        yield errors.duplicate_value(f"{path}.{{topologyKey, whenUnsatisfiable}}", text)


def _spread_by(constraint: Document) -> tuple[str, str]:
    return constraint.get("topologyKey", ""), constraint.get("whenUnsatisfiable", "")


@relates("core.v1.TopologySpreadConstraint", where="minDomains")
def _domains(constraint: Document, path: str, around: Around) -> Iterator[Cause]:
    action = constraint.get("whenUnsatisfiable", "")
    if action != "DoNotSchedule":
        text = f"can only use minDomains if whenUnsatisfiable=DoNotSchedule, not {action}"
        yield errors.invalid_value(f"{path}.minDomains", constraint["minDomains"], text)


@relates("core.v1.PodSchedulingGate")
def _gate(gate: Document, path: str, around: Around) -> Iterator[Cause]:
    name = gate.get("name", "")
    yield from check_form("qualified-name", name, path)
    before = earlier(around["core.v1.PodSpec"]["schedulingGates"], gate)
    if any(each.get("name", "") == name for each in before):
        yield errors.duplicate_value(path, name)


def merge_label_keys(spec: Document, labels: dict[str, str]) -> None:
    """Writes the pod's own values of the labels in question into the selectors that ask for them."""
    affinity = part(spec, "affinity")
    for kind in ("podAffinity", "podAntiAffinity"):
        terms = part(affinity, kind)
        for weighted in terms.get(PREFERRED) or ():
            _merge(part(weighted, "podAffinityTerm"), labels)
        for term in terms.get(REQUIRED) or ():
            _merge(term, labels)
    for constraint in spec.get("topologySpreadConstraints") or ():
        _merge(constraint, labels)


def _merge(term: Document, labels: dict[str, str]) -> None:
    selector = term.get("labelSelector")
    added = [
        {"key": key, "operator": operator, "values": [labels[key]]}
        for field, operator in (("matchLabelKeys", "In"), ("mismatchLabelKeys", "NotIn"))
        for key in term.get(field) or ()
        if key in labels
    ]
    if added and selector is not None:
        selector["matchExpressions"] = [*(selector.get("matchExpressions") or ()), *added]
