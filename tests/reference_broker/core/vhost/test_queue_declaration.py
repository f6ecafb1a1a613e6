"""queue_declaration: RabbitMQ's refusals, word by word, and nothing changed by any of them."""

from __future__ import annotations

from typing import Any

import pytest

from reference_broker.core.base.ids import Ids
from reference_broker.core.journal.journal import MemoryJournal
from reference_broker.core.message.content import Content
from reference_broker.core.message.header import facts_of
from reference_broker.core.queue.enqueue import enqueue
from reference_broker.core.vhost.vhost import VHost, VHostParts
from reference_broker.core.work.budget import Budget
from reference_broker.errors import ChannelException

ME = object()
OTHER_CONNECTION = object()

LOCKED = (
    "cannot obtain exclusive access to locked queue '{}' in vhost '/'. It could be originally"
    " declared on another connection or the exclusive property value does not match that of the"
    " original declaration."
)
OTHER = "inequivalent arg '{}' for queue 'n' in vhost '/': received {}"
HEADER = b"\x00\x3c" + bytes(12)


@pytest.fixture
def vhost() -> VHost:
    vhost = VHost("/", VHostParts(MemoryJournal(), Ids(1)))
    vhost.declare_queue("e", exclusive=True, owner=ME)
    vhost.declare_queue("n", owner=ME, arguments={"x-max-length": 5})
    return vhost


def put(vhost: VHost, name: str) -> None:
    content = Content(b"\x00\x00", HEADER, b"body")
    enqueue((vhost.queues[name],), content, facts_of(HEADER), vhost)


@pytest.mark.parametrize(
    ("name", "options", "text"),
    [
        ("nope", {"passive": True}, "no queue 'nope' in vhost '/'"),
        ("", {"passive": True}, "no queue '' in vhost '/'"),
        ("amq.foo", {"passive": True}, "no queue 'amq.foo' in vhost '/'"),
        ("amq.foo", {}, "queue name 'amq.foo' contains reserved prefix 'amq.*'"),
        (
            "amq.foo",
            {"arguments": {"x-max-length": -1}},
            "queue name 'amq.foo' contains reserved prefix 'amq.*'",
        ),
        ("e", {}, LOCKED.format("e")),
        ("e", {"durable": True}, LOCKED.format("e")),
        ("e", {"owner": OTHER_CONNECTION, "exclusive": True}, LOCKED.format("e")),
        ("e", {"owner": OTHER_CONNECTION, "passive": True}, LOCKED.format("e")),
        ("e", {"owner": None}, LOCKED.format("e")),
        ("n", {"exclusive": True, "durable": True}, LOCKED.format("n")),
        (
            "n",
            {"durable": True, "auto_delete": True},
            OTHER.format("durable", "'true' but current is 'false'"),
        ),
        (
            "n",
            {"auto_delete": True},
            OTHER.format("auto_delete", "'true' but current is 'false'"),
        ),
        ("n", {"arguments": {"x-max-length": -1}}, OTHER.format(
            "x-max-length", "'-1' but current is '5'")),
        (
            "n",
            {"arguments": {"x-max-length": 5, "x-dead-letter-exchange": 5}},
            OTHER.format(
                "x-dead-letter-exchange",
                "the value '5' of type 'signedint' but current is none",
            ),
        ),
        (
            "new",
            {"arguments": {"x-max-length": -1}},
            "invalid arg 'x-max-length' for queue 'new' in vhost '/': {value_negative,-1}",
        ),
        (
            "new",
            {"arguments": {"x-queue-type": "classic", "x-delivery-limit": 5}},
            "invalid arg 'x-delivery-limit' for queue 'new' in vhost '/'"
            " of queue type rabbit_classic_queue",
        ),
    ],
)  # fmt: skip
def test_refused_declarations(vhost: VHost, name: str, options: dict[str, Any], text: str) -> None:
    before = vhost.topology_version, list(vhost.queues), vhost.journal.tail
    with pytest.raises(ChannelException) as caught:
        vhost.declare_queue(name, **{"owner": ME, **options})
    assert caught.value.text == text
    assert (vhost.topology_version, list(vhost.queues), vhost.journal.tail) == before


