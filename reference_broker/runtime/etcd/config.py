"""The places of etcd's members, and the credentials for them, as they are configured."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from reference_broker.errors import BadConfiguration

ENDPOINTS_MAX = 16
"""An etcd has 3, 5 or 7 members. All are tried in turn, and each may take its time."""


@dataclass(frozen=True, slots=True)
class Endpoint:
    """One member of etcd, as its clients see it."""

    host: str
    port: int
    tls: bool = False

    @property
    def url(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{'https' if self.tls else 'http'}://{host}:{self.port}"

    def __str__(self) -> str:
        return self.url


@dataclass(frozen=True, slots=True)
class EtcdConfig:
    """An etcd. Raises :exc:`BadConfiguration` where parts do not go together.

    ``authority`` is a PEM file with the certificates that the members' are verified against (the
    system's without it); ``certificate`` and ``key`` are for members that verify their clients'.
    etcd's gateway takes no user from a certificate: name one, with a password.
    """

    endpoints: tuple[Endpoint, ...]
    user: str | None = None
    password: str | None = field(default=None, repr=False)
    authority: Path | None = None
    certificate: Path | None = None
    key: Path | None = None

    def __post_init__(self) -> None:
        if not 0 < len(self.endpoints) <= ENDPOINTS_MAX:
            raise BadConfiguration(f"etcd: name 1 to {ENDPOINTS_MAX} endpoints, one per member")
        if len({each.tls for each in self.endpoints}) > 1:
            raise BadConfiguration("etcd: name all endpoints with https://, or none")
        if (self.user is None) != (self.password is None):
            raise BadConfiguration("etcd: a user and a password go together")
        if (self.certificate is None) != (self.key is None):
            raise BadConfiguration("etcd: a client's certificate and its key go together")
        files = self.authority or self.certificate
        if files is not None and not self.tls:
            raise BadConfiguration(f"etcd: {files} is of no use without https://")

    @property
    def tls(self) -> bool:
        """The members speak TLS."""
        return self.endpoints[0].tls


def endpoint(text: str) -> Endpoint:
    """The endpoint that ``http://HOST:PORT`` or ``https://HOST:PORT`` names. Raises
    :exc:`BadConfiguration`; the text is not repeated where a password may be in it."""
    wanted = "write it as http://HOST:PORT or https://HOST:PORT"
    if "@" in text:
        raise BadConfiguration(f"etcd: an endpoint has no user and no password in it; {wanted}")
    try:
        parts = urlsplit(text)
        host, port = parts.hostname, parts.port
        rest = (parts.path.strip("/"), parts.query, parts.fragment)
        if host and port and parts.scheme in ("http", "https") and not any(rest):
            return Endpoint(host, port, parts.scheme == "https")
    except ValueError:
        pass
    raise BadConfiguration(f"etcd: {text!r} is no endpoint; {wanted}")
