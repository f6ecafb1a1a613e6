"""Slow hashes on a thread: nobody waits on the loop, and the same login is checked once."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from queue import SimpleQueue

import pytest
from argon2 import PasswordHasher

from reference_broker.core.access.passwords import (
    ARGON2ID,
    Asker,
    PasswordHash,
    Verdict,
    hash_password,
)
from reference_broker.runtime.process import password_thread
from reference_broker.runtime.process.password_thread import PasswordThread, argon2id, is_right


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
    for number in range(3):
        passwords.check(stored, b"%d" % number, verdicts.append)
    assert verdicts == [Verdict.BUSY]
    loop.turn()
    loop.turn()
    assert verdicts == [Verdict.BUSY, Verdict.WRONG, Verdict.WRONG]


def asker(origin: str) -> Asker:
    return Asker(origin, lambda: True)


def test_one_host_with_many_wrong_logins_keeps_nobody_else_waiting(
    loop: Loop, passwords: PasswordThread, stored: PasswordHash
) -> None:
    told: list[tuple[str, Verdict]] = []
    for number in range(6):
        wrong = b"wrong %d" % number
        passwords.check(stored, wrong, lambda v: told.append(("flood", v)), asker("192.0.2.1"))
    passwords.check(stored, b"secret", lambda v: told.append(("joe", v)), asker("192.0.2.2"))
    for _ in range(3):
        loop.turn()
    assert told == [("flood", Verdict.WRONG)] * 2 + [("joe", Verdict.RIGHT)]


def test_the_host_that_has_most_makes_room(
    loop: Loop,
    passwords: PasswordThread,
    stored: PasswordHash,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(password_thread, "PENDING_MAX", 4)
    told: list[str] = []

    def ask(name: str, origin: str) -> None:
        answer = lambda verdict: told.append(f"{name} {verdict.name}")  # noqa: E731
        passwords.check(stored, name.encode(), answer, asker(origin))

    for name in ("f1", "f2", "f3", "f4"):
        ask(name, "192.0.2.1")
    ask("f5", "192.0.2.1")
    assert told == ["f5 BUSY"]
    ask("secret", "192.0.2.2")
    made: list[PasswordHash | None] = []
    passwords.hash(b"new", made.append)
    assert told == ["f5 BUSY"]
    for _ in range(6):
        loop.turn()
    assert told[1:] == ["f4 BUSY", "f3 BUSY", "f1 WRONG", "f2 WRONG", "secret RIGHT"]
    assert len(made) == 1
    assert made[0] is not None
    assert loop.inputs == 6


def test_a_login_that_nobody_waits_for_is_not_checked(
    loop: Loop,
    passwords: PasswordThread,
    stored: PasswordHash,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(password_thread, "PENDING_MAX", 3)
    told: list[Verdict] = []
    left: list[Verdict] = []
    there = [True]
    gone = Asker("192.0.2.1", lambda: there[0])
    passwords.check(stored, b"first", told.append)
    for number in range(2):
        passwords.check(stored, b"%d" % number, left.append, gone)
    there[0] = False
    passwords.check(stored, b"secret", told.append, asker("192.0.2.2"))
    loop.turn()
    loop.turn()
    assert (told, left) == ([Verdict.WRONG, Verdict.RIGHT], [])
    passwords.check(stored, b"second", told.append)
    passwords.check(stored, b"left too", left.append, gone)
    passwords.check(stored, b"third", told.append)
    loop.turn()
    loop.turn()
    assert (told[2:], left) == ([Verdict.WRONG, Verdict.WRONG], [])


def test_one_of_many_askers_is_enough(
    loop: Loop, passwords: PasswordThread, stored: PasswordHash
) -> None:
    told: list[str] = []
    passwords.check(stored, b"first", lambda verdict: None)
    passwords.check(stored, b"secret", lambda v: told.append("gone"), Asker("a", lambda: False))
    passwords.check(stored, b"secret", lambda v: told.append("there"), asker("b"))
    loop.turn()
    loop.turn()
    assert told == ["there"]


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


def test_what_is_remembered_is_bounded(
    loop: Loop,
    passwords: PasswordThread,
    stored: PasswordHash,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(password_thread, "REMEMBERED_MAX", 1)
    told: list[Verdict] = []
    other = argon2id(b"secret")
    for each in (stored, other):
        passwords.check(each, b"secret", told.append)
        loop.turn()
    passwords.check(other, b"secret", told.append)
    assert told == [Verdict.RIGHT] * 3  # the last one at once
    passwords.check(stored, b"secret", told.append)
    assert len(told) == 3
    loop.turn()
    assert told == [Verdict.RIGHT] * 4


def test_a_known_address_is_not_behind_strangers_with_wrong_logins(
    loop: Loop, passwords: PasswordThread, stored: PasswordHash
) -> None:
    told: list[str] = []

    def ask(password: bytes, origin: str) -> None:
        name = password.decode()
        passwords.check(stored, password, lambda v: told.append(f"{name} {v.name}"), asker(origin))

    ask(b"secret", "192.0.2.1")
    loop.turn()
    other = argon2id(b"another user's")
    for number in range(12):
        ask(b"wrong%d" % number, f"198.51.100.{number}")
    passwords.check(other, b"another user's", lambda v: told.append(v.name), asker("192.0.2.1"))
    for _ in range(2):  # the one that was under way, and the user's
        loop.turn()
    assert told == ["secret RIGHT", "wrong0 WRONG", "RIGHT"]
    # These have had their wrong login by now; an address that nobody knows is before them.
    for _ in range(11):
        loop.turn()
    for number in range(12):
        ask(b"again%d" % number, f"198.51.100.{number}")
    third = argon2id(b"third")
    passwords.check(third, b"third", lambda v: told.append(v.name), asker("203.0.113.1"))
    for _ in range(2):
        loop.turn()
    assert told[-2:] == ["again0 WRONG", "RIGHT"]


def test_a_check_that_a_known_address_joins_is_not_behind_strangers(
    loop: Loop, passwords: PasswordThread, stored: PasswordHash
) -> None:
    told: list[str] = []

    def ask(password: bytes, origin: str) -> None:
        name = password.decode()
        passwords.check(stored, password, lambda v: told.append(f"{name} {v.name}"), asker(origin))

    ask(b"secret", "192.0.2.1")
    loop.turn()
    for number in range(6):
        ask(b"wrong%d" % number, f"198.51.100.{number}")
    ask(b"shared", "198.51.100.99")
    ask(b"shared", "192.0.2.1")
    for _ in range(2):
        loop.turn()
    assert told[1:] == ["wrong0 WRONG", "shared WRONG", "shared WRONG"]
