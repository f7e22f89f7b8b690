"""The cells that are more than a part of their object: for each kind, by the names of their columns.

The table of columns calls these functions by their names.
"""

from __future__ import annotations

from collections.abc import Sequence

from moorage.cluster.base.parts import (
    flag,
    is_deleted,
    is_true,
    number,
    part,
    records,
    size,
    text,
    texts,
    value,
)
from moorage.cluster.base.store import Document
from moorage.cluster.serving.tables.api_server import api_service as api_service
from moorage.cluster.serving.tables.api_server import autoscaler as autoscaler
from moorage.cluster.serving.tables.api_server import flow_order as flow_order
from moorage.cluster.serving.tables.api_server import flow_schema as flow_schema
from moorage.cluster.serving.tables.api_server import priority_level as priority_level
from moorage.cluster.serving.tables.api_server import signing_request as signing_request
from moorage.cluster.serving.tables.durations import (
    UNKNOWN,
    age,
    human_duration,
    is_no_time,
    seconds_since_epoch,
)
from moorage.cluster.serving.tables.networking import ingress as ingress
from moorage.cluster.serving.tables.networking import ingress_class as ingress_class
from moorage.cluster.serving.tables.networking import ip_address as ip_address
from moorage.cluster.serving.tables.pods import NONE
from moorage.cluster.serving.tables.pods import ended as ended
from moorage.cluster.serving.tables.pods import pod as pod

_UNSET = "<unset>"
_SHOWN = 3  # items of a list
_ROLE = "node-role.kubernetes.io/"
_ONLY_ROLE = "kubernetes.io/role"
_ACCESS_MODES = {
    "ReadWriteOnce": "RWO",
    "ReadOnlyMany": "ROX",
    "ReadWriteMany": "RWX",
    "ReadWriteOncePod": "RWOP",
}
_BETA_CLASS = "volume.beta.kubernetes.io/storage-class"
_DEFAULT_CLASS = (
    "storageclass.kubernetes.io/is-default-class",
    "storageclass.beta.kubernetes.io/is-default-class",
)


def node(node: Document, now: float) -> Document:
    info = part(node, "status", "nodeInfo")
    kernel = text(info, "kernelVersion") or UNKNOWN
    if architecture := text(info, "architecture"):
        kernel = f"{kernel} ({architecture})"
    return {
        "Status": _readiness(node),
        "Roles": ",".join(_roles(node)) or NONE,
        "Internal-IP": _address(node, "InternalIP"),
        "External-IP": _address(node, "ExternalIP"),
        "Kernel-Version": kernel,
    }


def _readiness(node: Document) -> str:
    ready = "Unknown"
    for condition in records(node, "status", "conditions"):
        if condition.get("type") == "Ready":
            ready = "Ready" if condition.get("status") == "True" else "NotReady"
    return f"{ready},SchedulingDisabled" if flag(node, "spec", "unschedulable") else ready


def _roles(node: Document) -> list[str]:
    roles = set()
    for key, label in part(node, "metadata", "labels").items():
        if key.startswith(_ROLE):
            roles.add(key.removeprefix(_ROLE))
        elif key == _ONLY_ROLE and isinstance(label, str):
            roles.add(label)
    return sorted(roles - {""})


def _address(node: Document, type_: str) -> str:
    addresses = records(node, "status", "addresses")
    return next((text(each, "address") for each in addresses if each.get("type") == type_), NONE)


def event(event: Document, now: float) -> Document:
    """In the form of either of the two groups that serve events."""
    about = part(event, "involvedObject") or part(event, "regarding")
    first = event.get("firstTimestamp") or event.get("deprecatedFirstTimestamp")
    last = event.get("lastTimestamp") or event.get("deprecatedLastTimestamp")
    first_seen = age(event.get("eventTime") if is_no_time(first) else first, now)
    last_seen = first_seen if is_no_time(last) else age(last, now)
    count = number(event, "count") or number(event, "deprecatedCount") or 1
    if isinstance(series := event.get("series"), dict):
        last_seen = age(series.get("lastObservedTime"), now)
        count = number(series, "count")
    kind, name = text(about, "kind").lower(), text(about, "name")
    return {
        "Last Seen": last_seen,
        "Object": f"{kind}/{name}" if name else kind,
        "Subobject": text(about, "fieldPath"),
        "Source": _source(event),
        "Message": (text(event, "message") or text(event, "note")).strip(),
        "First Seen": first_seen,
        "Count": count,
    }


