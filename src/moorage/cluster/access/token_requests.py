"""The `token` subresource of service accounts, which `kubectl create token` asks."""

from __future__ import annotations

from moorage.cluster.access.tokens import Reference, Tokens
from moorage.cluster.base import errors
from moorage.cluster.base.go_text import quoted
from moorage.cluster.base.store import Document, Store
from moorage.cluster.base.times import timestamp

_KIND = "TokenRequest"
_GROUP = "authentication.k8s.io"
_DEFAULT_SECONDS = 3600
_LEAST_SECONDS = 600
_MOST_SECONDS = 2**32


def token_request(
    document: Document, account: Document, *, tokens: Tokens, store: Store, now: float
) -> Document:
    """Answers a TokenRequest for a service account with a token."""
    owner = account["metadata"]
    metadata = dict(document.get("metadata") or {})
    _check_metadata(metadata, owner)
    metadata |= {"name": owner["name"], "namespace": owner["namespace"], "uid": owner["uid"]}
    metadata["creationTimestamp"] = timestamp(now)
    spec = dict(document.get("spec") or {})
    spec["audiences"] = spec.get("audiences") or [tokens.issuer]
    if spec.get("expirationSeconds") is None:
        spec["expirationSeconds"] = _DEFAULT_SECONDS
    seconds = spec["expirationSeconds"]
    _check_seconds(seconds)
    reference = spec.setdefault("boundObjectRef", None)
    token, _ = tokens.issue(
        owner["namespace"],
        owner["name"],
        owner["uid"],
        seconds=seconds,
        audiences=spec["audiences"],
        **({} if reference is None else _bound(reference, owner, store)),
    )
    return {
        "kind": _KIND,
        "apiVersion": f"{_GROUP}/v1",
        "metadata": metadata,
        "spec": spec,
        "status": {"token": token, "expirationTimestamp": timestamp(now + seconds)},
    }


def _check_metadata(metadata: Document, owner: Document) -> None:
    errors.check_namespace(metadata, owner["namespace"])
    name = metadata.get("name")
    if name and name != owner["name"]:
        why = "must match the service account name if specified"
        raise errors.invalid(_KIND, _GROUP, owner["name"], [errors.invalid_value("metadata.name", name, why)])
    uid = metadata.get("uid")
    if uid and uid != owner["uid"]:
        why = f"the UID in the token request ({uid}) does not match the UID of the service account"
        raise errors.conflict(f"{_KIND}.{_GROUP}", owner["name"], f"{why} ({owner['uid']})")


def _check_seconds(seconds: int) -> None:
    if seconds < _LEAST_SECONDS:
        why = "may not specify a duration less than 10 minutes"
    elif seconds > _MOST_SECONDS:
        why = "may not specify a duration larger than 2^32 seconds"
    else:
        return
    raise errors.invalid(_KIND, _GROUP, "", [errors.invalid_value("spec.expirationSeconds", seconds, why)])


def _bound(reference: Document, owner: Document, store: Store) -> dict[str, Reference]:
    """What the token is to be bound to: a pod with its node, a node, or a secret."""
    kind, version = reference.get("kind", ""), reference.get("apiVersion", "")
    name, uid = reference.get("name", ""), reference.get("uid", "")
    group, slash, rest = version.rpartition("/")
    if kind not in ("Pod", "Node", "Secret") or slash:
        raise errors.bad_request(f"cannot bind token to object of type {group}/{rest}, Kind={kind}")
    if not name:
        raise errors.bad_request("Name parameter required.")
    plural = f"{kind.lower()}s"
    stored = store.get(plural, "" if kind == "Node" else owner["namespace"], name)
    if stored is None:
        raise errors.not_found(plural, name)
    bound: dict[str, Reference] = {}
    if kind == "Pod":
        if stored.spec.get("serviceAccountName") != owner["name"]:
            why = "to pod running with different serviceaccount name."
            raise errors.bad_request(f"cannot bind token for serviceaccount {quoted(owner['name'])} {why}")
        if node_name := stored.spec.get("nodeName"):
            node = store.get("nodes", "", node_name)
            bound["node"] = (node_name, "" if node is None else node.uid)
    if uid and uid != stored.uid:
        why = f"the UID in the bound object reference ({uid}) does not match the UID in record."
        raise errors.conflict(kind, name, f"{why} The object might have been deleted and then recreated")
    return {**bound, kind.lower(): (name, stored.uid)}
