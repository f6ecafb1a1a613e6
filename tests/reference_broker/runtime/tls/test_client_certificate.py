"""The user in a client's certificate."""

from __future__ import annotations

from pathlib import Path

import pytest
from cryptography.x509 import Certificate, load_pem_x509_certificates

from mqkit.testing.certificates import Authority
from reference_broker.runtime.tls.client_certificate import login_name, peer_certificate
from reference_broker.runtime.tls.config import LoginFrom


@pytest.fixture
def certificate(tmp_path: Path) -> Certificate:
    files = Authority(tmp_path).issue(
        "ann", "a.example.org", "b.example.org", "ann@example.org", "192.0.2.7",
        common_name="ann", organization="Acme, Inc", unit="Ops",
    )  # fmt: skip
    return load_pem_x509_certificates(files.certificate.read_bytes())[0]


@pytest.mark.parametrize(
    ("login_from", "name"),
    [
        (LoginFrom.DISTINGUISHED_NAME, r"CN=ann,OU=Ops,O=Acme\, Inc"),
        (LoginFrom.COMMON_NAME, "ann"),
        (LoginFrom.DNS_NAME, "a.example.org"),
        (LoginFrom.EMAIL, "ann@example.org"),
        (LoginFrom.IP_ADDRESS, "192.0.2.7"),
        (LoginFrom.URI, None),
    ],
)
def test_the_name(certificate: Certificate, login_from: LoginFrom, name: str | None) -> None:
    assert login_name(certificate, login_from) == name


def test_a_certificate_without_a_common_name(tmp_path: Path) -> None:
    files = Authority(tmp_path).issue("ann", organization="Acme")
    certificate = load_pem_x509_certificates(files.certificate.read_bytes())[0]
    assert login_name(certificate, LoginFrom.COMMON_NAME) is None


def test_what_the_management_api_shows(certificate: Certificate) -> None:
    shown = peer_certificate(certificate, LoginFrom.COMMON_NAME)
    assert shown.subject == r"CN=ann,OU=Ops,O=Acme\, Inc"
    assert shown.issuer.endswith(",O=authority")
    assert shown.login_name == "ann"
    begin, end = shown.validity.split(" - ")
    assert begin == f"{certificate.not_valid_before_utc:%Y-%m-%dT%H:%M:%SZ}"
    assert end == f"{certificate.not_valid_after_utc:%Y-%m-%dT%H:%M:%SZ}"
