"""reference_broker.core.vhost.sender_selected: more keys, each queue once, and no BCC left."""

from __future__ import annotations

import pytest

from mqkit.wire import Properties, Typed, decode_header, encode_header
from reference_broker.core.access.users import User, UserStore, hash_password
from reference_broker.core.broker import Broker
from reference_broker.core.journal.journal import MemoryJournal
from reference_broker.core.message.header import COPIES_MARK
from reference_broker.core.vhost.method_access import Access
from reference_broker.core.vhost.sender_selected import COPIES_MAX, COPIES_PER_UNIT, resolve_all
from reference_broker.core.vhost.vhost import VHost
from reference_broker.errors import ChannelException


@pytest.fixture
def vhost() -> VHost:
    vhost = Broker(MemoryJournal(), UserStore(), version="1").vhosts["/"]
    for name in ("a", "b", "c"):
        vhost.declare_queue(name)
    return vhost


def header(**headers: object) -> bytes:
    return encode_header(0, Properties(headers=headers, message_id="m"))


def found(vhost: VHost, content_header: bytes) -> tuple[list[str], bytes]:
    users = UserStore()
    users.add(User("u", hash_password(b"u", b"salt")))
    control = Broker(MemoryJournal(), users, version="1").access
    access = Access(control, "u", "/")
    queues, kept = resolve_all(vhost, vhost.exchanges[""], "a", content_header, access)
    return [queue.name for queue in queues], kept


def test_every_key_counts_and_every_queue_gets_it_once(vhost: VHost) -> None:
    names, kept = found(vhost, header(CC=["b", "a", "nobody", 5], BCC=["c", "b"]))
    assert names == ["a", "b", "c"]
    properties = decode_header(kept)[1]
    assert properties.headers == {"CC": ["b", "a", "nobody", 5]}
    assert properties.message_id == "m"


def test_a_header_without_bcc_keeps_its_bytes(vhost: VHost) -> None:
    content_header = header(CC=["b"], long=Typed("l", 5))
    assert found(vhost, content_header) == (["a", "b"], content_header)


def test_each_key_counts_as_work(vhost: VHost) -> None:
    keys = [f"nobody {number}" for number in range(COPIES_MAX)]
    vhost.budget.left = 0
    found(vhost, header(CC=keys))
    assert -vhost.budget.left >= COPIES_MAX // COPIES_PER_UNIT


def test_no_headers_no_copies(vhost: VHost) -> None:
    plain = encode_header(0, Properties(message_id="m"))
    assert COPIES_MARK not in plain
    assert found(vhost, plain) == (["a"], plain)


def test_what_is_no_array_is_refused(vhost: VHost) -> None:
    with pytest.raises(ChannelException, match='unacceptable_type_in_header,"BCC",bool'):
        found(vhost, header(BCC=True))


def test_the_bound_on_copies(vhost: VHost) -> None:
    half = ["b"] * (COPIES_MAX // 2)
    assert found(vhost, header(CC=half, BCC=half))[0] == ["a", "b"]
    with pytest.raises(ChannelException, match=f"at most {COPIES_MAX}"):
        found(vhost, header(CC=half, BCC=[*half, "b"]))
