"""Routes of dead letters: kept while the queue's limits are the same."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from mqkit.wire import Properties, encode_header
from reference_broker.core.dead_letter.dead_letter_route import (
    PIECES_MAX,
    REPEATED_HEADER_BYTES_MAX,
    SHORTSTR_BYTES_MAX,
    DeadLetterRoute,
    dead_letter_route_of,
)
from reference_broker.core.dead_letter.first_death_header import (
    first_death,
    pieces_of,
    with_first_death,
)
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


def route_of(**arguments: Any) -> DeadLetterRoute:
    return dead_letter_route_of(QueueHost(RecordingJournal()).declare("q", **arguments))


@pytest.mark.parametrize(
    ("arguments", "route", "key"),
    [
        ({"dead_letter_exchange": "dlx"}, b"\x03dlx\x02\xffk", "\udcffk"),
        ({"dead_letter_exchange": "", "dead_letter_routing_key": "z"}, b"\0\1z", "z"),
    ],
)
def test_like_deaths_know_where_their_letters_go(
    arguments: dict[str, str], route: bytes, key: str
) -> None:
    like = route_of(**arguments).like_deaths(b"\2ex\2\xffk", EXPIRED, 1_999)
    assert (like.route, like.key, like.exchange) == (route, key, b"ex")
    assert like.death == first_death(pieces_of("q", EXPIRED, b"ex"), 1_999, b"\xffk")


def test_deaths_are_alike_by_route_reason_and_second() -> None:
    way = route_of(dead_letter_exchange="dlx")
    like = way.like_deaths(b"\1x\1k", EXPIRED, 1_000)
    assert way.like_deaths(b"\1x\1k", EXPIRED, 1_999) is like
    for other in (
        way.like_deaths(b"\1x\1l", EXPIRED, 1_000),
        way.like_deaths(b"\1x\1k", REJECTED, 1_000),
        way.like_deaths(b"\1x\1k", EXPIRED, 2_000),
    ):
        assert other is not like
        assert other.death != like.death


def test_one_header_makes_one_letter() -> None:
    like = route_of(dead_letter_exchange="dlx").like_deaths(b"\1x\1k", EXPIRED, 1_000)
    header, other = (encode_header(1, Properties(app_id=name)) for name in "ab")
    letter = like.letter_of(header, 9_999)
    assert letter == with_first_death(header, like.death, 9_999)
    assert like.letter_of(bytes(bytearray(header)), 9_999) is letter
    assert like.letter_of(other, 9_999) == with_first_death(other, like.death, 9_999) != letter
    assert like.letter_of(header, 9_999) == letter


@pytest.mark.parametrize("size", [REPEATED_HEADER_BYTES_MAX, REPEATED_HEADER_BYTES_MAX + 1])
def test_no_long_header_is_remembered(size: int) -> None:
    like = route_of(dead_letter_exchange="dlx").like_deaths(b"\1x\1k", EXPIRED, 1_000)
    header = encode_header(1, Properties(app_id="a" * (size - 15)))
    assert len(header) == size
    remembered = like.letter_of(header, 9_999) is like.letter_of(header, 9_999)
    assert remembered == (size == REPEATED_HEADER_BYTES_MAX)


def test_what_died_before_is_no_letter_here() -> None:
    like = route_of(dead_letter_exchange="dlx").like_deaths(b"\1x\1k", EXPIRED, 1_000)
    header = encode_header(1, Properties(headers={"CC": []}))
    assert like.letter_of(header, 9_999) is like.letter_of(header, 9_999) is None
