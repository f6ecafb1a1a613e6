"""The settings of TLS towards etcd."""

from __future__ import annotations

import ssl

from reference_broker.errors import BadConfiguration
from reference_broker.runtime.etcd.config import EtcdConfig


def tls_context(config: EtcdConfig) -> ssl.SSLContext | None:
    """The settings, or ``None`` for members that speak none. Raises :exc:`BadConfiguration` for
    files that can't be used. Blocks: it reads them."""
    if not config.tls:
        return None
    try:
        context = ssl.create_default_context(cafile=config.authority)
    except (ssl.SSLError, OSError) as error:
        raise BadConfiguration(f"etcd: authority {config.authority}: {_reason(error)}") from None
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    if config.certificate is not None:
        try:
            # The password is given so that OpenSSL asks nobody at a terminal.
            context.load_cert_chain(config.certificate, config.key, "")
        except (ssl.SSLError, OSError) as error:
            raise BadConfiguration(
                f"etcd: certificate {config.certificate} with key {config.key}: {_reason(error)}"
            ) from None
    return context


def _reason(error: OSError) -> str:
    return getattr(error, "reason", None) or error.strerror or str(error)
