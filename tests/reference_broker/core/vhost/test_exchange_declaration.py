"""exchange_declaration: RabbitMQ's refusals, word by word, and nothing changed by any of them."""

from __future__ import annotations

from typing import Any

import pytest

from reference_broker.core.base.ids import Ids
from reference_broker.core.journal.journal import MemoryJournal
from reference_broker.core.vhost.vhost import VHost, VHostParts
from reference_broker.errors import ChannelException

VALUES_OF_NO_NAME: list[Any] = [[], ["direct"], {}, 5]

DEFAULT = "ACCESS_REFUSED - operation not permitted on the default exchange"
SYSTEM = "ACCESS_REFUSED - deletion of system exchange '{}' in vhost '/' not allowed"
OTHER = "PRECONDITION_FAILED - inequivalent arg '{}' for exchange '{}' in vhost '/': received {}"


@pytest.fixture
def vhost() -> VHost:
    vhost = VHost("/", VHostParts(MemoryJournal(), Ids(1)))
    vhost.declare_exchange("x", "direct")
    vhost.declare_exchange("hash", "x-consistent-hash", arguments={"hash-header": "id"})
    vhost.declare_exchange("y", "direct", arguments={"alternate-exchange": "foo"})
    return vhost


@pytest.mark.parametrize(
    ("name", "type", "options", "reply_text"),
    [
        ("nope", "", {"passive": True}, "NOT_FOUND - no exchange 'nope' in vhost '/'"),
        ("amq.foo", "", {"passive": True}, "NOT_FOUND - no exchange 'amq.foo' in vhost '/'"),
        ("", "direct", {}, DEFAULT),
        ("", "direct", {"passive": True}, DEFAULT),
        ("new", "nope", {}, "PRECONDITION_FAILED - unknown exchange type 'nope'"),
        ("new", "", {}, "PRECONDITION_FAILED - invalid exchange type ''"),
        ("new", "none", {}, "PRECONDITION_FAILED - invalid exchange type 'none'"),
        (
            "new",
            "x-consistent-hash",
            {"arguments": {"hash-header": "a", "hash-property": "message_id"}},
            "PRECONDITION_FAILED - hash-header and hash-property are mutually exclusive",
        ),
        (
            "new",
            "x-consistent-hash",
            {"arguments": {"hash-property": "foo"}},
            "PRECONDITION_FAILED - Unsupported property: foo",
        ),
        (
            "new",
            "x-consistent-hash",
            {"arguments": {"hash-header": 5}},
            "PRECONDITION_FAILED - Unsupported hash-header: 5",
        ),
        ("amq.foo", "nope", {}, "PRECONDITION_FAILED - unknown exchange type 'nope'"),
        ("x", "Direct", {}, "PRECONDITION_FAILED - unknown exchange type 'Direct'"),
        (
            "amq.foo",
            "direct",
            {},
            "ACCESS_REFUSED - exchange name 'amq.foo' contains reserved prefix 'amq.*'",
        ),
        (
            "amq.direct",
            "direct",
            {},
            OTHER.format("durable", "amq.direct", "'false' but current is 'true'"),
        ),
        (
            "amq.direct",
            "topic",
            {},
            OTHER.format("type", "amq.direct", "'topic' but current is 'direct'"),
        ),
        (
            "x",
            "direct",
            {"auto_delete": True, "internal": True},
            OTHER.format("auto_delete", "x", "'true' but current is 'false'"),
        ),
        (
            "x",
            "direct",
            {"internal": True},
            OTHER.format("internal", "x", "'true' but current is 'false'"),
        ),
        (
            "x",
            "direct",
            {"arguments": {"alternate-exchange": 5}},
            OTHER.format(
                "alternate-exchange", "x", "the value '5' of type 'signedint' but current is none"
            ),
        ),
        (
            "y",
            "direct",
            {"arguments": {"alternate-exchange": "bar"}},
            OTHER.format("alternate-exchange", "y", "'bar' but current is 'foo'"),
        ),
        (
            "y",
            "direct",
            {},
            OTHER.format(
                "alternate-exchange",
                "y",
                "none but current is the value 'foo' of type 'longstr'",
            ),
        ),
        (
            "new",
            "direct",
            {"arguments": {"alternate-exchange": 5}},
            "PRECONDITION_FAILED - invalid type 'signedint' for arg 'alternate-exchange'"
            " in exchange 'new' in vhost '/'",
        ),
        (
            "new",
            "direct",
            {"arguments": {"alternate-exchange": None}},
            "PRECONDITION_FAILED - invalid type 'void' for arg 'alternate-exchange'"
            " in exchange 'new' in vhost '/'",
        ),
        *(
            ("new", type, {"arguments": {argument: value}}, f"PRECONDITION_FAILED - {text}")
            for type, argument, text in (
                (
                    "x-delayed-message",
                    "x-delayed-type",
                    "Invalid argument, 'x-delayed-type' must bean existing exchnage type",
                ),
                ("x-consistent-hash", "hash-property", "Unsupported property: "),
            )
            for value in VALUES_OF_NO_NAME
        ),
        (
            "new",
            "direct",
            {"durable": True, "arguments": {"a": 2**70}},
            "PRECONDITION_FAILED - invalid arguments: ",
        ),
    ],
)
def test_refused_declarations(
    vhost: VHost, name: str, type: str, options: dict[str, Any], reply_text: str
) -> None:
    before = vhost.topology_version, list(vhost.exchanges), vhost.journal.tail
    with pytest.raises(ChannelException) as caught:
        vhost.declare_exchange(name, type, **options)
    assert caught.value.reply_text.startswith(reply_text)
    assert reply_text.endswith(": ") or caught.value.reply_text == reply_text
    assert (vhost.topology_version, list(vhost.exchanges), vhost.journal.tail) == before