def _source(event: Document) -> str:
    source = part(event, "source") or part(event, "deprecatedSource")
    reporting = text(event, "reportingComponent") or text(event, "reportingController")
    component = text(source, "component") or reporting
    host = text(source, "host") or text(event, "reportingInstance")
    return f"{component}, {host}" if host else component


def service(service: Document, now: float) -> Document:
    addresses = texts(service, "spec", "clusterIPs")
    return {
        "Cluster-IP": addresses[0] if addresses else NONE,
        "External-IP": _external_address(service),
        "Port(s)": ",".join(_service_port(port) for port in records(service, "spec", "ports")) or NONE,
    }


def _external_address(service: Document) -> str:
    type_ = text(service, "spec", "type")
    external = texts(service, "spec", "externalIPs")
    if type_ in ("ClusterIP", "NodePort"):
        return ",".join(external) or NONE
    if type_ == "LoadBalancer":
        balancers = {
            text(ingress, "ip") or text(ingress, "hostname")
            for ingress in records(service, "status", "loadBalancer", "ingress")
        }
        return ",".join([*sorted(balancers - {""}), *external]) or "<pending>"
    return text(service, "spec", "externalName") if type_ == "ExternalName" else UNKNOWN


def _service_port(port: Document) -> str:
    node_port = number(port, "nodePort")
    outside = f":{node_port}" if node_port > 0 else ""
    return f"{number(port, 'port')}{outside}/{text(port, 'protocol')}"


def endpoints(endpoints: Document, now: float) -> Document:
    subsets = records(endpoints, "subsets")
    found: list[str] = []
    for subset in subsets:
        addresses = [text(address, "ip") for address in records(subset, "addresses")]
        ports = [f":{number(port, 'port')}" for port in records(subset, "ports")]
        if ports:
            addresses = [f"[{address}]" if ":" in address else address for address in addresses]
        found += [address + port for port in ports or ("",) for address in addresses]
    return {"Endpoints": _some_of(found) if subsets else NONE}


def _some_of(items: Sequence[str]) -> str:
    """The first three, and how many more there are."""
    more = len(items) - _SHOWN
    shown = ",".join(items[:_SHOWN])
    return f"{shown} + {more} more..." if more > 0 else shown


def endpoint_slice(endpoint_slice: Document, now: float) -> Document:
    found = records(endpoint_slice, "endpoints")
    addresses = [address for endpoint in found for address in texts(endpoint, "addresses")]
    ports = [_slice_port(port) for port in records(endpoint_slice, "ports")]
    return {"Ports": _some_of(ports) or _UNSET, "Endpoints": _some_of(addresses) or _UNSET}


def _slice_port(port: Document) -> str:
    if value(port, "port") is not None:
        return str(number(port, "port"))
    return text(port, "name", absent="*")


def volume(volume: Document, now: float) -> Document:
    claim = part(volume, "spec", "claimRef")
    return {
        "Access Modes": _access_modes(volume, "spec"),
        "Status": _phase(volume),
        "Claim": f"{text(claim, 'namespace')}/{text(claim, 'name')}" if claim else "",
        "StorageClass": _class(volume),
    }


def claim(claim: Document, now: float) -> Document:
    is_bound = bool(text(claim, "spec", "volumeName"))
    return {
        "Status": _phase(claim),
        "Capacity": text(claim, "status", "capacity", "storage", absent="0") if is_bound else "",
        "Access Modes": _access_modes(claim, "status") if is_bound else "",
        "StorageClass": _class(claim),
    }


def _phase(document: Document) -> str:
    return "Terminating" if is_deleted(document) else text(document, "status", "phase")


def _access_modes(document: Document, where: str) -> str:
    modes = texts(document, where, "accessModes")
    return ",".join(short for mode, short in _ACCESS_MODES.items() if mode in modes)


def _class(document: Document) -> str:
    by_spec = text(document, "spec", "storageClassName")
    return text(document, "metadata", "annotations", _BETA_CLASS, absent=by_spec)


def storage_class(storage_class: Document, now: float) -> Document:
    name = text(storage_class, "metadata", "name")
    annotations = part(storage_class, "metadata", "annotations")
    is_default = any(annotations.get(key) == "true" for key in _DEFAULT_CLASS)
    return {"Name": f"{name} (default)" if is_default else name}


def pod_group(group: Document, now: float) -> Document:
    conditions = {text(each, "type"): each for each in records(group, "status", "conditions")}
    status = "Pending"
    if scheduled := conditions.get("PodGroupScheduled"):
        status = "Scheduled" if scheduled.get("status") == "True" else "Unschedulable"
    if target := conditions.get("DisruptionTarget"):
        status = text(target, "reason")
    is_gang = value(group, "spec", "schedulingPolicy", "gang") is not None
    return {"Policy": "Gang" if is_gang else "Basic", "Status": status}


