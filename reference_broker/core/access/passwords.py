"""Hashes of passwords: RabbitMQ's, which are fast, and the port for those that are slow on purpose.

A stored hash names its algorithm as definitions files do (``hashing_algorithm``). RabbitMQ's three
are a salt of four octets and a digest, and are checked right here. Anything slower is somebody
else's work: :class:`Passwords` answers later, as an input of the core.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum, unique
from typing import NamedTuple, Protocol

SHA256 = "rabbit_password_hashing_sha256"
SHA512 = "rabbit_password_hashing_sha512"
MD5 = "rabbit_password_hashing_md5"
ARGON2ID = "mqkit_password_hashing_argon2id"
"""Ours. A RabbitMQ that imports it knows the user, but lets nobody in until it is given a password
of its own."""

SALT_BYTES = 4
"""Of RabbitMQ's algorithms."""

_DIGESTS: dict[str, Callable[[bytes], bytes]] = {
    SHA256: lambda data: hashlib.sha256(data).digest(),
    SHA512: lambda data: hashlib.sha512(data).digest(),
    MD5: lambda data: hashlib.md5(data, usedforsecurity=False).digest(),
}


@dataclass(frozen=True, slots=True)
class PasswordHash:
    """A stored password. An empty ``value`` is no password's: nobody can log in by it.

    ``value`` is the salt and the digest, or for :data:`ARGON2ID` the encoded text with its
    parameters. Never shown in a repr.
    """

    algorithm: str
    value: bytes = field(repr=False)

    @property
    def is_fast(self) -> bool:
        """One of RabbitMQ's, which :func:`verify_password` checks."""
        return self.algorithm in _DIGESTS

    def in_base64(self) -> str:
        """As the HTTP API and definitions files have it (``password_hash``)."""
        return base64.b64encode(self.value).decode()


NO_PASSWORD = PasswordHash(SHA256, b"")

_COSTS_MAX = {b"m": 256 * 1024, b"t": 16, b"p": 4}
"""KiB, passes and lanes that an argon2id hash may ask for: whoever knows the user's name makes the
broker spend them."""


def is_affordable(stored: PasswordHash) -> bool:
    """A hash of :data:`ARGON2ID` that costs no more than a broker may be made to spend. True for
    other algorithms."""
    if stored.algorithm != ARGON2ID:
        return True
    parts = stored.value.split(b"$")
    if len(parts) != 6 or parts[1] != b"argon2id":
        return False
    costs = dict(part.partition(b"=")[::2] for part in parts[3].split(b","))
    return costs.keys() == _COSTS_MAX.keys() and all(
        value.isdigit() and len(value) < 10 and int(value) <= _COSTS_MAX[name]
        for name, value in costs.items()
    )


def hash_password(password: bytes, salt: bytes, algorithm: str = SHA256) -> PasswordHash:
    """RabbitMQ's hash of a password. ``salt`` is fresh randomness of :data:`SALT_BYTES`."""
    return PasswordHash(algorithm, salt + _DIGESTS[algorithm](salt + password))


def verify_password(stored: PasswordHash, password: bytes) -> bool:
    """True if ``password`` is the one that was hashed by one of RabbitMQ's algorithms; takes the
    same time either way. False for a hash of another algorithm, or of another length."""
    digest = _DIGESTS.get(stored.algorithm)
    if digest is None:
        return False
    salt, rest = stored.value[:SALT_BYTES], stored.value[SALT_BYTES:]
    return hmac.compare_digest(digest(salt + password), rest)


@unique
class Verdict(Enum):
    """The result of checking a password."""

    RIGHT = "it is the one that was hashed"
    WRONG = "it is not"
    BUSY = "too many are being checked: try again later"


class Asker(NamedTuple):
    """Who waits for a verdict: where from, and whether still. An answer to nobody costs as much as
    any other, so it is not looked for."""

    origin: str
    is_there: Callable[[], bool]


ANYBODY = Asker("", lambda: True)
"""Somebody who waits for as long as it takes."""


class Passwords(Protocol):
    """Checks and makes hashes, in whatever time that takes.

    ``answer`` is called once: before the method returns, or later as an input of the core; not at
    all where the asker has left.
    """

    nobody: PasswordHash
    """A hash that no password has, and that costs as much to check as a new user's."""

    def check(
        self,
        stored: PasswordHash,
        password: bytes,
        answer: Callable[[Verdict], None],
        asker: Asker = ANYBODY,
    ) -> None:
        """True if ``password`` is the one that was hashed."""
        ...

    def hash(self, password: bytes, answer: Callable[[PasswordHash | None], None]) -> None:
        """A hash to keep for a new password; ``None`` where too many are being made."""
        ...


class ImmediatePasswords:
    """RabbitMQ's default algorithm and nothing slower, answered at once: for simulators and tests,
    where ``salt`` may be a fixed one."""

    def __init__(self, salt: bytes = b"salt") -> None:
        self.nobody = hash_password(b"nobody", salt)
        self._salt = salt

    def check(
        self,
        stored: PasswordHash,
        password: bytes,
        answer: Callable[[Verdict], None],
        asker: Asker = ANYBODY,
    ) -> None:
        answer(Verdict.RIGHT if verify_password(stored, password) else Verdict.WRONG)

    def hash(self, password: bytes, answer: Callable[[PasswordHash | None], None]) -> None:
        answer(hash_password(password, self._salt))
