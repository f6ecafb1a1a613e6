"""Parts of a cipher suite in RabbitMQ's terms, from OpenSSL's name of the suite."""

from __future__ import annotations

import re
from typing import NamedTuple

_TLS_1_3 = re.compile(r"TLS_(?P<cipher>\w+?)_SHA\d+")
_TLS_1_2 = re.compile(
    r"(?:(?P<exchange>[A-Z]+(?:-[A-Z]+)?)-)?"
    r"(?P<cipher>AES\d+-GCM|AES\d+-CCM8?|CHACHA20-POLY1305|AES\d+)(?:-(?P<hash>SHA\d*))?"
)
_AES = re.compile(r"aes_?(\d+)_?(\w*)")


class CipherParts(NamedTuple):
    """RabbitMQ's ``ssl_key_exchange``, ``ssl_cipher`` and ``ssl_hash``."""

    key_exchange: str
    cipher: str
    hash: str


def cipher_parts(name: str) -> CipherParts:
    """The parts of the suite called ``name``. ``TLS_AES_256_GCM_SHA384`` has no key exchange of its
    own (``any``) and no hash beside its cipher (``aead``); ``ECDHE-RSA-AES256-SHA384`` has both. A
    suite of another form stays whole."""
    match = _TLS_1_3.fullmatch(name)
    if match is not None:
        return CipherParts("any", match["cipher"].lower(), "aead")
    match = _TLS_1_2.fullmatch(name)
    if match is None:
        return CipherParts("", name.lower(), "")
    exchange = (match["exchange"] or "RSA").replace("-", "_").lower()
    cipher = match["cipher"].replace("-", "_").lower()
    aes = _AES.fullmatch(cipher)
    if aes is None:
        return CipherParts(exchange, cipher, "aead")
    mode = aes[2] or "cbc"
    hashed = (match["hash"] or "").lower() if mode == "cbc" else "aead"
    return CipherParts(exchange, f"aes_{aes[1]}_{mode}", hashed)
