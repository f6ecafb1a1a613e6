"""A client's verified certificate: its fields for the management API, and the user that it stands
for."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from cryptography.x509 import (
    Certificate,
    DNSName,
    DuplicateExtension,
    ExtensionNotFound,
    IPAddress,
    RFC822Name,
    SubjectAlternativeName,
    UniformResourceIdentifier,
    UnsupportedGeneralNameType,
)
from cryptography.x509.oid import NameOID

from reference_broker.core.base.tls_session import PeerCertificate
from reference_broker.runtime.tls.config import LoginFrom
from reference_broker.runtime.tls.distinguished_name import distinguished_name


def peer_certificate(certificate: Certificate, login_from: LoginFrom) -> PeerCertificate:
    """The fields of ``certificate``, which must have been verified: nothing of it is checked
    here."""
    begin, end = certificate.not_valid_before_utc, certificate.not_valid_after_utc
    return PeerCertificate(
        subject=distinguished_name(certificate.subject),
        issuer=distinguished_name(certificate.issuer),
        validity=f"{begin:%Y-%m-%dT%H:%M:%SZ} - {end:%Y-%m-%dT%H:%M:%SZ}",
        login_name=login_name(certificate, login_from),
    )


def login_name(certificate: Certificate, login_from: LoginFrom) -> str | None:
    """The user name in ``certificate``; ``None`` where it has no such part, or an empty one."""
    if login_from is LoginFrom.DISTINGUISHED_NAME:
        return distinguished_name(certificate.subject) or None
    if login_from is LoginFrom.COMMON_NAME:
        attributes = certificate.subject.get_attributes_for_oid(NameOID.COMMON_NAME)
        return ",".join(str(each.value) for each in attributes) or None  # joined as RabbitMQ does
    try:
        names = certificate.extensions.get_extension_for_class(SubjectAlternativeName).value
    except (ExtensionNotFound, DuplicateExtension, UnsupportedGeneralNameType, ValueError):
        return None
    found = _ALTERNATIVES[login_from](names)
    return found[0] or None if found else None


_ALTERNATIVES: dict[LoginFrom, Callable[[SubjectAlternativeName], Sequence[str]]] = {
    LoginFrom.DNS_NAME: lambda names: names.get_values_for_type(DNSName),
    LoginFrom.EMAIL: lambda names: names.get_values_for_type(RFC822Name),
    LoginFrom.URI: lambda names: names.get_values_for_type(UniformResourceIdentifier),
    LoginFrom.IP_ADDRESS: lambda names: [
        str(address) for address in names.get_values_for_type(IPAddress)
    ],
}
