"""RabbitMQ's hashes: what its exports have is checked here, and nothing shows them."""

from __future__ import annotations

import base64
import hashlib

import pytest

from reference_broker.core.access.passwords import (
    ARGON2ID,
    MD5,
    NO_PASSWORD,
    SHA256,
    SHA512,
    ImmediatePasswords,
    PasswordHash,
    Verdict,
    hash_password,
    is_affordable,
    verify_password,
)


def test_the_hash_of_rabbitmqs_own_documentation() -> None:
    """rabbitmq.com/docs/passwords#computing-password-hash: test12, with the salt 908DC60A."""
    value = base64.b64decode("kI3GCqW5JLMJa4iX1lo7X4D6XbYqlLgxIs30+P6tENUV2POR")
    assert verify_password(PasswordHash(SHA256, value), b"test12")
    assert hash_password(b"test12", value[:4]) == PasswordHash(SHA256, value)


@pytest.mark.parametrize(
    ("algorithm", "digest"), [(SHA256, "sha256"), (SHA512, "sha512"), (MD5, "md5")]
)
def test_each_algorithm(algorithm: str, digest: str) -> None:
    value = b"salt" + hashlib.new(digest, b"saltsecret").digest()
    stored = PasswordHash(algorithm, value)
    assert verify_password(stored, b"secret")
    assert not verify_password(stored, b"Secret")
    assert hash_password(b"secret", b"salt", algorithm) == stored


@pytest.mark.parametrize(
    "stored",
    [
        NO_PASSWORD,
        PasswordHash(SHA256, b"AAA"),
        PasswordHash("nope", hash_password(b"x", b"salt").value),
        PasswordHash(ARGON2ID, b"$argon2id$"),
    ],
)
def test_what_no_password_fits(stored: PasswordHash) -> None:
    assert not verify_password(stored, b"x")
    assert not verify_password(stored, b"")


def test_no_repr_shows_a_hash() -> None:
    assert "CANARY" not in repr(PasswordHash(SHA256, b"CANARY"))


def test_immediate_passwords_answer_before_they_return() -> None:
    passwords = ImmediatePasswords()
    made: list[PasswordHash | None] = []
    verdicts: list[Verdict] = []
    passwords.hash(b"secret", made.append)
    assert made[0] is not None
    passwords.check(made[0], b"secret", verdicts.append)
    passwords.check(made[0], b"wrong", verdicts.append)
    assert verdicts == [Verdict.RIGHT, Verdict.WRONG]


@pytest.mark.parametrize(
    ("value", "affordable"),
    [
        (b"$argon2id$v=19$m=19456,t=2,p=1$c2FsdA$ZGlnZXN0", True),
        (b"$argon2id$v=19$m=262144,t=16,p=4$c2FsdA$ZGlnZXN0", True),
        (b"$argon2id$v=19$m=262145,t=2,p=1$c2FsdA$ZGlnZXN0", False),
        (b"$argon2id$v=19$m=19456,t=4294967295,p=1$c2FsdA$ZGlnZXN0", False),
        (b"$argon2id$v=19$m=19456,t=2,p=99999999999999999999$c2FsdA$ZGlnZXN0", False),
        (b"$argon2id$v=19$m=19456,t=2$c2FsdA$ZGlnZXN0", False),
        (b"$argon2i$v=19$m=19456,t=2,p=1$c2FsdA$ZGlnZXN0", False),
        (b"no hash", False),
        (b"", False),
    ],
)
def test_a_hash_that_would_cost_too_much(value: bytes, affordable: bool) -> None:
    assert is_affordable(PasswordHash(ARGON2ID, value)) is affordable
    assert is_affordable(PasswordHash(SHA256, value))
