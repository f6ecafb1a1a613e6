"""Who may log in. Passwords are kept as salted hashes, and compared in constant time.

The salt comes from outside (the core has no randomness of its own), and so does the verifier: a
slower hash than this one is a matter of handing in another function.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Callable
from dataclasses import dataclass, field

from reference_broker.core.peer import Peer


@dataclass(frozen=True, slots=True)
class PasswordHash:
    """SHA-256 of salt and password, which is RabbitMQ's default scheme. Never shown in a repr."""

    salt: bytes = field(repr=False)
    digest: bytes = field(repr=False)


def hash_password(password: bytes, salt: bytes) -> PasswordHash:
    """The hash to keep for a password. ``salt`` must be fresh randomness, 4 bytes or more."""
    return PasswordHash(salt, hashlib.sha256(salt + password).digest())


def verify_password(stored: PasswordHash, password: bytes) -> bool:
    """Whether ``password`` is the one that was hashed; takes the same time either way."""
    return hmac.compare_digest(hashlib.sha256(stored.salt + password).digest(), stored.digest)


@dataclass(frozen=True, slots=True)
class User:
    """Somebody who may log in. ``loopback_only``: from this machine only, as guest is."""

    name: str
    password: PasswordHash
    tags: tuple[str, ...] = ()
    loopback_only: bool = False


Verifier = Callable[[PasswordHash, bytes], bool]

_NOBODY = hash_password(b"", b"nobody")


class UserStore:
    """The users by name."""

    def __init__(self, verify: Verifier = verify_password) -> None:
        self._users: dict[str, User] = {}
        self._verify = verify

    def add(self, user: User) -> None:
        """Add a user, or replace the one of that name."""
        self._users[user.name] = user

    def all(self) -> list[User]:
        """Every user, in the order in which they were added."""
        return list(self._users.values())

    def authenticate(self, name: str, password: bytes, peer: Peer) -> User | None:
        """The user, or ``None`` when name, password or address are wrong; it does not say which.

        An unknown name costs as much time as a wrong password.
        """
        user = self._users.get(name)
        matches = self._verify(_NOBODY if user is None else user.password, password)
        if user is None or not matches:
            return None
        if user.loopback_only and not peer.is_loopback:
            return None
        return user
