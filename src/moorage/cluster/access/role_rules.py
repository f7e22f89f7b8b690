"""The rules of the roles that every cluster starts with."""

from __future__ import annotations

from moorage.cluster.base.store import Document

_READ = "get list watch"
_CHANGE = "create delete deletecollection patch update"
_ALL = "create delete deletecollection get list patch update watch"
_CORE = '""'


def _rule(verbs: str, groups: str, resources: str, *, names: str = "") -> Document:
    """A rule of words with spaces between them; the group without a name is ""."""
    rule = {
        "verbs": verbs.split(),
        "apiGroups": ["" if group == _CORE else group for group in groups.split()],
        "resources": resources.split(),
    }
    return {**rule, "resourceNames": names.split()} if names else rule


def _urls(verbs: str, urls: str) -> Document:
    return {"verbs": verbs.split(), "nonResourceURLs": urls.split()}


EVERYTHING = [_rule("*", "*", "*"), _urls("*", "*")]

PUBLIC = [_urls("get", "/healthz /livez /readyz /version /version/")]
DISCOVERY = [
    _urls("get", "/api /api/* /apis /apis/* /healthz /livez /openapi /openapi/* /readyz /version /version/")
]
MONITORING = [
    _urls(
        "get", "/flagz /healthz /healthz/* /livez /livez/* /metrics /metrics/slis /readyz /readyz/* /statusz"
    ),
    _rule("get", _CORE, "nodes/metrics"),
]
ISSUER = [
    _urls(
        "get",
        "/.well-known/openid-configuration /.well-known/openid-configuration/"
        " /openid/v1/jwks /openid/v1/jwks/",
    )
]

READER = [_rule(_READ, _CORE, "configmaps", names="extension-apiserver-authentication")]
LEADER = [
    _rule("create get list update watch", "coordination.k8s.io", "leases"),
    _rule("create get list update watch", "coordination.k8s.io", "leasecandidates"),
]

_EVENTS = _rule("create patch update", f"{_CORE} events.k8s.io", "events")
DELEGATION = [
    _rule("create", "authentication.k8s.io", "tokenreviews"),
    _rule("create", "authorization.k8s.io", "subjectaccessreviews"),
]
BASIC_USER = [
    _rule("create", "authorization.k8s.io", "selfsubjectaccessreviews selfsubjectrulesreviews"),
    _rule("create", "authentication.k8s.io", "selfsubjectreviews"),
]

ADMIN = [
    _rule("create", "authorization.k8s.io", "localsubjectaccessreviews"),
    _rule(_ALL, "rbac.authorization.k8s.io", "rolebindings roles"),
]

EDIT = [
    _rule(
        _READ,
        _CORE,
        "pods/attach pods/exec pods/portforward pods/proxy secrets services/proxy",
    ),
    _rule("impersonate", _CORE, "serviceaccounts"),
    _rule(_CHANGE, _CORE, "pods pods/attach pods/exec pods/portforward pods/proxy"),
    _rule("create", _CORE, "pods/eviction"),
    _rule(
        _CHANGE,
        _CORE,
        "configmaps persistentvolumeclaims replicationcontrollers replicationcontrollers/scale"
        " secrets serviceaccounts services services/proxy",
    ),
    _rule("create", _CORE, "serviceaccounts/token"),
    _rule(_CHANGE, f"{_CORE} events.k8s.io", "events"),
    _rule(
        _CHANGE,
        "apps",
        "daemonsets deployments deployments/rollback deployments/scale replicasets replicasets/scale"
        " statefulsets statefulsets/scale",
    ),
    _rule(_CHANGE, "autoscaling", "horizontalpodautoscalers"),
    _rule(_CHANGE, "batch", "cronjobs jobs"),
    _rule(
        _CHANGE,
        "extensions",
        "daemonsets deployments deployments/rollback deployments/scale ingresses networkpolicies"
        " replicasets replicasets/scale replicationcontrollers/scale",
    ),
    _rule(_CHANGE, "policy", "poddisruptionbudgets"),
    _rule(_CHANGE, "networking.k8s.io", "ingresses networkpolicies"),
    _rule(_ALL, "coordination.k8s.io", "leases"),
    _rule(_CHANGE, "resource.k8s.io", "resourceclaims resourceclaimtemplates"),
]

