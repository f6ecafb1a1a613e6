"""The watch of a connection, fed with octets of mqkit's codec."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from interop.chaos.confirm_watch import ConfirmWatch
from interop.chaos.facts import FactsFile, read
from mqkit import wire
from mqkit.wire import methods

Told = Callable[[], list[tuple[str, str]]]
FRAME_MAX = 131_072


@pytest.fixture
def watched(tmp_path: Path) -> tuple[ConfirmWatch, Told]:
    """A watch, and what it has told: facts with their message ids or texts."""
    facts = FactsFile(tmp_path / "facts")
    watch = ConfirmWatch(facts)
    watch.client_sent(b"AMQP\0\0\x09\x01")

    def told() -> list[tuple[str, str]]:
        facts.flush()
        return [(fact["fact"], fact.get("id") or fact["text"]) for fact in read(tmp_path / "facts")]

    return watch, told


def opened(watch: ConfirmWatch, channel: int = 1) -> None:
    watch.client_sent(wire.method_frame(channel, methods.ChannelOpen()))
    watch.client_sent(wire.method_frame(channel, methods.ConfirmSelect()))


def published(watch: ConfirmWatch, message_id: str, channel: int = 1, key: str = "work.1") -> None:
    properties = wire.Properties(message_id=message_id)
    method = methods.BasicPublish("chaos", key)
    watch.client_sent(wire.content_frames(channel, method, properties, b"x", FRAME_MAX))


def acked(watch: ConfirmWatch, tag: int, *, multiple: bool = False, channel: int = 1) -> None:
    watch.broker_sent(wire.method_frame(channel, methods.BasicAck(tag, multiple)))


def test_an_ack_is_told_with_the_id_of_its_message(watched: tuple[ConfirmWatch, Told]) -> None:
    watch, told = watched
    opened(watch)
    published(watch, "p1-0")
    published(watch, "p1-1")
    acked(watch, 2)
    assert told() == [("acked", "p1-1")]


def test_a_multiple_ack_is_for_all_up_to_it(watched: tuple[ConfirmWatch, Told]) -> None:
    watch, told = watched
    opened(watch)
    for number in range(4):
        published(watch, f"p1-{number}")
    acked(watch, 3, multiple=True)
    assert told() == [("acked", f"p1-{number}") for number in range(3)]


def test_channels_are_told_apart(watched: tuple[ConfirmWatch, Told]) -> None:
    watch, told = watched
    for channel in (1, 2):
        opened(watch, channel)
        published(watch, f"p{channel}-0", channel)
    acked(watch, 1, channel=2)
    assert told() == [("acked", "p2-0")]


def test_a_channel_that_is_opened_again_counts_from_one(
    watched: tuple[ConfirmWatch, Told],
) -> None:
    watch, told = watched
    opened(watch)
    published(watch, "p1-0")
    opened(watch)
    published(watch, "p1-1")
    acked(watch, 1)
    assert told() == [("acked", "p1-1")]


def test_a_returned_message_is_not_told_as_acked(watched: tuple[ConfirmWatch, Told]) -> None:
    watch, told = watched
    opened(watch)
    published(watch, "p1-0")
    properties = wire.Properties(message_id="p1-0")
    method = methods.BasicReturn(312, "NO_ROUTE", "", "work.1")
    watch.broker_sent(wire.content_frames(1, method, properties, b"x", FRAME_MAX))
    acked(watch, 1)
    assert told() == [("returned", "p1-0")]


def test_a_message_that_is_published_again_after_its_return_may_be_acked(
    watched: tuple[ConfirmWatch, Told],
) -> None:
    watch, told = watched
    test_a_returned_message_is_not_told_as_acked(watched)
    published(watch, "p1-0")
    acked(watch, 2)
    assert told()[-1] == ("acked", "p1-0")


def test_the_retry_of_a_message_is_told_apart_by_its_key(
    watched: tuple[ConfirmWatch, Told], tmp_path: Path
) -> None:
    watch, told = watched
    opened(watch)
    published(watch, "p1-0")
    published(watch, "p1-0", key="work.1.retry.1s")
    method = methods.BasicReturn(312, "NO_ROUTE", "", "work.1.retry.1s")
    properties = wire.Properties(message_id="p1-0")
    watch.broker_sent(wire.content_frames(1, method, properties, b"x", FRAME_MAX))
    acked(watch, 2, multiple=True)
    assert told() == [("returned", "p1-0"), ("acked", "p1-0")]
    keys = [fact["key"] for fact in read(tmp_path / "facts")]
    assert keys == ["work.1.retry.1s", "work.1"]


def test_a_nack_and_a_close_are_told(watched: tuple[ConfirmWatch, Told]) -> None:
    watch, told = watched
    opened(watch)
    published(watch, "p1-0")
    watch.broker_sent(wire.method_frame(1, methods.BasicNack(1)))
    watch.broker_sent(wire.method_frame(1, methods.ChannelClose(404, "no exchange", 60, 40)))
    assert told() == [("nacked", "p1-0"), ("closed", "no exchange")]


def test_deliveries_and_messages_of_others_are_not_told(
    watched: tuple[ConfirmWatch, Told],
) -> None:
    watch, told = watched
    opened(watch)
    published(watch, "q-0")
    acked(watch, 1)
    method = methods.BasicDeliver("tag", 1, False, "", "work.1")
    properties = wire.Properties(message_id="p1-0")
    watch.broker_sent(wire.content_frames(1, method, properties, b"x", FRAME_MAX))
    assert told() == []


def test_the_connection_that_publishes_is_known_by_its_name(
    watched: tuple[ConfirmWatch, Told],
) -> None:
    watch, _ = watched
    assert not watch.is_publishing
    client = {"connection_name": "chaos (publishing)"}
    start_ok = methods.ConnectionStartOk(client, "PLAIN", b"\0guest\0guest", "en_US")
    watch.client_sent(wire.method_frame(0, start_ok))
    assert watch.is_publishing
