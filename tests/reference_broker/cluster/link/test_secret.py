"""The secret: proofs are for one role and one conversation, and it is never shown."""

from __future__ import annotations

import pytest

from reference_broker.cluster.link.secret import Secret
from reference_broker.errors import BadConfiguration

SECRET = Secret(b"open sesame")


def test_a_proof_holds_for_its_secret_role_and_transcript_only() -> None:
    proof = SECRET.proof(b"dialer", b"transcript")
    assert SECRET.is_proved_by(proof, b"dialer", b"transcript")
    assert not SECRET.is_proved_by(proof, b"acceptor", b"transcript")
    assert not SECRET.is_proved_by(proof, b"dialer", b"another")
    assert not SECRET.is_proved_by(proof[:-1], b"dialer", b"transcript")
    assert not SECRET.is_proved_by(b"", b"dialer", b"transcript")
    assert not Secret(b"open barley").is_proved_by(proof, b"dialer", b"transcript")


def test_the_secret_is_never_shown() -> None:
    shown = f"{SECRET} {SECRET!r} {[SECRET]}" + SECRET.proof(b"dialer", b"").decode("latin-1")
    assert "sesame" not in shown


def test_an_empty_secret_is_none() -> None:
    with pytest.raises(BadConfiguration, match="the cluster's secret is empty"):
        Secret(b"")


def test_a_fingerprint_is_the_secrets_own_and_no_proof() -> None:
    secret, other = Secret(b"one"), Secret(b"other")
    assert secret.fingerprint == Secret(b"one").fingerprint != other.fingerprint
    assert "one" not in secret.fingerprint
    assert bytes.fromhex(secret.fingerprint) != secret.proof(b"fingerprint", b"")
