"""tls: the contexts of links, which follow their files, and the words for a handshake that fails.
The errors are OpenSSL's own, of handshakes in memory; between processes they are in
whole/test_links_with_tls.py."""

from __future__ import annotations

import ssl
from datetime import timedelta
from pathlib import Path

import pytest
import trustme
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509 import CertificateBuilder, Name

from mqkit.testing.certificates import Authority
from reference_broker.errors import BadConfiguration
from reference_broker.runtime.cluster.tls import LinkTls, tls_failure
from reference_broker.runtime.cluster_settings import LinkFiles
from reference_broker.runtime.tls.certificate_clock import utc_now


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return Authority(tmp_path)


@pytest.fixture
def files(authority: Authority) -> LinkFiles:
    node = authority.issue("node", "127.0.0.1")
    return LinkFiles(node.certificate, node.key, authority.path)


def test_both_ends_of_links_follow_their_files(files: LinkFiles, authority: Authority) -> None:
    tls = LinkTls(files)
    before = tls.for_accepting(), tls.for_dialling()
    assert (tls.for_accepting(), tls.for_dialling()) == before
    authority.issue("node", "127.0.0.1")
    after = tls.for_accepting(), tls.for_dialling()
    assert before[0] is not after[0]
    assert before[1] is not after[1]


def test_an_authority_that_is_renewed_alone_is_taken(files: LinkFiles, tmp_path: Path) -> None:
    tls = LinkTls(files)
    (before,) = tls.for_dialling().get_ca_certs()
    Authority(tmp_path, "others").path.rename(files.authority)
    (after,) = tls.for_dialling().get_ca_certs()
    assert before != after


def test_a_certificate_of_a_link_that_has_expired_is_not_taken(
    files: LinkFiles, authority: Authority, caplog: pytest.LogCaptureFixture
) -> None:
    tls = LinkTls(files)
    before = tls.for_accepting()
    authority.issue("node", "127.0.0.1", lifetime=timedelta(days=-1))
    assert tls.for_accepting() is tls.for_accepting() is before
    (line,) = (each.getMessage() for each in caplog.records)
    assert line.startswith(f"TLS certificate {files.certificate}: it expired on ")
    with pytest.raises(BadConfiguration, match="it expired on"):
        LinkTls(files)


def test_what_openssl_alone_refuses_is_named(files: LinkFiles) -> None:
    key = rsa.generate_private_key(65_537, 1_024)
    name, now = Name([]), utc_now()
    weak = CertificateBuilder(name, name, key.public_key(), 1, now, now + timedelta(days=1))
    files.certificate.write_bytes(weak.sign(key, SHA256()).public_bytes(Encoding.PEM))
    files.key.write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    with pytest.raises(BadConfiguration, match=r"TLS between nodes: certificate .*KEY_TOO_SMALL"):
        LinkTls(files)


def _error_of(to_server: bytes) -> OSError:
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    trustme.CA().issue_cert("127.0.0.1").configure_cert(context)
    received = ssl.MemoryBIO()
    server = context.wrap_bio(received, ssl.MemoryBIO(), server_side=True)
    received.write(to_server)
    with pytest.raises(ssl.SSLError) as raised:
        server.do_handshake()
    return raised.value


def _refused() -> tuple[OSError, OSError]:
    """The errors of a client that trusts another authority, and of the server that it tells."""
    accepting = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    trustme.CA().issue_cert("127.0.0.1").configure_cert(accepting)
    dialling = ssl.create_default_context()
    trustme.CA().configure_trust(dialling)
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    server = accepting.wrap_bio(to_server, to_client, server_side=True)
    client = dialling.wrap_bio(to_client, to_server, server_hostname="127.0.0.1")
    for end in (client, server):
        with pytest.raises(ssl.SSLWantReadError):
            end.do_handshake()
    with pytest.raises(ssl.SSLError) as of_client:
        client.do_handshake()
    with pytest.raises(ssl.SSLError) as of_server:
        server.do_handshake()
    return of_client.value, of_server.value


def test_octets_that_are_no_tls_are_of_a_node_without() -> None:
    assert tls_failure(_error_of(bytes(64))) == (
        "the other node has no TLS (all nodes need --cluster-tls-cert, --cluster-tls-key and"
        " --cluster-tls-ca, or none of them)"
    )


def test_a_certificate_that_is_not_valid_is_told_at_both_ends() -> None:
    of_client, of_server = _refused()
    assert "certificate is not valid here: " in tls_failure(of_client)
    assert "_ssl.c" not in tls_failure(of_client)
    assert tls_failure(of_server) == (
        "the other node refuses this one's certificate, or its TLS: unknown ca"
    )


def test_a_handshake_that_was_ended_has_its_reason_at_the_other_end() -> None:
    ended = "the other node has ended the handshake of TLS, and its log says why"
    assert tls_failure(ConnectionResetError()) == ended
    assert tls_failure(ConnectionResetError(104, "reset")) == f"{ended}: [Errno 104] reset"
