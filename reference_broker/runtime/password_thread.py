"""Passwords hashed with argon2id, on a thread: a check takes tens of milliseconds on purpose, and
the event loop must not stand still for any login.

A right login is remembered, so that a client that connects again costs nothing. What is remembered
is a digest of the stored hash and the password, under a key that is random, made at the start, and
never leaves the process: it is good for nothing elsewhere, it says nothing about a password that
was not right once, and with another stored hash it is another digest, so a changed password is
checked anew.
"""

from __future__ import annotations

import base64
import hashlib
import os
from collections.abc import Callable
from functools import partial

from argon2 import PasswordHasher
from argon2.exceptions import Argon2Error, InvalidHashError

from reference_broker.core.passwords import (
    ARGON2ID,
    PasswordHash,
    Verdict,
    is_affordable,
    verify_password,
)
from reference_broker.runtime.worker import Worker

TIME_COST = 2
MEMORY_KIB = 19_456
PARALLELISM = 1
"""OWASP's first choice for argon2id: 19 MiB, two passes, one lane. 20 to 40 ms here."""

PENDING_MAX = 256
"""Different logins that wait for the thread, each for as long as those before it: with more, a
client would run into the handshake's deadline anyway."""

REMEMBERED_MAX = 1_024
"""Right logins, by user and password. 64 bytes each."""

_KEY_BYTES = 32

_hasher = PasswordHasher(TIME_COST, MEMORY_KIB, PARALLELISM)


def argon2id(password: bytes) -> PasswordHash:
    """A hash with a fresh salt. Takes as long as it has to: not for the event loop."""
    return PasswordHash(ARGON2ID, _hasher.hash(password).encode())


def is_right(stored: PasswordHash, password: bytes) -> bool:
    """Whether ``password`` is the one that was hashed, by whichever algorithm. Blocks."""
    if stored.is_fast:
        return verify_password(stored, password)
    try:
        return _hasher.verify(stored.value, password)
    except (Argon2Error, InvalidHashError):
        return False


def _hash_of_nothing() -> PasswordHash:
    """Random octets where a hash has its salt and its digest: no password is known for it."""
    salt, digest = (
        base64.b64encode(os.urandom(size)).decode().rstrip("=")
        for size in (_hasher.salt_len, _hasher.hash_len)
    )
    costs = f"m={MEMORY_KIB},t={TIME_COST},p={PARALLELISM}"
    return PasswordHash(ARGON2ID, f"$argon2id$v=19${costs}${salt}${digest}".encode())


class PasswordThread:
    """The :class:`~reference_broker.core.passwords.Passwords` of a server. All methods are for the
    event loop's thread. ``as_input`` runs a step as an input of the core. Close it at the end."""

    def __init__(
        self,
        call_soon_threadsafe: Callable[[Callable[[], None]], object],
        as_input: Callable[[Callable[[], None]], None],
    ) -> None:
        self._worker = Worker("passwords", call_soon_threadsafe)
        self._as_input = as_input
        self._key = os.urandom(_KEY_BYTES)
        self._right: dict[bytes, None] = {}
        self._waiting: dict[bytes, list[Callable[[Verdict], None]]] = {}
        self._hashing = 0
        self.nobody = _hash_of_nothing()

    def check(
        self, stored: PasswordHash, password: bytes, answer: Callable[[Verdict], None]
    ) -> None:
        """Logins with the same name and password wait for one check. A wrong one costs one, even
        where the stored hash is a fast one: the time tells nothing about the user."""
        if stored.is_fast and verify_password(stored, password):
            answer(Verdict.RIGHT)
            return
        login = self._digest(stored, password)
        if login in self._right:
            answer(Verdict.RIGHT)
        elif login in self._waiting:
            self._waiting[login].append(answer)
        elif len(self._waiting) + self._hashing >= PENDING_MAX:
            answer(Verdict.BUSY)
        else:
            self._waiting[login] = [answer]
            slow = stored if stored.algorithm == ARGON2ID and is_affordable(stored) else self.nobody
            self._worker.submit(
                partial(is_right, slow, password), partial(self._checked, login, slow is stored)
            )

    def hash(self, password: bytes, answer: Callable[[PasswordHash | None], None]) -> None:
        """argon2id."""
        if len(self._waiting) + self._hashing >= PENDING_MAX:
            answer(None)
            return
        self._hashing += 1
        self._worker.submit(partial(argon2id, password), partial(self._hashed, answer))

    def close(self) -> None:
        """Wait for the check that is under way; whoever waits for another hears nothing."""
        self._worker.close()

    def _checked(self, login: bytes, counts: bool, result: bool | Exception) -> None:
        right = counts and result is True
        if right:
            if len(self._right) >= REMEMBERED_MAX:
                self._right.clear()
            self._right[login] = None
        verdict = Verdict.RIGHT if right else Verdict.WRONG
        for answer in self._waiting.pop(login):
            self._as_input(partial(answer, verdict))

    def _hashed(
        self, answer: Callable[[PasswordHash | None], None], result: PasswordHash | Exception
    ) -> None:
        self._hashing -= 1
        hashed = result if isinstance(result, PasswordHash) else None
        self._as_input(partial(answer, hashed))

    def _digest(self, stored: PasswordHash, password: bytes) -> bytes:
        digest = hashlib.blake2b(digest_size=32, key=self._key)
        for part in (stored.algorithm.encode(), stored.value, password):
            digest.update(len(part).to_bytes(8, "big"))
            digest.update(part)
        return digest.digest()
