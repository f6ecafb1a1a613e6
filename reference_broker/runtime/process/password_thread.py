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

from reference_broker.core.access.passwords import (
    ANYBODY,
    ARGON2ID,
    Asker,
    PasswordHash,
    Verdict,
    is_affordable,
    verify_password,
)
from reference_broker.runtime.process.login_queue import LoginQueue, Standing, Standings
from reference_broker.runtime.process.worker import Worker

TIME_COST = 2
MEMORY_KIB = 19_456
PARALLELISM = 1
"""OWASP's first choice of parameters for argon2id: 19 MiB, two passes, one lane. 20 to 40 ms
here."""

PENDING_MAX = 256
"""Different logins that wait for the thread, from all hosts: with more, the last ones would run
into the handshake's deadline anyway."""

REMEMBERED_MAX = 1_024
"""Right logins, by user and password. 64 bytes each."""

_KEY_BYTES = 32
_HASHING = "new passwords"
"""The origin of new passwords that wait for their hash: no address looks like it."""

_hasher = PasswordHasher(TIME_COST, MEMORY_KIB, PARALLELISM)


def argon2id(password: bytes) -> PasswordHash:
    """Hash ``password`` with a fresh salt. Blocks for 20 to 40 ms: not for the event loop."""
    return PasswordHash(ARGON2ID, _hasher.hash(password).encode())


def is_right(stored: PasswordHash, password: bytes) -> bool:
    """True if ``password`` is the one that was hashed, by whichever algorithm. Blocks."""
    if stored.is_fast:
        return verify_password(stored, password)
    try:
        return _hasher.verify(stored.value, password)
    except (Argon2Error, InvalidHashError):
        return False


def _hash_of_nothing() -> PasswordHash:
    """A hash that no password is known for: random octets as its salt and its digest."""
    salt, digest = (
        base64.b64encode(os.urandom(size)).decode().rstrip("=")
        for size in (_hasher.salt_len, _hasher.hash_len)
    )
    costs = f"m={MEMORY_KIB},t={TIME_COST},p={PARALLELISM}"
    return PasswordHash(ARGON2ID, f"$argon2id$v=19${costs}${salt}${digest}".encode())


class _Check:
    """One login that waits, or is being checked, and everybody who asks for it."""

    __slots__ = ("_counts", "_password", "_slow", "askers", "login", "standing")

    def __init__(
        self,
        login: bytes,
        slow: PasswordHash,
        password: bytes,
        standing: Standing,
        *,
        counts: bool,
    ) -> None:
        self.login = login
        self.standing = standing
        """The best one of those who ask."""
        self.askers: list[tuple[Callable[[Verdict], None], Asker]] = []
        self._slow = slow
        self._password = password
        self._counts = counts

    def is_unwanted(self) -> bool:
        return not any(asker.is_there() for _, asker in self.askers)

    def work(self) -> bool:
        """Check the password, on the thread. False where a right one must not count."""
        return is_right(self._slow, self._password) and self._counts


class _Hashing:
    """A new password that waits for its hash."""

    __slots__ = ("_password", "answer")

    def __init__(self, password: bytes, answer: Callable[[PasswordHash | None], None]) -> None:
        self.answer = answer
        self._password = password

    def is_unwanted(self) -> bool:
        return False

    def work(self) -> PasswordHash:
        """Make the hash, on the thread."""
        return argon2id(self._password)


