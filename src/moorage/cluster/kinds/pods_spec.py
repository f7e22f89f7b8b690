"""The rules of a pod's spec, whether it stands in a pod or in a template."""

from __future__ import annotations

from moorage.cluster.base.errors import (
    duplicate_value,
    forbidden_value,
    invalid_value,
    required,
    too_long,
    value_not_found,
)
from moorage.cluster.base.store import Document
from moorage.cluster.kinds.containers import (
    Surroundings,
    all_containers,
    check_containers,
    check_ephemeral_containers,
    check_init_containers,
)
from moorage.cluster.kinds.pods_placement import (
    check_affinity,
    check_gates,
    check_spreading,
    check_tolerations,
)
from moorage.cluster.kinds.pods_resources import check_pod_resources, check_requirements
from moorage.cluster.kinds.pods_security import (
    check_operating_system,
    check_pod_security,
    check_windows_host_process,
)
from moorage.cluster.kinds.rules import (
    Found,
    check_choice,
    check_dns_label,
    check_dns_subdomain,
    check_form,
    check_ip,
    check_labels,
    check_qualified_name,
)
from moorage.cluster.kinds.volumes import check_volumes
from moorage.cluster.schema.forms import dns_subdomain_with_underscores_problems, range_problems, size

RESTART_POLICIES = ("Always", "OnFailure", "Never")
DNS_POLICIES = ("ClusterFirstWithHostNet", "ClusterFirst", "Default", "None")
PREEMPTION_POLICIES = ("PreemptLowerPriority", "Never")
MAX_INT32 = 2**31 - 1
_NAMESERVERS = 3
_SEARCHES = 32
_SEARCH_CHARACTERS = 2048


def check_pod_spec(
    spec: Document, path: str, found: Found, *, in_pod: bool = False, pod_name: str = ""
) -> None:
    """Templates are checked less strictly where what is missing may still come."""
    if "terminationGracePeriodSeconds" not in spec:
        found.append(required(f"{path}.terminationGracePeriodSeconds"))
    pod = Surroundings(
        volumes={},
        claims={claim["name"] for claim in spec.get("resourceClaims", ()) if claim.get("name")},
        grace=spec.get("terminationGracePeriodSeconds"),
        restart_policy=spec.get("restartPolicy", ""),
        host_users=spec.get("hostUsers") is not False,
    )
    if "volumes" in spec:
        pod.volumes = check_volumes(spec["volumes"], pod_name, f"{path}.volumes", found, in_pod=in_pod)
    if "resourceClaims" in spec:
        _check_resource_claims(spec["resourceClaims"], f"{path}.resourceClaims", found)
    _check_all_containers(spec, path, pod, found)
    check_pod_resources(spec, path, found)
    if spec.get("hostNetwork"):
        _check_host_network(spec, path, found, in_pod=in_pod)
    check_choice(spec.get("restartPolicy", ""), f"{path}.restartPolicy", RESTART_POLICIES, found)
    check_choice(spec.get("dnsPolicy", ""), f"{path}.dnsPolicy", DNS_POLICIES, found)
    check_labels(spec.get("nodeSelector"), f"{path}.nodeSelector", found)
    check_pod_security(spec, path, found)
    if "affinity" in spec:
        check_affinity(spec["affinity"], f"{path}.affinity", found)
    if "dnsConfig" in spec or spec.get("dnsPolicy") == "None":
        _check_dns(spec, f"{path}.dnsConfig", found)
    for index, gate in enumerate(spec.get("readinessGates", ())):
        place = f"{path}.readinessGates[{index}].conditionType"
        check_qualified_name(gate.get("conditionType", ""), place, found)
    if "schedulingGates" in spec:
        check_gates(spec["schedulingGates"], f"{path}.schedulingGates", found)
    if "topologySpreadConstraints" in spec:
        place = f"{path}.topologySpreadConstraints"
        check_spreading(spec["topologySpreadConstraints"], place, found)
    _check_isolation(spec, path, found)
    _check_names(spec, path, found)
    if "tolerations" in spec:
        check_tolerations(spec["tolerations"], f"{path}.tolerations", found)
    _check_rest(spec, path, found)


