"""TLS columns: all there without TLS, and null where there is no certificate."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from reference_broker.core.base.tls_session import PeerCertificate, TlsSession
from reference_broker.http.request.host import ListenerTls
from reference_broker.http.rows.tls_columns import tls_columns, tls_options

SESSION = TlsSession("tlsv1.3", "any", "aes_256_gcm", "aead")
LISTENER = ListenerTls(
    Path("c.pem"), Path("k.pem"), Path("ca.pem"), ("tlsv1.3", "tlsv1.2"), True, False, (), ()
)


def test_every_column_is_there_without_tls() -> None:
    columns = tls_columns(None)
    assert columns.pop("ssl") is False
    assert set(columns.values()) == {None}
    assert {"ssl", *columns} == set(tls_columns(SESSION))


def test_a_session_without_a_certificate_has_null_in_its_place() -> None:
    columns = tls_columns(SESSION)
    assert columns["ssl"] is True
    assert (columns["ssl_protocol"], columns["ssl_key_exchange"]) == ("tlsv1.3", "any")
    assert (columns["ssl_cipher"], columns["ssl_hash"]) == ("aes_256_gcm", "aead")
    assert columns["peer_cert_subject"] is None


def test_a_certificate_is_shown() -> None:
    certificate = PeerCertificate("CN=ann", "CN=authority", "2026", "ann")
    columns = tls_columns(replace(SESSION, certificate=certificate))
    assert columns["peer_cert_subject"] == "CN=ann"
    assert columns["peer_cert_issuer"] == "CN=authority"
    assert columns["peer_cert_validity"] == "2026"
    assert "ann" not in columns.values()


def test_the_options_of_a_listener_are_rabbitmqs() -> None:
    assert tls_options(LISTENER) == {
        "versions": ["tlsv1.3", "tlsv1.2"],
        "certfile": "c.pem",
        "keyfile": "k.pem",
        "cacertfile": "ca.pem",
        "verify": "verify_peer",
        "fail_if_no_peer_cert": False,
    }
    bare = tls_options(LISTENER._replace(authority=None, verifies=False))
    assert "cacertfile" not in bare
    assert bare["verify"] == "verify_none"
    assert tls_options(None) == {}
