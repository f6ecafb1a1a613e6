"""The TLS configuration: files, verification of clients, and the part of a certificate that is a
user name. Values only."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum, unique
from pathlib import Path

from reference_broker.runtime.net.address import Address


@unique
class Verify(StrEnum):
    """Verification of a client's certificate. ``PEER`` and ``REQUIRED`` verify one that is shown
    against the certificate authority (RabbitMQ's ``verify_peer``, and ``fail_if_no_peer_cert`` with
    the last)."""

    NONE = "none"
    PEER = "peer"
    REQUIRED = "required"


@unique
class LoginFrom(StrEnum):
    """The part of a client's certificate that is its user name (``ssl_cert_login_from``). Of the
    alternative names it is the first one of its kind."""

    DISTINGUISHED_NAME = "distinguished_name"
    COMMON_NAME = "common_name"
    DNS_NAME = "san_dns"
    EMAIL = "san_email"
    URI = "san_uri"
    IP_ADDRESS = "san_ip"


@unique
class TlsVersion(StrEnum):
    """The oldest version of TLS that is spoken. Versions before 1.2 have known holes."""

    TLS_1_2 = "tlsv1.2"
    TLS_1_3 = "tlsv1.3"


@dataclass(frozen=True, slots=True)
class TlsConfig:
    """TLS for AMQP (``amqp``), for the management API (``https``), or for both.

    ``certificate`` is a PEM file with the server's certificate and its chain, ``key`` one with its
    private key, ``authority`` one with the certificates that clients' are verified against.
    ``https_verify`` is for the management API, which people open in browsers without one; its
    logins are always by password.
    """

    certificate: Path
    key: Path
    authority: Path | None = None
    amqp: Address | None = None
    https: Address | None = None
    verify: Verify = Verify.NONE
    https_verify: Verify = Verify.NONE
    oldest: TlsVersion = TlsVersion.TLS_1_2
    login_from: LoginFrom = LoginFrom.DISTINGUISHED_NAME
    key_password: str | None = field(default=None, repr=False)