def _check_all_containers(spec: Document, path: str, pod: Surroundings, found: Found) -> None:
    containers = spec.get("containers") or ()
    check_containers(containers, f"{path}.containers", pod, found)
    first = spec.get("initContainers", ())
    if first:
        check_init_containers(first, containers, f"{path}.initContainers", pod, found)
    ephemeral = spec.get("ephemeralContainers", ())
    if ephemeral:
        place = f"{path}.ephemeralContainers"
        check_ephemeral_containers(ephemeral, (*containers, *first), place, pod, found)


def _check_resource_claims(claims: list[Document], path: str, found: Found) -> None:
    names: set[str] = set()
    for index, claim in enumerate(claims):
        place = f"{path}[{index}]"
        name = claim.get("name", "")
        if not name:
            found.append(required(f"{place}.name"))
        elif name in names:
            found.append(duplicate_value(f"{place}.name", name))
        else:
            check_dns_label(name, f"{place}.name", found)
            names.add(name)
        own, template = claim.get("resourceClaimName"), claim.get("resourceClaimTemplateName")
        shown = {"Name": name, "ResourceClaimName": own, "ResourceClaimTemplateName": template}
        if own is not None and template is not None:
            detail = "at most one of `resourceClaimName` or `resourceClaimTemplateName` may be specified"
            found.append(invalid_value(place, shown, detail))
        if own is None and template is None:
            detail = "must specify one of: `resourceClaimName`, `resourceClaimTemplateName`"
            found.append(invalid_value(place, shown, detail))
        if own is not None:
            check_dns_subdomain(own, f"{place}.resourceClaimName", found)
        if template is not None:
            check_dns_subdomain(template, f"{place}.resourceClaimTemplateName", found)


def _check_host_network(spec: Document, path: str, found: Found, *, in_pod: bool) -> None:
    for index, container in enumerate(spec.get("containers") or ()):
        for number, port in enumerate(container.get("ports", ())):
            on_host = port.get("hostPort", 0)
            if (in_pod or on_host) and on_host != port.get("containerPort", 0):
                place = f"{path}.containers[{index}].ports[{number}].hostPort"
                detail = "must match `containerPort` when `hostNetwork` is true"
                found.append(invalid_value(place, on_host, detail))


def _check_dns(spec: Document, path: str, found: Found) -> None:
    config = spec.get("dnsConfig")
    if spec.get("dnsPolicy") == "None":
        if config is None:
            found.append(required(path, "must provide `dnsConfig` when `dnsPolicy` is None"))
            return
        if not config.get("nameservers"):
            detail = "must provide at least one DNS nameserver when `dnsPolicy` is None"
            found.append(required(f"{path}.nameservers", detail))
            return
    if config is None:
        return
    servers, searches = config.get("nameservers", ()), config.get("searches", ())
    if len(servers) > _NAMESERVERS:
        detail = f"must not have more than {_NAMESERVERS} nameservers"
        found.append(invalid_value(f"{path}.nameservers", servers, detail))
    for index, server in enumerate(servers):
        check_ip(server, f"{path}.nameservers[{index}]", found)
    if len(searches) > _SEARCHES:
        detail = f"must not have more than {_SEARCHES} search paths"
        found.append(invalid_value(f"{path}.searches", searches, detail))
    if size(" ".join(searches)) > _SEARCH_CHARACTERS:
        detail = (
            f"must not have more than {_SEARCH_CHARACTERS} characters (including spaces) in the search list"
        )
        found.append(invalid_value(f"{path}.searches", searches, detail))
    for index, search in enumerate(searches):
        if search != ".":
            domain = search.removesuffix(".")
            place = f"{path}.searches[{index}]"
            check_form(domain, place, dns_subdomain_with_underscores_problems, found)
    for index, option in enumerate(config.get("options", ())):
        if not option.get("name"):
            found.append(required(f"{path}.options[{index}]", "must not be empty"))