@pytest.mark.parametrize(
    ("name", "type", "options"),
    [
        ("amq.direct", "direct", {"durable": True}),
        ("x", "direct", {"arguments": {"zzz": 5}}),
        ("x", "nope", {"passive": True, "durable": True, "arguments": {"a": 1}}),
        ("x\r\n", "direct", {}),
        ("y", "direct", {"arguments": {"alternate-exchange": b"foo"}}),
        ("hash", "x-consistent-hash", {"arguments": {"hash-property": "foo"}}),
    ],
)
def test_the_same_exchange_again(
    vhost: VHost, name: str, type: str, options: dict[str, Any]
) -> None:
    before = vhost.topology_version
    exchange = vhost.declare_exchange(name, type, **options)
    assert exchange is vhost.exchanges[name.strip()]
    assert vhost.topology_version == before


@pytest.mark.parametrize(
    ("name", "reply_text"),
    [
        ("", DEFAULT),
        ("amq.direct", SYSTEM.format("amq.direct")),
        ("amq.foo", SYSTEM.format("amq.foo")),
    ],
)
def test_refused_deletions(vhost: VHost, name: str, reply_text: str) -> None:
    with pytest.raises(ChannelException) as caught:
        vhost.delete_exchange(name)
    assert caught.value.reply_text == reply_text


def test_in_use_is_what_has_bindings_from_it(vhost: VHost) -> None:
    vhost.declare_queue("q")
    vhost.bind("x", "q", "k", destination_is_queue=True)
    vhost.bind("y", "x", "", destination_is_queue=False)
    with pytest.raises(ChannelException) as caught:
        vhost.delete_exchange("x", if_unused=True)
    assert caught.value.reply_text == "PRECONDITION_FAILED - exchange 'x' in vhost '/' in use"
    vhost.unbind("x", "q", "k", destination_is_queue=True)
    vhost.delete_exchange("x", if_unused=True)
    assert "x" not in vhost.exchanges


def test_deleting_what_is_not_there_is_fine(vhost: VHost) -> None:
    before = vhost.topology_version
    vhost.delete_exchange("nope")
    vhost.delete_exchange("nope", if_unused=True)
    assert vhost.topology_version == before


def test_publishing(vhost: VHost) -> None:
    vhost.declare_exchange("i", "fanout", internal=True)
    assert vhost.exchange_for_publish("").name == ""
    assert vhost.exchange_for_publish("x").name == "x"
    for name, reply_text in (
        ("i", "ACCESS_REFUSED - cannot publish to internal exchange 'i' in vhost '/'"),
        ("nope", "NOT_FOUND - no exchange 'nope' in vhost '/'"),
    ):
        with pytest.raises(ChannelException) as caught:
            vhost.exchange_for_publish(name)
        assert caught.value.reply_text == reply_text


def test_durable_ones_are_journaled_once(vhost: VHost) -> None:
    before = vhost.journal.tail
    vhost.declare_exchange("d", "topic", durable=True)
    assert vhost.journal.tail == before + 1
    vhost.declare_exchange("d", "topic", durable=True)
    vhost.declare_exchange("d", "topic", passive=True)
    assert vhost.journal.tail == before + 1
    vhost.delete_exchange("d")
    assert vhost.journal.tail == before + 2
