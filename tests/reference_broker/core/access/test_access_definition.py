"""Definitions of virtual hosts, users and permissions: decoding reverses encoding, or raises."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reference_broker.core.access import access_definition as codec
from reference_broker.core.access.passwords import PasswordHash
from reference_broker.core.access.permission import Permission, TopicPermission
from reference_broker.core.access.users import User
from reference_broker.core.base.vhost_info import VHostInfo
from reference_broker.errors import Corrupt

TEXT = st.text(st.characters(codec="utf-8"), max_size=9)
TAGS = st.lists(TEXT, max_size=3).map(tuple)
LIMITS = st.dictionaries(TEXT, st.integers(-(2**31), 2**31), max_size=3)


def read(kind: str, key: str, value: bytes) -> tuple[tuple[str, ...], dict[str, Any]]:
    ((names, fields),) = codec.stored({"another/x": b"", key: value}, kind)
    return names, fields


@given(st.lists(st.text(max_size=9), min_size=1, max_size=3))
def test_names_come_back_from_a_key_whatever_is_in_them(names: list[str]) -> None:
    try:
        "".join(names).encode(errors="surrogateescape")
    except UnicodeEncodeError:
        return
    key = codec.key_of(codec.PERMISSION, *names)
    assert read(codec.PERMISSION, key, codec.encode_set_up())[0] == tuple(names)


@given(TEXT, TAGS, st.booleans(), TEXT, LIMITS)
def test_virtual_hosts(
    description: str, tags: tuple[str, ...], tracing: bool, type: str, limits: dict[str, int]
) -> None:
    info = VHostInfo(description, tags, tracing, type, limits)
    assert codec.decode_vhost(read(codec.VHOST, "vhost/v", codec.encode_vhost(info))[1]) == info


def test_an_earlier_versions_virtual_host_has_the_defaults() -> None:
    assert codec.decode_vhost({}) == VHostInfo()


@given(TEXT, st.binary(max_size=40), TAGS, st.booleans(), LIMITS)
def test_users(
    algorithm: str, hashed: bytes, tags: tuple[str, ...], local: bool, limits: dict[str, int]
) -> None:
    user = User("u", PasswordHash(algorithm, hashed), tags, local, limits)
    fields = read(codec.USER, "user/u", codec.encode_user(user))[1]
    assert codec.decode_user("u", fields) == user


@pytest.mark.parametrize("fields", [{}, {"hash": "no hex"}, {"hash": 5}])
def test_a_hash_that_cannot_be_read_is_corrupt(fields: dict[str, Any]) -> None:
    with pytest.raises(Corrupt, match="user 'u'"):
        codec.decode_user("u", {"algorithm": "a", **fields})


def test_permissions() -> None:
    permission = Permission.of("^c", "^w", "")
    fields = read(codec.PERMISSION, "permission/v/u", codec.encode_permission(permission))[1]
    assert codec.decode_permission(fields).texts() == ("^c", "^w", "")
    topic = TopicPermission("{username}", ".*")
    fields = read(codec.TOPIC_PERMISSION, "topic_permission/v/u/x",
                  codec.encode_topic_permission(topic))[1]  # fmt: skip
    assert codec.decode_topic_permission(fields) == topic


def test_a_pattern_that_re2_does_not_take_is_corrupt() -> None:
    with pytest.raises(Corrupt, match="pattern"):
        codec.decode_permission({"configure": "(?=x)", "write": "", "read": ""})


@pytest.mark.parametrize("value", [b"", b"\x02", b"\x01", b"\x01\0\0\0\x05a"])
def test_another_layout_and_garbage_are_corrupt(value: bytes) -> None:
    with pytest.raises(Corrupt, match="definition of a user"):
        list(codec.stored({"user/u": value}, codec.USER))


def test_in_order_of_their_keys_and_of_one_kind() -> None:
    value = codec.encode_set_up()
    definitions = {"user/b": value, "user/a": value, "vhost/a": value, "~set_up": value}
    assert [names for names, _ in codec.stored(definitions, codec.USER)] == [("a",), ("b",)]
