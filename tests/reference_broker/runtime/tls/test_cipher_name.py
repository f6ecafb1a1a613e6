"""Cipher suites by RabbitMQ's names."""

from __future__ import annotations

import ssl

import pytest

from reference_broker.runtime.tls.cipher_name import cipher_parts


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("TLS_AES_256_GCM_SHA384", ("any", "aes_256_gcm", "aead")),
        ("TLS_CHACHA20_POLY1305_SHA256", ("any", "chacha20_poly1305", "aead")),
        ("ECDHE-RSA-AES256-GCM-SHA384", ("ecdhe_rsa", "aes_256_gcm", "aead")),
        ("ECDHE-ECDSA-CHACHA20-POLY1305", ("ecdhe_ecdsa", "chacha20_poly1305", "aead")),
        ("DHE-RSA-AES128-SHA256", ("dhe_rsa", "aes_128_cbc", "sha256")),
        ("AES128-GCM-SHA256", ("rsa", "aes_128_gcm", "aead")),
        ("SOMETHING-NEW", ("", "something-new", "")),
    ],
)
def test_parts(name: str, parts: tuple[str, str, str]) -> None:
    assert cipher_parts(name) == parts


def test_every_cipher_that_a_server_offers_is_known() -> None:
    offered = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).get_ciphers()
    assert offered
    assert all(all(cipher_parts(each["name"])) for each in offered)
