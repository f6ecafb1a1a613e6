"""Slow hashes on a thread: nobody waits on the loop, and the same login is checked once."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from queue import SimpleQueue

import pytest
from argon2 import PasswordHasher

from reference_broker.core.passwords import (
    ARGON2ID,
    PasswordHash,
    Verdict,
    hash_password,
)
from reference_broker.runtime import password_thread
from reference_broker.runtime.password_thread import PasswordThread, argon2id, is_right


class Loop:
    """Runs what the thread hands back, when the test says so."""

    def __init__(self) -> None:
        self._calls: SimpleQueue[Callable[[], None]] = SimpleQueue()
        self.inputs = 0

    def call_soon_threadsafe(self, call: Callable[[], None]) -> None:
        self._calls.put(call)

    def turn(self) -> None:
        self._calls.get(timeout=30)()

    def as_input(self, step: Callable[[], None]) -> None:
        self.inputs += 1
        step()


@pytest.fixture
def loop() -> Loop:
    return Loop()


@pytest.fixture
def passwords(loop: Loop) -> Iterator[PasswordThread]:
    thread = PasswordThread(loop.call_soon_threadsafe, loop.as_input)
    yield thread
    thread.close()


@pytest.fixture(scope="module")
def stored() -> PasswordHash:
    return argon2id(b"secret")


def test_a_hash_says_how_it_was_made(stored: PasswordHash) -> None:
    assert stored.algorithm == ARGON2ID
    assert stored.value.startswith(b"$argon2id$v=19$m=19456,t=2,p=1$")
    assert stored != argon2id(b"secret")
    assert is_right(stored, b"secret")
    assert not is_right(stored, b"Secret")
    assert not is_right(PasswordHash(ARGON2ID, b"junk"), b"secret")


def test_a_new_password_is_hashed_as_an_input(loop: Loop, passwords: PasswordThread) -> None:
    made: list[PasswordHash | None] = []
    passwords.hash(b"secret", made.append)
    assert made == []
    loop.turn()
    [hashed] = made
    assert hashed is not None
    assert is_right(hashed, b"secret")
    assert loop.inputs == 1


def test_a_right_login_is_remembered_and_a_wrong_one_is_not(
    loop: Loop, passwords: PasswordThread, stored: PasswordHash
) -> None:
    verdicts: list[Verdict] = []
    for password in (b"secret", b"wrong"):
        passwords.check(stored, password, verdicts.append)
        loop.turn()
    assert verdicts == [Verdict.RIGHT, Verdict.WRONG]
    passwords.check(stored, b"secret", verdicts.append)
    assert verdicts[2:] == [Verdict.RIGHT]  # at once
    passwords.check(stored, b"wrong", verdicts.append)
    assert len(verdicts) == 3
    loop.turn()
    assert verdicts[3:] == [Verdict.WRONG]


def test_a_changed_password_is_not_remembered(
    loop: Loop, passwords: PasswordThread, stored: PasswordHash
) -> None:
    verdicts: list[Verdict] = []
    passwords.check(stored, b"secret", verdicts.append)
    loop.turn()
    passwords.check(argon2id(b"other"), b"secret", verdicts.append)
    loop.turn()
    assert verdicts == [Verdict.RIGHT, Verdict.WRONG]


def test_a_storm_of_the_same_login_is_one_check(
    loop: Loop, passwords: PasswordThread, stored: PasswordHash
) -> None:
    verdicts: list[Verdict] = []
    for _ in range(1_000):
        passwords.check(stored, b"secret", verdicts.append)
    loop.turn()
    assert verdicts == [Verdict.RIGHT] * 1_000
    assert loop.inputs == 1_000


def test_more_different_logins_than_anybody_can_wait_for(
    loop: Loop,
    passwords: PasswordThread,
    stored: PasswordHash,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(password_thread, "PENDING_MAX", 2)
    verdicts: list[Verdict] = []
    made: list[PasswordHash | None] = []
    for number in range(3):
        passwords.check(stored, b"%d" % number, verdicts.append)
    passwords.hash(b"new", made.append)
    assert (verdicts, made) == ([Verdict.BUSY], [None])
    loop.turn()
    loop.turn()
    assert verdicts == [Verdict.BUSY, Verdict.WRONG, Verdict.WRONG]


def test_rabbitmqs_hashes_are_checked_at_once_and_wrong_ones_cost_as_much(
    loop: Loop, passwords: PasswordThread
) -> None:
    fast = hash_password(b"secret", b"salt")
    verdicts: list[Verdict] = []
    passwords.check(fast, b"secret", verdicts.append)
    assert verdicts == [Verdict.RIGHT]
    for wrong in (fast, passwords.nobody, PasswordHash("unknown", b"x")):
        passwords.check(wrong, b"wrong", verdicts.append)
        assert len(verdicts) == 1
        loop.turn()
        assert verdicts.pop() is Verdict.WRONG


def test_nobodys_hash_is_well_formed_and_no_passwords(passwords: PasswordThread) -> None:
    assert passwords.nobody.value.startswith(b"$argon2id$v=19$m=19456,t=2,p=1$")
    assert not is_right(passwords.nobody, b"nobody")


def test_a_hash_that_costs_too_much_is_never_run(loop: Loop, passwords: PasswordThread) -> None:
    """It may have been stored by an earlier version, or by hand: nobody logs in with it."""
    costly = PasswordHash(ARGON2ID, PasswordHasher(17, 8, 1).hash("secret").encode())
    assert is_right(costly, b"secret")
    verdicts: list[Verdict] = []
    passwords.check(costly, b"secret", verdicts.append)
    loop.turn()
    assert verdicts == [Verdict.WRONG]
