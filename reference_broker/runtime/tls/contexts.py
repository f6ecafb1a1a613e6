"""The TLS settings that new connections get, which follow their files without a restart
(:mod:`renewal`). Connections that are open keep what they have."""

from __future__ import annotations

import ssl
from collections.abc import Callable
from datetime import datetime
from typing import NamedTuple

from reference_broker.errors import BadConfiguration
from reference_broker.runtime.tls.certificate_clock import utc_now
from reference_broker.runtime.tls.config import TlsConfig, TlsVersion, Verify
from reference_broker.runtime.tls.files import TlsFiles, read_tls_files
from reference_broker.runtime.tls.renewal import Renewed

_OLDEST = {
    TlsVersion.TLS_1_2: ssl.TLSVersion.TLSv1_2,
    TlsVersion.TLS_1_3: ssl.TLSVersion.TLSv1_3,
}
_MODES = {
    Verify.NONE: ssl.CERT_NONE,
    Verify.PEER: ssl.CERT_OPTIONAL,
    Verify.REQUIRED: ssl.CERT_REQUIRED,
}


class _Made(NamedTuple):
    """Settings of both kinds, of the same files."""

    files: TlsFiles
    amqp: ssl.SSLContext
    https: ssl.SSLContext


class TlsContexts:
    """The TLS settings in use. Made once, when the server starts. Raises :exc:`BadConfiguration`
    for files that can't be used, and for clients that would have to be verified against nothing."""

    def __init__(self, config: TlsConfig, now: Callable[[], datetime] = utc_now) -> None:
        self.config = config
        self._now = now
        paths = (config.certificate, config.key, config.authority)
        self._renewed = Renewed([path for path in paths if path is not None], self._make)

    @property
    def files(self) -> TlsFiles:
        """The files in use."""
        return self._renewed.in_use.files

    def for_amqp(self) -> ssl.SSLContext:
        """The settings for the next AMQP client."""
        return self._renewed.current().amqp

    def for_https(self) -> ssl.SSLContext:
        """The settings for the next client of the management API."""
        return self._renewed.current().https

    def _make(self) -> _Made:
        config = self.config
        files = read_tls_files(config, self._now())
        return _Made(files, _context(config, config.verify), _context(config, config.https_verify))


def _context(config: TlsConfig, verify: Verify) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = _OLDEST[config.oldest]
    context.options |= ssl.OP_NO_RENEGOTIATION
    try:
        context.load_cert_chain(config.certificate, config.key, config.key_password or "")
        if verify is not Verify.NONE:
            if config.authority is None:
                raise BadConfiguration(
                    f"TLS: verify: {verify.value} needs the authority that signs the clients'"
                    " certificates"
                )
            context.load_verify_locations(config.authority)
            # A resumed session is not verified again, and would outlive what it was verified by.
            context.num_tickets = 0
            context.options |= ssl.OP_NO_TICKET
    except (ssl.SSLError, OSError) as error:
        reason = getattr(error, "reason", None) or error
        raise BadConfiguration(
            f"TLS certificate {config.certificate} with key {config.key}: {reason}"
        ) from None
    context.verify_mode = _MODES[verify]
    return context
