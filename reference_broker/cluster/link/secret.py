"""The secret of a cluster: who knows it is a node of it. It never travels, and is never shown."""

from __future__ import annotations

import hashlib
import hmac

from reference_broker.errors import BadConfiguration


class Secret:
    """The secret, and the proofs that are made with it. ``octets`` must not be empty
    (:exc:`BadConfiguration`); short ones can be guessed by whoever sees a proof, so let it be 32
    random ones."""

    __slots__ = ("_octets",)

    def __init__(self, octets: bytes) -> None:
        if not octets:
            raise BadConfiguration("the cluster's secret is empty: write 32 random octets there")
        self._octets = octets

    def __repr__(self) -> str:
        return "<Secret>"

    @property
    def fingerprint(self) -> str:
        """A text that is the same for the same secret, and does not tell it: for everybody to
        see."""
        return hmac.digest(self._octets, b"fingerprint", hashlib.sha256).hex()

    def proof(self, role: bytes, transcript: bytes) -> bytes:
        """The proof that ``role`` knows the secret, for a conversation that nobody has had before:
        there is a fresh nonce of either end in its ``transcript``."""
        return hmac.digest(self._octets, role + b"\0" + transcript, hashlib.sha256)

    def is_proved_by(self, proof: bytes, role: bytes, transcript: bytes) -> bool:
        """True if ``proof`` is the one that ``role`` has to give. Takes the same time either
        way."""
        return hmac.compare_digest(proof, self.proof(role, transcript))
