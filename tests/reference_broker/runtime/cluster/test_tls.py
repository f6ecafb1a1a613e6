"""tls: the words for a handshake that fails. The errors are OpenSSL's own, of handshakes in
memory; between processes they are in whole/test_links_with_tls.py."""

from __future__ import annotations

import ssl

import pytest
import trustme

from reference_broker.runtime.cluster.tls import tls_failure


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
