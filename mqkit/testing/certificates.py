"""Certificates for tests with TLS: an authority that lives in a folder for as long as the test.

Needs the package ``trustme``. ::

    authority = Authority(tmp_path)
    server = authority.issue("server", "localhost", "127.0.0.1")
    client = authority.issue("ann", common_name="ann", organization="Acme")
    # authority.path, server.certificate, server.key are PEM files
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import trustme

KEY_MODE = 0o600


@dataclass(frozen=True, slots=True)
class CertificateFiles:
    """A certificate with its chain, and its private key, which only its owner may read."""

    certificate: Path
    key: Path


class Authority:
    """Signs certificates. ``path`` has its own, by which others verify them."""

    def __init__(self, folder: Path, name: str = "authority") -> None:
        self._folder = folder
        self._authority = trustme.CA(organization_name=name)
        self.path = folder / f"{name}.pem"
        self._authority.cert_pem.write_to_path(str(self.path))

    def issue(
        self,
        name: str,
        *identities: str,
        common_name: str | None = None,
        organization: str | None = None,
        unit: str | None = None,
        lifetime: timedelta = timedelta(days=30),
    ) -> CertificateFiles:
        """A certificate for host names, addresses and mail addresses, in files of that ``name``
        (those that are there are replaced). A negative ``lifetime`` is one that ended already."""
        now = datetime.now(UTC)
        issued = self._authority.issue_cert(
            *(identities or (f"{name}@example.org",)),
            common_name=common_name,
            organization_name=organization,
            organization_unit_name=unit,
            not_before=now - timedelta(days=365),
            not_after=now + lifetime,
        )
        files = CertificateFiles(self._folder / f"{name}.pem", self._folder / f"{name}.key")
        files.certificate.write_bytes(b"".join(each.bytes() for each in issued.cert_chain_pems))
        files.key.write_bytes(issued.private_key_pem.bytes())
        files.key.chmod(KEY_MODE)
        return files