def test_arguments_that_can_not_be_stored_are_refused_before_anything_is_changed(
    vhost: VHost,
) -> None:
    before = vhost.topology_version, vhost.journal.tail
    with pytest.raises(ChannelException, match="invalid arguments"):
        vhost.declare_queue("new", durable=True, arguments={"x-expires": 1, "a": 2**70})
    assert "new" not in vhost.queues
    assert (vhost.topology_version, vhost.journal.tail) == before
    vhost.deadlines.fire(10**12, Budget())  # the refused queue's own x-expires does no harm


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("e", {"exclusive": True}),
        ("e", {"passive": True}),
        ("n", {"arguments": {"x-max-length": 5, "x-queue-type": "classic", "zzz": 1}}),
        ("n\r\n", {"passive": True, "durable": True, "exclusive": True}),
        ("n", {"passive": True, "owner": OTHER_CONNECTION, "arguments": {"x-max-length": -1}}),
    ],
)
def test_the_same_queue_again(vhost: VHost, name: str, options: dict[str, Any]) -> None:
    before = vhost.topology_version
    assert vhost.declare_queue(name, **{"owner": ME, **options}).name == name.strip()
    assert vhost.topology_version == before


def test_server_named(vhost: VHost) -> None:
    one = vhost.declare_queue("", exclusive=True, owner=ME)
    other = vhost.declare_queue("", exclusive=True, owner=ME)
    assert one is not other
    assert one.name.startswith("amq.gen-")
    assert len(one.name) == len("amq.gen-") + 22
    with pytest.raises(ChannelException, match="contains reserved prefix"):
        vhost.declare_queue(one.name, exclusive=True, owner=ME)
    assert vhost.declare_queue(one.name, passive=True, owner=ME) is one


def test_access_by_another_connection(vhost: VHost) -> None:
    assert vhost.queue_for("e", ME).name == "e"
    assert vhost.queue_for("n", OTHER_CONNECTION).name == "n"
    for use in (
        lambda: vhost.queue_for("e", OTHER_CONNECTION),
        lambda: vhost.delete_queue("e", owner=OTHER_CONNECTION),
        lambda: vhost.delete_queue("e"),
    ):
        with pytest.raises(ChannelException) as caught:
            use()
        assert caught.value.text == LOCKED.format("e")
        assert caught.value.code == 405
    with pytest.raises(ChannelException) as caught:
        vhost.queue_for("nope", ME)
    assert caught.value.reply_text == "NOT_FOUND - no queue 'nope' in vhost '/'"


def test_conditions_of_deletion(vhost: VHost) -> None:
    put(vhost, "n")
    with pytest.raises(ChannelException) as caught:
        vhost.delete_queue("n", if_empty=True)
    assert caught.value.reply_text == "PRECONDITION_FAILED - queue 'n' in vhost '/' not empty"
    lease = vhost.queues["n"].get(ME)
    assert lease is not None
    put(vhost, "n")
    counts: list[int] = []
    vhost.delete_queue("n", if_unused=True, answer=counts.append)
    vhost.delete_queue("n", if_unused=True, if_empty=True, answer=counts.append)
    assert counts == [1, 0]


def test_unacked_messages_do_not_count_against_if_empty(vhost: VHost) -> None:
    put(vhost, "n")
    queue = vhost.queues["n"]
    lease = queue.get(ME)
    assert lease is not None
    counts: list[int] = []
    vhost.delete_queue("n", if_empty=True, answer=counts.append)
    assert counts == [0]
    queue.ack(lease)
    assert queue.stale_settlements == 1


def test_durable_ones_are_journaled_and_exclusive_ones_are_not(vhost: VHost) -> None:
    before = vhost.journal.tail
    vhost.declare_queue("d", durable=True)
    vhost.declare_queue("d", durable=True)
    assert vhost.journal.tail == before + 1
    vhost.declare_queue("ed", durable=True, exclusive=True, owner=ME)
    vhost.declare_queue("t")
    assert vhost.journal.tail == before + 1
