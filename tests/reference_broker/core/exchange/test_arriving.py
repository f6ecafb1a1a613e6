"""Messages on their way into their queues in portions: a repetition waits for the end of the first
one, and is seen then."""

from __future__ import annotations

from typing import Any

import pytest

from mqkit.wire import Properties, content_frames, encode_header, method_frame
from mqkit.wire.methods import BasicAck, BasicNack, BasicPublish, TxCommit, TxSelect
from reference_broker.core.exchange.arriving import Arriving
from reference_broker.core.vhost.vhost import VHost
from reference_broker.core.work.until import NotYet
from reference_broker.testing.lone_broker import FRAME_MAX, LoneBroker, LoneClient


def header(**properties: Any) -> bytes:
    return encode_header(0, Properties(**properties))


def test_a_message_is_known_by_its_id_and_by_its_header_until_it_has_arrived() -> None:
    arriving = Arriving()
    headers = {"x-deduplication-header": 7}
    keys = arriving.begin(header(message_id="a", headers=headers))
    assert len(arriving) == len(keys) == 2
    asked: list[str] = []
    for again in (header(message_id="a"), header(headers=headers)):
        with pytest.raises(NotYet) as wait:
            arriving.require_none(again)
        wait.value.until.then(lambda: asked.append("again"))
    for other in (
        header(message_id="b"),
        header(headers={"x-deduplication-header": "7"}),
        header(),
    ):
        arriving.require_none(other)
    assert asked == []
    arriving.end(keys)
    assert (asked, len(arriving)) == (["again", "again"], 0)
    arriving.require_none(header(message_id="a"))


def test_one_that_is_on_its_way_already_ends_with_the_first() -> None:
    arriving = Arriving()
    first = arriving.begin(header(message_id="a"))
    assert arriving.begin(header(message_id="a")) == ()
    arriving.end(())
    assert len(arriving) == 1
    arriving.end(first)
    assert len(arriving) == 0


# The whole: a turn that has no time for a queue and its window

FEW_UNITS = 3
"""Enough for two queues that are new; not for two and a window."""


class Shop:
    """A fanout to ``plain`` and to ``once``, which has a window."""

    def __init__(self, **window: Any) -> None:
        self.lone = LoneBroker()
        vhost = self.lone.broker.vhosts["/"]
        vhost.declare_exchange("all", "fanout", durable=True)
        arguments = {"x-message-id-window": 10, "x-message-id-window-ms": 10_000, **window}
        for name, its in (("plain", {}), ("once", arguments)):
            vhost.declare_queue(name, durable=True, arguments=its)
            vhost.bind("all", name, "", destination_is_queue=True)
        self.first, self.second = self.lone.client(), self.lone.client()

    @property
    def vhost(self) -> VHost:
        return self.lone.broker.vhosts["/"]

    def begin_with(self, message: bytes) -> None:
        """Turns are short from now on, and the first client's message is on its way in the next."""
        self.lone.broker.budget.units = FEW_UNITS
        self.lone.broker.budget.refill()
        self.first.feed(message)
        assert len(self.vhost.arriving) == 1, "it was stored in one turn: the test has no subject"
        self.lone.broker.budget.refill()

    def ready(self) -> dict[str, int]:
        return {name: self.vhost.queues[name].ready for name in ("plain", "once")}


def published(message_id: str, **headers: Any) -> bytes:
    properties = Properties(delivery_mode=2, message_id=message_id, headers=headers or None)
    return content_frames(1, BasicPublish("all", ""), properties, b"m", FRAME_MAX)


def answers(client: LoneClient) -> list[type]:
    return [type(it) for it in client.methods() if isinstance(it, BasicAck | BasicNack)]


@pytest.mark.parametrize("headers", [{}, {"CC": ["other"]}])
def test_a_repetition_over_another_connection_waits_and_is_confirmed(headers: Any) -> None:
    shop = Shop()
    for client in (shop.first, shop.second):
        client.select_confirms()
    shop.begin_with(published("a", **headers))
    shop.second.feed(published("a", **headers))
    shop.lone.complete()
    assert shop.ready() == {"plain": 2, "once": 1}
    assert (answers(shop.first), answers(shop.second)) == ([BasicAck], [BasicAck])
    assert len(shop.vhost.arriving) == 0


def test_one_that_is_refused_does_not_confirm_its_repetition() -> None:
    shop = Shop(**{"x-max-length": 0, "x-overflow": "reject-publish"})
    for client in (shop.first, shop.second):
        client.select_confirms()
    shop.begin_with(published("a"))
    shop.second.feed(published("a"))
    shop.lone.complete()
    assert (answers(shop.first), answers(shop.second)) == ([BasicNack], [BasicNack])


def test_a_repetition_in_a_transaction_is_dropped_at_its_commit() -> None:
    shop = Shop()
    shop.first.select_confirms()
    shop.second.send(1, TxSelect())
    shop.second.send_bytes(published("a"))
    shop.begin_with(published("a"))
    shop.second.feed(method_frame(1, TxCommit()))
    shop.lone.complete()
    assert shop.ready() == {"plain": 2, "once": 1}


def test_another_connection_s_loss_does_not_keep_it_on_its_way() -> None:
    shop = Shop()
    shop.second.select_confirms()
    shop.begin_with(published("a"))
    shop.first.disconnect()
    shop.second.feed(published("a"))
    shop.lone.complete()
    assert shop.ready()["once"] == 1
    assert answers(shop.second) == [BasicAck]
