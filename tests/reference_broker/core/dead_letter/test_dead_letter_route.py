"""Routes of dead letters: kept while the queue's limits are the same."""

from __future__ import annotations

from dataclasses import replace

from reference_broker.core.dead_letter.dead_letter_route import (
    PIECES_MAX,
    SHORTSTR_BYTES_MAX,
    dead_letter_route_of,
)
from reference_broker.core.dead_letter.first_death_header import pieces_of
from reference_broker.core.queue.death import DeathReason
from reference_broker.testing.lone_queue import QueueHost
from reference_broker.testing.recording_journal import RecordingJournal

EXPIRED, REJECTED = DeathReason.EXPIRED, DeathReason.REJECTED


def test_exchange_and_key_are_those_of_the_limits() -> None:
    host = QueueHost(RecordingJournal())
    way = dead_letter_route_of(
        host.declare("q", dead_letter_exchange="dlx", dead_letter_routing_key="key")
    )
    assert (way.exchange, way.key) == ("dlx", "key")
    assert way.route == b"\x03dlx\x03key"


def test_without_a_key_the_messages_own_stays() -> None:
    way = dead_letter_route_of(QueueHost(RecordingJournal()).declare("q", dead_letter_exchange=""))
    assert (way.exchange, way.exchange_octets, way.key, way.route) == ("", b"\0", None, b"")


def test_a_name_that_no_frame_can_hold_is_cut() -> None:
    long = "k" * (SHORTSTR_BYTES_MAX + 1)
    queue = QueueHost(RecordingJournal()).declare(
        "q", dead_letter_exchange=long, dead_letter_routing_key=long
    )
    way = dead_letter_route_of(queue)
    assert way.exchange_octets == b"\xff" + b"k" * SHORTSTR_BYTES_MAX
    assert way.route == 2 * way.exchange_octets
    assert (way.exchange, way.key) == (long, long)


def test_it_is_made_once_and_anew_when_the_limits_change() -> None:
    queue = QueueHost(RecordingJournal()).declare("q", dead_letter_exchange="one")
    way = dead_letter_route_of(queue)
    assert dead_letter_route_of(queue) is way
    queue.limits = replace(queue.limits, dead_letter_exchange="two")
    assert dead_letter_route_of(queue).exchange == "two"


def test_pieces_are_told_apart_by_reason_and_exchange() -> None:
    way = dead_letter_route_of(
        QueueHost(RecordingJournal()).declare("q", dead_letter_exchange="dlx")
    )
    for reason in (EXPIRED, REJECTED):
        for exchange in (b"a", b"b"):
            assert way.pieces(reason, exchange) == pieces_of("q", reason, exchange)
    assert way.pieces(EXPIRED, b"a") is way.pieces(EXPIRED, b"a")


def test_the_pieces_kept_are_bounded() -> None:
    way = dead_letter_route_of(
        QueueHost(RecordingJournal()).declare("q", dead_letter_exchange="dlx")
    )
    first = way.pieces(EXPIRED, b"0")
    for number in range(1, PIECES_MAX):
        way.pieces(EXPIRED, b"%d" % number)
    assert way.pieces(EXPIRED, b"0") is first
    way.pieces(EXPIRED, b"one more")
    again = way.pieces(EXPIRED, b"0")
    assert again == first
    assert again is not first