def _check_isolation(spec: Document, path: str, found: Found) -> None:
    """Windows processes of the node, user namespaces and the operating system."""
    uses_windows = "windowsOptions" in spec.get("securityContext", {}) or any(
        "windowsOptions" in container.get("securityContext", {})
        for kind in ("containers", "initContainers", "ephemeralContainers")
        for container in (spec.get(kind) or ())
    )
    if uses_windows:
        check_windows_host_process(spec, list(all_containers(spec, path)), path, found)
    if spec.get("hostUsers") is False:
        detail = "when `hostUsers` is false"
        for field, place in (("hostNetwork", "hostNetwork"), ("hostPID", "HostPID"), ("hostIPC", "HostIPC")):
            if spec.get(field):
                found.append(forbidden_value(f"{path}.{place}", detail))
        for container, where in all_containers(spec, path):
            if container.get("volumeDevices"):
                found.append(forbidden_value(f"{where}.volumeDevices", detail))


def _check_names(spec: Document, path: str, found: Found) -> None:
    override = spec.get("hostnameOverride")
    if override is not None:
        place = f"{path}.hostnameOverride"
        if spec.get("setHostnameAsFQDN"):
            detail = "may not be specified when setHostnameAsFQDN is true"
            found.append(forbidden_value(place, detail))
        if spec.get("hostNetwork"):
            found.append(forbidden_value(place, "may not be specified when hostNetwork is true"))
        if size(override) > 64:
            found.append(too_long(place, 64))
        check_dns_subdomain(override, place, found)
    for field in ("serviceAccountName", "nodeName"):
        if spec.get(field):
            check_dns_subdomain(spec[field], f"{path}.{field}", found)
    seconds = spec.get("activeDeadlineSeconds")
    if seconds is not None:
        for problem in range_problems(seconds, 1, MAX_INT32):
            found.append(invalid_value(f"{path}.activeDeadlineSeconds", seconds, problem))
    for field in ("hostname", "subdomain"):
        if spec.get(field):
            check_dns_label(spec[field], f"{path}.{field}", found)


def _check_rest(spec: Document, path: str, found: Found) -> None:
    for index, alias in enumerate(spec.get("hostAliases", ())):
        place = f"{path}.hostAliases[{index}]"
        check_ip(alias.get("ip", ""), f"{place}.ip", found)
        for number, name in enumerate(alias.get("hostnames", ())):
            check_dns_subdomain(name, f"{place}.hostnames[{number}]", found)
    if spec.get("priorityClassName"):
        check_dns_subdomain(spec["priorityClassName"], f"{path}.priorityClassName", found)
    if "runtimeClassName" in spec:
        check_dns_subdomain(spec["runtimeClassName"], f"{path}.runtimeClassName", found)
    if "preemptionPolicy" in spec:
        check_choice(spec["preemptionPolicy"], f"{path}.preemptionPolicy", PREEMPTION_POLICIES, found)
    if "overhead" in spec:
        check_requirements({"limits": spec["overhead"]}, f"{path}.overhead", (), found)
    if "os" in spec:
        check_operating_system(spec, list(all_containers(spec, path)), path, found)
    _check_file_variables(spec, path, found)


def _check_file_variables(spec: Document, path: str, found: Found) -> None:
    """Variables from files need a volume that the pod's own containers fill."""
    for kind in ("initContainers", "containers", "ephemeralContainers"):
        for index, container in enumerate(spec.get(kind) or ()):
            for number, variable in enumerate(container.get("env", ())):
                reference = variable.get("valueFrom", {}).get("fileKeyRef")
                if reference is None:
                    continue
                name = reference.get("volumeName", "")
                place = f"{path}.{kind}[{index}].env[{number}].valueFrom.fileKeyRef.volumeName"
                volumes = [each for each in spec.get("volumes", ()) if each.get("name", "") == name]
                if not volumes:
                    found.append(value_not_found(place, name))
                elif "emptyDir" not in volumes[-1]:
                    detail = "referenced volume must be of type emptyDir"
                    found.append(invalid_value(place, name, detail))
