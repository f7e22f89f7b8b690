"""How the server is verified, and which certificate is shown to it."""

from __future__ import annotations

import os
import ssl
import tempfile

from moorage.client.connection import ConnectionConfig
from moorage.client.credentials import ClientCertificate
from moorage.client.errors import ConfigurationError


def tls_context(
    config: ConnectionConfig, certificate: ClientCertificate | None, authorities: bytes = b""
) -> ssl.SSLContext:
    """For connections that show a certificate; `authorities` are what the configuration's file has now."""
    context = _verifying(config, authorities)
    if config.insecure:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    # Since Python 3.13 the default refuses authorities without certain extensions; many clusters have such.
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    if certificate is not None:
        _show(context, certificate)
    return context


def _verifying(config: ConnectionConfig, authorities: bytes) -> ssl.SSLContext:
    try:
        if given := config.ca_data or authorities:
            return ssl.create_default_context(cadata=given.decode())
        return ssl.create_default_context(cafile=config.ca_file or None)
    except (ssl.SSLError, ValueError) as error:
        place = config.ca_file or "certificate-authority-data"
        raise ConfigurationError(f"{place}: not usable as a certificate authority: {error}") from None
    except OSError as error:
        raise ConfigurationError(f"{config.ca_file}: cannot be read: {error.strerror}") from None


def _show(context: ssl.SSLContext, certificate: ClientCertificate) -> None:
    # OpenSSL takes a chain with its key from files only.
    descriptor, path = tempfile.mkstemp(prefix="moorage-", suffix=".pem")
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(certificate.certificate.rstrip() + b"\n" + certificate.key)
        context.load_cert_chain(path, password="")  # a key with a password fails and asks nobody
    except (ssl.SSLError, ValueError) as error:
        raise ConfigurationError(f"the client certificate and its key cannot be used: {error}") from None
    finally:
        os.unlink(path)  # noqa: PTH108
