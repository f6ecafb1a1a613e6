"""Logins: wrong in any way is refused the same way, and guest is for this machine only."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from reference_broker.core.access.passwords import (
    ANYBODY,
    Asker,
    ImmediatePasswords,
    PasswordHash,
    Verdict,
    hash_password,
)
from reference_broker.core.access.users import IMPERSONATOR, Refusal, User, UserStore, check_user_id
from reference_broker.core.base.peer import Ends, Peer, ProxyHeader
from reference_broker.errors import ChannelException, ReplyCode

HERE = Peer("127.0.0.1", 1, "127.0.0.1", 5672)
ELSEWHERE = Peer("192.0.2.7", 1, "127.0.0.1", 5672)


@pytest.fixture
def users() -> UserStore:
    store = UserStore()
    store.add(User("guest", hash_password(b"guest", b"salt"), loopback_only=True))
    store.add(User("ann", hash_password("pässword".encode(), b"SALT"), ("administrator",)))
    store.add(User("locked", PasswordHash("rabbit_password_hashing_sha256", b"")))
    return store


def login(users: UserStore, name: str, password: bytes, peer: Peer) -> User | Refusal:
    answers: list[User | Refusal] = []
    users.authenticate(name, password, peer, answers.append)
    [answer] = answers
    return answer


def test_a_right_login_gives_the_user(users: UserStore) -> None:
    user = login(users, "ann", "pässword".encode(), ELSEWHERE)
    assert isinstance(user, User)
    assert user.tags == ("administrator",)


@pytest.mark.parametrize(
    ("name", "password"),
    [("ann", b"x"), ("bob", b"x"), ("", b""), ("", b"nobody"), ("bob", b"nobody"), ("locked", b"")],
)
def test_a_wrong_login_gives_nothing(users: UserStore, name: str, password: bytes) -> None:
    assert login(users, name, password, HERE) is Refusal.WRONG


def test_guest_is_judged_by_the_address_of_the_socket(users: UserStore) -> None:
    assert isinstance(login(users, "guest", b"guest", HERE), User)
    assert login(users, "guest", b"guest", ELSEWHERE) is Refusal.LOOPBACK_ONLY
    assert login(users, "guest", b"wrong", ELSEWHERE) is Refusal.WRONG


@pytest.mark.parametrize("claimed", [None, Ends("127.0.0.1", 1, "127.0.0.1", 5672)])
def test_guest_does_not_come_through_a_proxy(users: UserStore, claimed: Ends | None) -> None:
    peer = replace(HERE, proxy=ProxyHeader(claimed))
    assert login(users, "guest", b"guest", peer) is Refusal.LOOPBACK_ONLY
    assert isinstance(login(users, "ann", "pässword".encode(), peer), User)


def test_an_empty_password_is_wrong_even_for_a_hash_of_it(users: UserStore) -> None:
    users.add(User("empty", hash_password(b"", b"salt")))
    assert login(users, "empty", b"", HERE) is Refusal.WRONG


class SlowPasswords(ImmediatePasswords):
    """Answers when the test says so."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[PasswordHash] = []
        self.answers: list[Callable[[Verdict], None]] = []

    def check(
        self,
        stored: PasswordHash,
        password: bytes,
        answer: Callable[[Verdict], None],
        asker: Asker = ANYBODY,
    ) -> None:
        self.asked.append(stored)
        self.answers.append(answer)


def test_a_hash_is_checked_even_for_a_user_who_is_not_there() -> None:
    slow = SlowPasswords()
    answers: list[User | Refusal] = []
    UserStore(slow).authenticate("nobody", b"secret", HERE, answers.append)
    assert slow.asked == [slow.nobody]
    slow.answers[0](Verdict.RIGHT)
    assert answers == [Refusal.WRONG]


@pytest.mark.parametrize("change", ["password", "deletion"])
def test_a_user_who_changes_while_the_password_is_checked(change: str) -> None:
    slow = SlowPasswords()
    store = UserStore(slow)
    store.add(User("ann", hash_password(b"old", b"salt")))
    answers: list[User | Refusal] = []
    store.authenticate("ann", b"old", HERE, answers.append)
    if change == "password":
        store.add(User("ann", hash_password(b"new", b"salt")))
    else:
        store.remove("ann")
    slow.answers[0](Verdict.RIGHT)
    assert answers == [Refusal.WRONG]


def test_too_many_logins_are_told_apart_from_wrong_ones() -> None:
    slow = SlowPasswords()
    answers: list[User | Refusal] = []
    UserStore(slow).authenticate("ann", b"x", HERE, answers.append)
    slow.answers[0](Verdict.BUSY)
    assert answers == [Refusal.BUSY]


def test_limits_below_zero_are_none() -> None:
    user = User("ann", hash_password(b"x", b"salt"), limits={"max-connections": -1})
    assert user.limit("max-connections") is None
    assert user.limit("max-channels") is None
    capped = User("ann", user.password, limits={"max-channels": 0})
    assert capped.limit("max-channels") == 0


@pytest.mark.parametrize(
    ("tags", "user_id", "passes"),
    [
        ((), None, True),
        ((), b"me", True),
        ((), b"you", False),
        ((), b"", False),
        ((), b"\xff", False),
        (("administrator",), b"you", False),
        ((IMPERSONATOR,), b"you", True),
    ],
)
def test_nobody_publishes_in_the_name_of_another(
    tags: tuple[str, ...], user_id: bytes | None, passes: bool
) -> None:
    user = User("me", hash_password(b"", b"salt"), tags)
    if passes:
        check_user_id(user, user_id)
        return
    with pytest.raises(ChannelException, match="authenticated user was 'me'") as refused:
        check_user_id(user, user_id)
    assert refused.value.code is ReplyCode.PRECONDITION_FAILED
