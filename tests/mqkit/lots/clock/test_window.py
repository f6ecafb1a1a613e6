"""A window of a lot, decided about."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from mqkit.lots.clock.due import Action
from mqkit.lots.clock.window import WINDOW, WINDOW_OCTETS, Window, ids_of
from mqkit.message import Delivery, Properties
from mqkit.retry.headers import PARKED_AT, REPLAYS
from mqkit.retry.parked import ParkedMessage
from mqkit.topology.lot_model import ArchiveModel, LotModel, ReplayModel

NOW = datetime(2026, 11, 24, tzinfo=UTC)
LOT = LotModel("q.parked", ReplayModel(3_600_000, 3), ArchiveModel(86_400_000, "x.jsonl.gz"))


def parked(ago_h: float | None, replays: int = 0, body: bytes = b"") -> ParkedMessage:
    headers: dict[str, object] = {REPLAYS: replays}
    if ago_h is not None:
        headers[PARKED_AT] = (NOW - timedelta(hours=ago_h)).isoformat()
    properties = Properties(message_id=None if ago_h is None else f"{ago_h}", headers=headers)
    return ParkedMessage.of(
        Delivery("", LOT.name, body, properties, 1, redelivered=False), LOT.name
    )


def test_each_by_its_own_time() -> None:
    window = Window()
    messages = [parked(0.5), parked(2), parked(2, 3), parked(25), parked(None)]
    decided = [window.take(LOT, message, NOW) for message in messages]
    assert [(due.action, is_undated) for due, is_undated in decided] == [
        (Action.LEAVE, False),
        (Action.REPLAY, False),
        (Action.LEAVE, False),
        (Action.ARCHIVE, False),
        (Action.LEAVE, True),
    ]
    assert (window.back, window.archive) == ([messages[1]], [messages[3]])
    assert ids_of(messages) == ("0.5", "2", "2", "25", "")


def test_it_is_bounded_in_messages_and_octets() -> None:
    window = Window()
    for number in range(WINDOW):
        assert (window.messages, window.is_full) == (number, False)
        window.take(LOT, parked(0.5), NOW)
    assert window.is_full
    large = Window()
    large.take(LOT, parked(0.5, body=bytes(WINDOW_OCTETS - 1)), NOW)
    assert not large.is_full
    large.take(LOT, parked(0.5, body=b"x"), NOW)
    assert large.is_full