class PasswordThread:
    """The :class:`~reference_broker.core.access.passwords.Passwords` of a server. All methods are
    for the event loop's thread. ``as_input`` runs a step as an input of the core. Close it at the
    end.

    Every origin has its turn, and origins with right logins have theirs first, so that wrong logins
    from however many hosts keep nobody else waiting; and with ``PENDING_MAX`` of them the host that
    has most makes room.
    """

    def __init__(
        self,
        call_soon_threadsafe: Callable[[Callable[[], None]], object],
        as_input: Callable[[Callable[[], None]], None],
    ) -> None:
        self._worker = Worker("passwords", call_soon_threadsafe)
        self._call_soon = call_soon_threadsafe
        self._as_input = as_input
        self._key = os.urandom(_KEY_BYTES)
        self._right: dict[bytes, None] = {}
        self._checks: dict[bytes, _Check] = {}
        """The checks that wait, and the one that is under way, by login."""
        self._queue: LoginQueue[_Check | _Hashing] = LoginQueue()
        self._standings = Standings()
        self._is_busy = False
        self.nobody = _hash_of_nothing()

    def check(
        self,
        stored: PasswordHash,
        password: bytes,
        answer: Callable[[Verdict], None],
        asker: Asker = ANYBODY,
    ) -> None:
        """Check a login; ``answer`` is called at once, or later as an input of the core. Logins
        with the same name and password wait for one check. A wrong one costs one, even where the
        stored hash is a fast one: the time tells nothing about the user."""
        if stored.is_fast and verify_password(stored, password):
            self._standings.right(asker.origin)
            answer(Verdict.RIGHT)
            return
        login = self._digest(stored, password)
        standing = self._standings.of(asker.origin)
        if login in self._right:
            self._standings.right(asker.origin)
            answer(Verdict.RIGHT)
        elif login in self._checks:
            check = self._checks[login]
            check.askers.append((answer, asker))
            self._promote(check, standing, asker.origin)
        elif not self._has_room(standing, asker.origin):
            answer(Verdict.BUSY)
        else:
            slow = stored if stored.algorithm == ARGON2ID and is_affordable(stored) else self.nobody
            check = _Check(login, slow, password, standing, counts=slow is stored)
            check.askers.append((answer, asker))
            self._checks[login] = check
            self._queue.push(standing, asker.origin, check)
            self._go_on()

    def hash(self, password: bytes, answer: Callable[[PasswordHash | None], None]) -> None:
        """Hash a new password with argon2id; ``answer`` gets ``None`` where too many are
        waiting."""
        if not self._has_room(Standing.KNOWN, _HASHING):
            answer(None)
            return
        self._queue.push(Standing.KNOWN, _HASHING, _Hashing(password, answer))
        self._go_on()

    def close(self) -> None:
        """Wait for the check that is under way; whoever waits for another hears nothing."""
        self._worker.close()

    def _promote(self, check: _Check, standing: Standing, origin: str) -> None:
        """Have a check that still waits wait with those of a better ``standing``."""
        if standing < check.standing and self._queue.drop(lambda job: job is check):
            check.standing = standing
            self._queue.push(standing, origin, check)

    def _has_room(self, standing: Standing, origin: str) -> bool:
        if len(self._queue) + self._is_busy < PENDING_MAX:
            return True
        unwanted = self._queue.drop(lambda job: job.is_unwanted())
        for job in unwanted:
            self._forget(job)
        if unwanted:
            return True
        displaced = self._queue.displace(standing, origin)
        if displaced is None:
            return False
        self._forget(displaced)
        # It is another connection's, and this may be in the middle of an input.
        self._call_soon(partial(self._refuse, displaced))
        return True

    def _forget(self, job: _Check | _Hashing) -> None:
        if isinstance(job, _Check):
            del self._checks[job.login]

    def _refuse(self, job: _Check | _Hashing) -> None:
        if isinstance(job, _Check):
            self._tell(job, Verdict.BUSY)
        else:
            self._as_input(partial(job.answer, None))

    def _go_on(self) -> None:
        """Begin the next job that somebody still waits for, unless one is under way."""
        while not self._is_busy and (job := self._queue.pop()) is not None:
            if job.is_unwanted():
                self._forget(job)
            elif isinstance(job, _Check):
                self._is_busy = True
                self._worker.submit(job.work, partial(self._checked, job))
            else:
                self._is_busy = True
                self._worker.submit(job.work, partial(self._hashed, job))

    def _checked(self, check: _Check, result: bool | Exception) -> None:
        self._is_busy = False
        self._forget(check)
        right = result is True
        if right:
            if len(self._right) >= REMEMBERED_MAX:
                self._right.clear()
            self._right[check.login] = None
        note = self._standings.right if right else self._standings.wrong
        for _, asker in check.askers:
            note(asker.origin)
        self._tell(check, Verdict.RIGHT if right else Verdict.WRONG)
        self._go_on()

    def _tell(self, check: _Check, verdict: Verdict) -> None:
        for answer, asker in check.askers:
            if asker.is_there():
                self._as_input(partial(answer, verdict))

    def _hashed(self, hashing: _Hashing, result: PasswordHash | Exception) -> None:
        self._is_busy = False
        hashed = result if isinstance(result, PasswordHash) else None
        self._as_input(partial(hashing.answer, hashed))
        self._go_on()

    def _digest(self, stored: PasswordHash, password: bytes) -> bytes:
        digest = hashlib.blake2b(digest_size=32, key=self._key)
        for part in (stored.algorithm.encode(), stored.value, password):
            digest.update(len(part).to_bytes(8, "big"))
            digest.update(part)
        return digest.digest()
