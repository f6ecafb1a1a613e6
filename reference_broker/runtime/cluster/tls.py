"""TLS of links, and the words for a handshake that fails: what an operator has to look at."""

from __future__ import annotations

import ssl
from typing import NamedTuple

from reference_broker.errors import BadConfiguration
from reference_broker.runtime.cluster_settings import LinkFiles
from reference_broker.runtime.tls.certificate_clock import utc_now
from reference_broker.runtime.tls.config import TlsConfig
from reference_broker.runtime.tls.files import read_tls_files
from reference_broker.runtime.tls.renewal import Renewed

FILES = "--cluster-tls-cert, --cluster-tls-key and --cluster-tls-ca"

_NO_TLS = frozenset({"WRONG_VERSION_NUMBER", "HTTP_REQUEST", "UNKNOWN_PROTOCOL", "BAD_RECORD_TYPE"})
"""OpenSSL's reasons for octets that are no TLS."""


class _Contexts(NamedTuple):
    """Contexts for both ends of a link, of the same files."""

    accepting: ssl.SSLContext
    dialling: ssl.SSLContext


class LinkTls:
    """TLS for links, both ways. It follows its files: a link that is made from now on has what is
    in them, and those that are there keep what they have. For the loop and the thread of
    heartbeats. Raises :exc:`BadConfiguration` for files that can't be used as it is made; later
    they are reported, and those before them stay in use."""

    def __init__(self, files: LinkFiles) -> None:
        self._files = files
        paths = (files.certificate, files.key, files.authority)
        self._renewed = Renewed(paths, self._make)

    def for_accepting(self) -> ssl.SSLContext:
        """The settings for the next node that dials this one."""
        return self._renewed.current().accepting

    def for_dialling(self) -> ssl.SSLContext:
        """The settings for the next node that this one dials."""
        return self._renewed.current().dialling

    def _make(self) -> _Contexts:
        files = self._files
        read_tls_files(TlsConfig(files.certificate, files.key, files.authority), utc_now())
        return _Contexts(
            _context(files, ssl.PROTOCOL_TLS_SERVER), _context(files, ssl.PROTOCOL_TLS_CLIENT)
        )


def _context(files: LinkFiles, protocol: int) -> ssl.SSLContext:
    context = ssl.SSLContext(protocol)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    try:
        # The password is given so that OpenSSL asks nobody at a terminal.
        context.load_cert_chain(files.certificate, files.key, "")
        context.load_verify_locations(files.authority)
    except (ssl.SSLError, OSError) as error:
        reason = getattr(error, "reason", None) or error.strerror or error
        raise BadConfiguration(
            f"TLS between nodes: certificate {files.certificate} with key {files.key} and"
            f" authority {files.authority}: {reason}"
        ) from None
    context.verify_mode = ssl.CERT_REQUIRED
    return context


def tls_failure(error: OSError) -> str:
    """The reason of a handshake of TLS that has failed with ``error``, in words."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return (
            f"the other node's certificate is not valid here: {error.verify_message.rstrip('.')}"
            " (all nodes need certificates that an authority of --cluster-tls-ca has signed)"
        )
    reason = getattr(error, "reason", None) or ""
    if reason in _NO_TLS:
        return f"the other node has no TLS (all nodes need {FILES}, or none of them)"
    if "_ALERT_" in reason:
        told = reason.partition("_ALERT_")[2].lower().replace("_", " ")
        return f"the other node refuses this one's certificate, or its TLS: {told}"
    ended = "the other node has ended the handshake of TLS, and its log says why"
    return f"{ended}: {error}" if str(error) else ended
