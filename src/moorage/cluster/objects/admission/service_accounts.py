"""Every pod runs as a service account of its namespace, whose token it finds in a volume."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from moorage.cluster.base.store import Document
from moorage.cluster.objects.admission.attempt import Attempt
from moorage.cluster.objects.admission.limits import containers_of

DEFAULT_ACCOUNT = "default"
TOKEN_PATH = "/var/run/secrets/kubernetes.io/serviceaccount"
TOKEN_SECONDS = 3607

_VOLUME_PREFIX = "kube-api-access-"
_MIRROR = "kubernetes.io/config.mirror"
_ENFORCE = "kubernetes.io/enforce-mountable-secrets"
_NAMESPACE = {"path": "namespace", "fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.namespace"}}
_TOKEN_SOURCE: Document = {
    "sources": [
        {"serviceAccountToken": {"expirationSeconds": TOKEN_SECONDS, "path": "token"}},
        {"configMap": {"name": "kube-root-ca.crt", "items": [{"key": "ca.crt", "path": "ca.crt"}]}},
        {"downwardAPI": {"items": [_NAMESPACE]}},
    ],
    "defaultMode": 420,
}
"""Shared by all pods, as stored documents are never changed in place."""
_TRUE = ("1", "t", "T", "TRUE", "true", "True")


def set_service_account(attempt: Attempt) -> None:
    document = attempt.document
    spec = document["spec"]
    if _MIRROR in (document["metadata"].get("annotations") or {}):
        _admit_mirror(attempt)
        return
    name = spec.get("serviceAccountName") or DEFAULT_ACCOUNT
    spec["serviceAccountName"] = spec["serviceAccount"] = name
    stored = attempt.store.get("serviceaccounts", attempt.namespace, name)
    if stored is None:
        raise attempt.forbidden(
            f'error looking up service account {attempt.namespace}/{name}: serviceaccount "{name}" not found'
        )
    account = stored.document
    wanted = spec.get("automountServiceAccountToken")
    if wanted is None:
        wanted = account.get("automountServiceAccountToken", True)
    if wanted:
        _mount_token(spec, attempt.suffix)
    if not spec.get("imagePullSecrets") and account.get("imagePullSecrets"):
        spec["imagePullSecrets"] = [dict(secret) for secret in account["imagePullSecrets"]]
    if (account["metadata"].get("annotations") or {}).get(_ENFORCE) in _TRUE:
        _admit_secrets(attempt, account)


def _admit_mirror(attempt: Attempt) -> None:
    """Pods of a kubelet's own are not known to the API, so they cannot use what is in it."""
    spec = attempt.document["spec"]
    if spec.get("serviceAccountName"):
        raise attempt.forbidden("a mirror pod may not reference service accounts")
    if spec.get("imagePullSecrets") or any(_secrets(spec)):
        raise attempt.forbidden("a mirror pod may not reference secrets")
    for volume in spec.get("volumes") or ():
        for source in (volume.get("projected") or {}).get("sources") or ():
            if source.get("serviceAccountToken") is not None:
                raise attempt.forbidden("a mirror pod may not use ServiceAccountToken volume projections")


def _mount_token(spec: Document, suffix: Callable[[], str]) -> None:
    volumes = spec.get("volumes") or []
    names = (volume.get("name", "") for volume in volumes)
    known = next((name for name in names if name.startswith(_VOLUME_PREFIX)), "")
    name = known or _VOLUME_PREFIX + suffix()
    needed = False
    for _, container in containers_of(spec):
        mounts = container.get("volumeMounts") or []
        if TOKEN_PATH not in [mount.get("mountPath") for mount in mounts]:
            mount = {"name": name, "readOnly": True, "mountPath": TOKEN_PATH}
            container["volumeMounts"] = [*mounts, mount]
            needed = True
    if needed and not known:
        spec["volumes"] = [*volumes, {"name": name, "projected": _TOKEN_SOURCE}]


def _secrets(spec: Document) -> Iterator[tuple[str, str]]:
    """The secrets that volumes and environments use, each with words for where."""
    for volume in spec.get("volumes") or ():
        if volume.get("secret") is not None:
            yield "volume with", volume["secret"].get("secretName", "")
    for kind, name in (("init container", "initContainers"), ("container", "containers")):
        for container in spec.get(name) or ():
            where = f"{kind} {container.get('name', '')}"
            for variable in container.get("env") or ():
                reference = (variable.get("valueFrom") or {}).get("secretKeyRef")
                if reference is not None:
                    text = f"{where} with envVar {variable.get('name', '')} referencing"
                    yield text, reference.get("name", "")
            for source in container.get("envFrom") or ():
                if source.get("secretRef") is not None:
                    yield f"{where} with envFrom referencing", source["secretRef"].get("name", "")


def _admit_secrets(attempt: Attempt, account: Document) -> None:
    """An account may be limited to the secrets it lists."""
    spec, owner = attempt.document["spec"], account["metadata"]["name"]
    why = f"is not allowed because service account {owner} does not reference that"
    listed = {secret.get("name") for secret in account.get("secrets") or ()}
    for where, name in _secrets(spec):
        if name not in listed:
            raise attempt.forbidden(f'{where} secret.secretName="{name}" {why} secret')
    pullable = {secret.get("name") for secret in account.get("imagePullSecrets") or ()}
    for index, secret in enumerate(spec.get("imagePullSecrets") or ()):
        name = secret.get("name", "")
        if name not in pullable:
            raise attempt.forbidden(f'imagePullSecrets[{index}].name="{name}" {why} imagePullSecret')
