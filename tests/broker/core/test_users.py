"""Logins: wrong in any way is refused the same way, and guest is for this machine only."""

from __future__ import annotations

import pytest

from reference_broker.core.peer import Peer
from reference_broker.core.users import (
    PasswordHash,
    User,
    UserStore,
    hash_password,
    verify_password,
)

HERE = Peer("127.0.0.1", 1, "127.0.0.1", 5672)
ELSEWHERE = Peer("192.0.2.7", 1, "127.0.0.1", 5672)


@pytest.fixture
def users() -> UserStore:
    store = UserStore()
    store.add(User("guest", hash_password(b"guest", b"salt"), loopback_only=True))
    store.add(User("ann", hash_password("pässword".encode(), b"other"), ("administrator",)))
    return store


def test_a_right_login_gives_the_user(users: UserStore) -> None:
    user = users.authenticate("ann", "pässword".encode(), ELSEWHERE)
    assert user is not None
    assert user.tags == ("administrator",)


@pytest.mark.parametrize(
    ("name", "password"), [("ann", b"x"), ("bob", b"x"), ("", b""), ("", b"nobody")]
)
def test_a_wrong_login_gives_nothing(users: UserStore, name: str, password: bytes) -> None:
    assert users.authenticate(name, password, HERE) is None


def test_guest_is_judged_by_the_address_of_the_socket(users: UserStore) -> None:
    assert users.authenticate("guest", b"guest", HERE) is not None
    assert users.authenticate("guest", b"guest", ELSEWHERE) is None


def test_the_same_password_has_another_hash_with_another_salt() -> None:
    one, two = hash_password(b"x", b"1"), hash_password(b"x", b"2")
    assert one.digest != two.digest
    assert verify_password(one, b"x")
    assert not verify_password(one, b"y")


def test_no_repr_shows_a_hash() -> None:
    user = User("ann", PasswordHash(b"CANARYSALT", b"CANARYDIGEST"))
    assert "CANARY" not in repr(user)


def test_a_verifier_of_its_own_is_asked_even_for_a_user_who_is_not_there() -> None:
    asked: list[bytes] = []

    def verify(stored: PasswordHash, password: bytes) -> bool:
        asked.append(password)
        return True

    store = UserStore(verify)
    assert store.authenticate("nobody", b"secret", HERE) is None
    assert asked == [b"secret"]


@pytest.mark.parametrize(
    ("host", "loopback"),
    [
        ("127.0.0.1", True),
        ("127.8.9.10", True),
        ("::1", True),
        ("::ffff:127.0.0.1", True),
        ("::ffff:192.0.2.1", False),
        ("192.0.2.1", False),
        ("fe80::1", False),
        ("localhost", False),
        ("", False),
    ],
)
def test_what_is_loopback(host: str, loopback: bool) -> None:
    assert Peer(host, 1, "127.0.0.1", 2).is_loopback is loopback
