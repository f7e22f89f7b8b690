"""What it takes to ask for a certificate, to approve it or to sign it, beside the right to write the request.

Nobody may ask to be one of the masters of the cluster. Who approves needs the right to `approve` requests for
their signer, who writes the status, to `sign` them: by the name of the signer, or for all of its domain.
"""

from __future__ import annotations

from moorage.cluster.access.rbac import Authorizer
from moorage.cluster.access.users import MASTERS, Attributes, User
from moorage.cluster.base.certificates import read_request
from moorage.cluster.base.errors import forbidden
from moorage.cluster.base.parts import part, text
from moorage.cluster.base.store import Document
from moorage.cluster.schema.definitions import Definition

_REQUESTS = "certificatesigningrequests.certificates.k8s.io"
_FOR_CLIENTS = "kubernetes.io/kube-apiserver-client"
_VERBS = {"approval": "approve", "status": "sign"}


def check_signer(
    authorizer: Authorizer,
    user: User,
    definition: Definition,
    new: Document,
    old: Document,
    subresource: str,
) -> None:
    """Raises a Refusal if somebody may not do this for the signer that a request is for."""
    verb = _VERBS.get(subresource)
    if definition.storage != _REQUESTS or verb is None:
        return
    if verb == "sign" and part(new, "status") == part(old, "status"):
        return
    signer = text(old, "spec", "signerName")
    right = Attributes(verb, definition.group, "*", "signers")
    names = (signer, f"{signer.partition('/')[0]}/*")
    if not any(authorizer.allows(user, right._replace(name=name)) for name in names):
        why = f'user not permitted to {verb} requests with signerName "{signer}"'
        raise forbidden(definition.name, old["metadata"]["name"], why)


def check_subject(definition: Definition, document: Document) -> None:
    """Raises a Refusal if a certificate is asked for that would allow everything."""
    if definition.storage != _REQUESTS or text(document, "spec", "signerName") != _FOR_CLIENTS:
        return
    from cryptography.x509.oid import NameOID

    why = ""
    try:
        subject = read_request(text(document, "spec", "request")).subject
        groups = subject.get_attributes_for_oid(NameOID.ORGANIZATION_NAME)
        if any(group.value == MASTERS for group in groups):
            why = f"use of {_FOR_CLIENTS} signer with {MASTERS} group is not allowed"
    except ValueError as error:
        why = f"failed to parse CSR: {error}"
    if why:
        raise forbidden(definition.name, document["metadata"]["name"], why)
