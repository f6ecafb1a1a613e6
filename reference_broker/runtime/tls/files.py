"""The files of TLS, read and checked before anything is listening: certificate, key, authority.

OpenSSL would find most mistakes too, but says of them what its parser was doing, and of an expired
certificate nothing at all.
"""

from __future__ import annotations

import logging
import stat
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.types import PrivateKeyTypes
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    PublicFormat,
    load_pem_private_key,
)
from cryptography.x509 import Certificate, load_pem_x509_certificates

from reference_broker.errors import BadConfiguration
from reference_broker.runtime.tls.config import TlsConfig

_log = logging.getLogger(__name__)

_UNSUPPORTED = "an algorithm or a curve that is not supported (RSA, P-256, P-384 and Ed25519 are)"


@dataclass(frozen=True, slots=True)
class TlsFiles:
    """Expiry of each certificate in the TLS files."""

    certificate_expiries: tuple[datetime, ...]
    """Of the server's own certificate first, then of its chain."""
    authority_expiries: tuple[datetime, ...]


def read_tls_files(config: TlsConfig, now: datetime) -> TlsFiles:
    """Check that the files can be used at ``now``. Raises :exc:`BadConfiguration` naming the file
    and what is wrong with it. Warns of a key that others can read. A bundle of authorities may have
    some that have expired."""
    chain = _certificates(config.certificate)
    key = _key(config)
    own = chain[0]
    if _public(own, config.certificate) != key.public_key().public_bytes(
        Encoding.DER, PublicFormat.SubjectPublicKeyInfo
    ):
        raise BadConfiguration(
            f"TLS key {config.key}: not the key of the first certificate in {config.certificate}"
        )
    if own.not_valid_after_utc <= now:
        raise BadConfiguration(
            f"TLS certificate {config.certificate}: it expired on"
            f" {own.not_valid_after_utc:%Y-%m-%d %H:%M} UTC"
        )
    if own.not_valid_before_utc > now:
        raise BadConfiguration(
            f"TLS certificate {config.certificate}: it is not valid before"
            f" {own.not_valid_before_utc:%Y-%m-%d %H:%M} UTC"
        )
    authorities = () if config.authority is None else _certificates(config.authority)
    _warn_of_a_key_for_everybody(config.key)
    return TlsFiles(_expiries(chain), _expiries(authorities))


def _certificates(path: Path) -> list[Certificate]:
    try:
        return load_pem_x509_certificates(_content(path, "certificate"))
    except (ValueError, UnsupportedAlgorithm):
        raise BadConfiguration(
            f"TLS certificate {path}: not a certificate in PEM form (-----BEGIN CERTIFICATE-----)"
        ) from None


def _key(config: TlsConfig) -> PrivateKeyTypes:
    """The private key. No error shows what was read: it may be a key."""
    password = None if config.key_password is None else config.key_password.encode()
    content = _content(config.key, "key")
    try:
        return load_pem_private_key(content, password)
    except TypeError:
        found = "encrypted, and no password is given" if password is None else "not encrypted"
        raise BadConfiguration(f"TLS key {config.key}: it is {found}") from None
    except UnsupportedAlgorithm:
        raise BadConfiguration(f"TLS key {config.key}: {_UNSUPPORTED}") from None
    except ValueError:
        why = "" if password is None else ", or the password is wrong"
        raise BadConfiguration(
            f"TLS key {config.key}: not a private key in PEM form"
            f" (-----BEGIN PRIVATE KEY-----){why}"
        ) from None


def _content(path: Path, what: str) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise _unreadable(path, what, error) from None


def _unreadable(path: Path, what: str, error: OSError) -> BadConfiguration:
    return BadConfiguration(f"TLS {what} {path}: can't be read: {error.strerror}")


def _public(certificate: Certificate, path: Path) -> bytes:
    try:
        key = certificate.public_key()
    except UnsupportedAlgorithm:
        raise BadConfiguration(f"TLS certificate {path}: {_UNSUPPORTED}") from None
    except ValueError:
        raise BadConfiguration(f"TLS certificate {path}: its public key is damaged") from None
    return key.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)


def _expiries(certificates: Sequence[Certificate]) -> tuple[datetime, ...]:
    return tuple(each.not_valid_after_utc for each in certificates)


def _warn_of_a_key_for_everybody(path: Path) -> None:
    try:
        mode = path.stat().st_mode
    except OSError as error:  # it was there to be read, and is being replaced
        raise _unreadable(path, "key", error) from None
    if mode & stat.S_IROTH:
        _log.warning("TLS key %s: every user of this machine can read it (chmod o-r)", path)
