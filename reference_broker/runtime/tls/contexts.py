"""The TLS settings that new connections get, and their renewal without a restart.

Whoever renews a certificate only writes the files: the next connection notices that they have
changed. Connections that are open keep what they have. Files that can't be used are reported once,
and the settings before them stay: a certificate and its key are seldom written in one moment.
"""

from __future__ import annotations

import logging
import ssl
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

from reference_broker.errors import BadConfiguration
from reference_broker.runtime.tls.certificate_clock import utc_now
from reference_broker.runtime.tls.config import TlsConfig, TlsVersion, Verify
from reference_broker.runtime.tls.files import TlsFiles, read_tls_files

_log = logging.getLogger(__name__)

_Stamp = tuple[tuple[int, int, int], ...]
"""Of each file: modification time in ns, size, and inode (a rename may keep the time)."""

_OLDEST = {
    TlsVersion.TLS_1_2: ssl.TLSVersion.TLSv1_2,
    TlsVersion.TLS_1_3: ssl.TLSVersion.TLSv1_3,
}
_MODES = {
    Verify.NONE: ssl.CERT_NONE,
    Verify.PEER: ssl.CERT_OPTIONAL,
    Verify.REQUIRED: ssl.CERT_REQUIRED,
}


class TlsContexts:
    """The TLS settings in use. Made once, when the server starts. Raises :exc:`BadConfiguration`
    for files that can't be used, and for clients that would have to be verified against nothing."""

    files: TlsFiles
    """The files in use."""

    def __init__(self, config: TlsConfig, now: Callable[[], datetime] = utc_now) -> None:
        self.config = config
        self._now = now
        self._stamp = self._stamp_of_files()
        self._told = ""
        self._load()

    def for_amqp(self) -> ssl.SSLContext:
        """The settings for the next AMQP client."""
        self._renew()
        return self._amqp

    def for_https(self) -> ssl.SSLContext:
        """The settings for the next client of the management API."""
        self._renew()
        return self._https

    def _load(self) -> None:
        files = read_tls_files(self.config, self._now())
        amqp = _context(self.config, self.config.verify)
        https = _context(self.config, self.config.https_verify)
        self.files, self._amqp, self._https = files, amqp, https

    def _renew(self) -> None:
        stamp = self._stamp_of_files()
        if stamp == self._stamp:
            return
        try:
            self._load()
        except BadConfiguration as error:
            # Tried again by every connection: what is wrong may be a clock, or end with a chmod.
            if str(error) != self._told:
                _log.error("%s (the TLS files before it stay in use)", error)
            self._told = str(error)
        else:
            self._stamp, self._told = stamp, ""
            _log.info("TLS: %s and what belongs to it were renewed", self.config.certificate)

    def _stamp_of_files(self) -> _Stamp:
        config = self.config
        paths = (config.certificate, config.key, config.authority)
        return tuple(_stamp_of(path) for path in paths if path is not None)


def _stamp_of(path: Path) -> tuple[int, int, int]:
    """The stamp of one file. Zeros for one that is not there: renewing may take it away for a
    moment."""
    try:
        found = path.stat()
    except OSError:
        return 0, 0, 0
    return found.st_mtime_ns, found.st_size, found.st_ino


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