def resource_claim(claim: Document, now: float) -> Document:
    states = ["deleted"] if is_deleted(claim) else []
    if value(claim, "status", "allocation") is not None:
        states.append("allocated")
        if size(claim, "status", "reservedFor"):
            states.append("reserved")
    return {"State": ",".join(states) or "pending"}


def config_map(config_map: Document, now: float) -> Document:
    return {"Data": size(config_map, "data") + size(config_map, "binaryData")}


def resource_quota(quota: Document, now: float) -> Document:
    requests: list[str] = []
    limits: list[str] = []
    used = part(quota, "status", "used")
    for resource, hard in sorted(part(quota, "status", "hard").items()):
        column = limits if resource.startswith("limits.") else requests
        column.append(f"{resource}: {used.get(resource, '0')}/{hard}")
    return {"Request": ", ".join(requests), "Limit": ", ".join(limits)}


def role_binding(binding: Document, now: float) -> Document:
    subjects: dict[str, list[str]] = {"User": [], "Group": [], "ServiceAccount": []}
    for subject in records(binding, "subjects"):
        kind, name = text(subject, "kind"), text(subject, "name")
        if kind == "ServiceAccount":
            name = f"{text(subject, 'namespace')}/{name}"
        if kind in subjects:
            subjects[kind].append(name)
    return {
        "Role": f"{text(binding, 'roleRef', 'kind')}/{text(binding, 'roleRef', 'name')}",
        **{f"{kind}s": ", ".join(names) for kind, names in subjects.items()},
    }


def ready_of_wanted(controller: Document, now: float) -> Document:
    ready, wanted = number(controller, "status", "readyReplicas"), number(controller, "spec", "replicas")
    return {"Ready": f"{ready}/{wanted}"}


def job(job: Document, now: float) -> Document:
    done, wanted = number(job, "status", "succeeded"), value(job, "spec", "completions")
    shown = f"{done}/{wanted}"
    if wanted is None:
        several = number(job, "spec", "parallelism")
        shown = f"{done}/1 of {several}" if several > 1 else f"{done}/1"
    started = seconds_since_epoch(text(job, "status", "startTime"))
    ended = seconds_since_epoch(text(job, "status", "completionTime"))
    took = "" if started is None else human_duration((now if ended is None else ended) - started)
    return {"Status": _job_status(job), "Completions": shown, "Duration": took}


def _job_status(job: Document) -> str:
    for condition in ("Complete", "Failed"):
        if is_true(job, condition):
            return condition
    if is_deleted(job):
        return "Terminating"
    later = ("Suspended", "FailureTarget", "SuccessCriteriaMet")
    return next((condition for condition in later if is_true(job, condition)), "Running")


def cron_job(cron_job: Document, now: float) -> Document:
    suspended = value(cron_job, "spec", "suspend")
    last = value(cron_job, "status", "lastScheduleTime")
    return {
        "Suspend": _UNSET if suspended is None else str(bool(suspended)),
        "Last Schedule": NONE if last is None else age(last, now),
    }


def controller_revision(revision: Document, now: float) -> Document:
    for owner in records(revision, "metadata", "ownerReferences"):
        if flag(owner, "controller"):
            group, slash, _ = text(owner, "apiVersion").rpartition("/")
            kind = text(owner, "kind").lower() + slash.replace("/", ".") + group.lower()
            return {"Controller": f"{kind}/{text(owner, 'name')}"}
    return {"Controller": NONE}


def webhooks(configuration: Document, now: float) -> Document:
    return {"Webhooks": size(configuration, "webhooks")}


def admission_policy(policy: Document, now: float) -> Document:
    kind = part(policy, "spec", "paramKind")
    shown = f"{text(kind, 'apiVersion')}/{text(kind, 'kind')}" if kind else _UNSET
    return {"Validations": size(policy, "spec", "validations"), "ParamKind": shown}


def admission_policy_binding(binding: Document, now: float) -> Document:
    reference = part(binding, "spec", "paramRef")
    shown = _UNSET
    if name := text(reference, "name"):
        shown = f"{text(reference, 'namespace') or '*'}/{name}"
    elif "selector" in reference:
        labels = sorted(part(reference, "selector", "matchLabels").items())
        chosen = "".join(f"{key}: {value}," for key, value in labels)
        shown = f"&LabelSelector{{MatchLabels:map[string]string{{{chosen}}},"
        shown += "MatchExpressions:[]LabelSelectorRequirement{},}"
    return {"ParamRef": shown}