VIEW = [
    _rule(
        _READ,
        _CORE,
        "configmaps endpoints persistentvolumeclaims persistentvolumeclaims/status pods"
        " replicationcontrollers replicationcontrollers/scale serviceaccounts services services/status",
    ),
    _rule(
        _READ,
        _CORE,
        "bindings limitranges namespaces/status pods/log pods/status replicationcontrollers/status"
        " resourcequotas resourcequotas/status",
    ),
    _rule(_READ, _CORE, "namespaces"),
    _rule(_READ, f"{_CORE} events.k8s.io", "events"),
    _rule(_READ, "discovery.k8s.io", "endpointslices"),
    _rule(
        _READ,
        "apps",
        "controllerrevisions daemonsets daemonsets/status deployments deployments/scale deployments/status"
        " replicasets replicasets/scale replicasets/status statefulsets statefulsets/scale"
        " statefulsets/status",
    ),
    _rule(_READ, "autoscaling", "horizontalpodautoscalers horizontalpodautoscalers/status"),
    _rule(_READ, "batch", "cronjobs cronjobs/status jobs jobs/status"),
    _rule(
        _READ,
        "extensions",
        "daemonsets daemonsets/status deployments deployments/scale deployments/status ingresses"
        " ingresses/status networkpolicies replicasets replicasets/scale replicasets/status"
        " replicationcontrollers/scale",
    ),
    _rule(_READ, "policy", "poddisruptionbudgets poddisruptionbudgets/status"),
    _rule(_READ, "networking.k8s.io", "ingresses ingresses/status networkpolicies"),
    _rule(_READ, "resource.k8s.io", "resourceclaims resourceclaims/status resourceclaimtemplates"),
]

KUBE_SCHEDULER = [
    _EVENTS,
    _rule("create", "coordination.k8s.io", "leases"),
    _rule("get list update watch", "coordination.k8s.io", "leases", names="kube-scheduler"),
    _rule(_ALL, "coordination.k8s.io", "leasecandidates"),
    _rule(_READ, _CORE, "nodes"),
    _rule("delete get list watch", _CORE, "pods"),
    _rule("create", _CORE, "bindings pods/binding"),
    _rule("patch update", _CORE, "pods/status"),
    _rule(_READ, _CORE, "replicationcontrollers services"),
    _rule(_READ, "apps extensions", "replicasets"),
    _rule(_READ, "apps", "statefulsets"),
    _rule(_READ, "policy", "poddisruptionbudgets"),
    _rule(_READ, _CORE, "persistentvolumeclaims persistentvolumes"),
    *DELEGATION,
    _rule(_READ, "storage.k8s.io", "csinodes"),
    _rule(_READ, "storage.k8s.io", "volumeattachments"),
    _rule(_READ, _CORE, "namespaces"),
    _rule(_READ, "storage.k8s.io", "csidrivers"),
    _rule(_READ, "storage.k8s.io", "csistoragecapacities"),
    _rule(_READ, "resource.k8s.io", "deviceclasses"),
    _rule("get list patch update watch", "resource.k8s.io", "resourceclaims"),
    _rule("get list patch update watch", "resource.k8s.io", "resourceclaims/status"),
    _rule("update", _CORE, "pods/finalizers"),
    _rule(_READ, "resource.k8s.io", "resourceslices"),
    _rule("create delete", "resource.k8s.io", "resourceclaims"),
    _rule("patch update", "resource.k8s.io", "resourceclaims/binding"),
]

VOLUME_SCHEDULER = [
    _rule("get list patch update watch", _CORE, "persistentvolumes"),
    _rule(_READ, "storage.k8s.io", "storageclasses"),
    _rule("get list patch update watch", _CORE, "persistentvolumeclaims"),
]

NODE = [
    _rule("create", "authentication.k8s.io", "tokenreviews"),
    _rule("create", "authorization.k8s.io", "localsubjectaccessreviews subjectaccessreviews"),
    _rule(_READ, _CORE, "services"),
    _rule("create get list watch", _CORE, "nodes"),
    _rule("patch update", _CORE, "nodes/status"),
    _rule("patch update", _CORE, "nodes"),
    _EVENTS,
    _rule(_READ, _CORE, "pods"),
    _rule("create delete", _CORE, "pods"),
    _rule("patch update", _CORE, "pods/status"),
    _rule("create", _CORE, "pods/eviction"),
    _rule(_READ, _CORE, "configmaps secrets"),
    _rule("get", _CORE, "persistentvolumeclaims persistentvolumes"),
    _rule("get", _CORE, "endpoints"),
    _rule("create get list watch", "certificates.k8s.io", "certificatesigningrequests"),
    _rule("create delete get patch update", "coordination.k8s.io", "leases"),
    _rule("get", "storage.k8s.io", "volumeattachments"),
    _rule("create", _CORE, "serviceaccounts/token"),
    _rule("get patch update", _CORE, "persistentvolumeclaims/status"),
    _rule(_READ, "storage.k8s.io", "csidrivers"),
    _rule("create delete get patch update", "storage.k8s.io", "csinodes"),
    _rule(_READ, "node.k8s.io", "runtimeclasses"),
    _rule("get", "resource.k8s.io", "resourceclaims"),
    _rule("deletecollection", "resource.k8s.io", "resourceslices"),
    _rule("get", _CORE, "serviceaccounts"),
]
