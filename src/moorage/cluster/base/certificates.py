"""Certificates and requests for them, as objects hold them: PEM in base64."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cryptography.x509 import CertificateSigningRequest

_REQUEST, _CERTIFICATE = "CERTIFICATE REQUEST", "CERTIFICATE"


def read_request(text: str) -> CertificateSigningRequest:
    """Raises ValueError for what is none."""
    from cryptography import x509

    return x509.load_pem_x509_csr(base64.b64decode(text))


def request_problem(text: str) -> str:
    """What is wrong with a request for a certificate, or nothing."""
    from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm

    if not _is_pem(text, _REQUEST):
        return f"PEM block type must be {_REQUEST}"
    try:
        is_valid = read_request(text).is_signature_valid
    except (ValueError, InvalidSignature, UnsupportedAlgorithm):
        return "asn1: structure error: the request cannot be read"
    return "" if is_valid else "x509: certificate signature is not valid"


def certificates_problem(text: str) -> str:
    """What is wrong with the certificates of a chain, or nothing."""
    from cryptography import x509

    if not _is_pem(text, _CERTIFICATE):
        return f"must contain at least one {_CERTIFICATE} PEM block"
    try:
        x509.load_pem_x509_certificates(base64.b64decode(text))
    except ValueError:
        return "x509: malformed certificate"
    return ""


def _is_pem(text: str, kind: str) -> bool:
    try:
        return f"-----BEGIN {kind}-----".encode() in base64.b64decode(text)
    except ValueError:
        return False
