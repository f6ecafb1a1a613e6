"""The headers of dead letters: what is added and counted, and that the rest keeps its bytes."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mqkit.wire import Properties, Typed, decode_header, decode_table, encode_header
from reference_broker.core.dead_letter.x_death import cc_keys_of, with_x_death
from reference_broker.core.message.header import HEADERS, split_properties
from reference_broker.core.queue.death import DeathReason

WALL_MS = 1_700_000_000_999
TIME = datetime.fromtimestamp(1_700_000_000, UTC)


def die(
    header: bytes,
    queue: str = "q",
    reason: DeathReason = DeathReason.EXPIRED,
    *,
    keep_cc: bool = True,
    exchange: bytes = b"x",
    key: bytes = b"k",
    wall_ms: int = WALL_MS,
) -> bytes:
    return with_x_death(
        header,
        queue=queue,
        reason=reason,
        wall_ms=wall_ms,
        exchange=exchange,
        routing_key=key,
        keep_cc=keep_cc,
    )


def headers(header: bytes) -> dict[str, Any]:
    return decode_header(header)[1].headers or {}


def test_the_first_death_is_written_three_times() -> None:
    assert headers(die(encode_header(0, Properties()))) == {
        "x-death": [
            {
                "count": 1,
                "reason": "expired",
                "queue": "q",
                "time": TIME,
                "exchange": "x",
                "routing-keys": ["k"],
            }
        ],
        "x-first-death-exchange": "x",
        "x-first-death-queue": "q",
        "x-first-death-reason": "expired",
        "x-last-death-exchange": "x",
        "x-last-death-queue": "q",
        "x-last-death-reason": "expired",
    }


def test_the_entries_are_in_rabbitmqs_order() -> None:
    header = encode_header(0, Properties(expiration="5"))
    (death,) = headers(die(header))["x-death"]
    order = ["count", "reason", "queue", "time", "exchange", "routing-keys", "original-expiration"]
    assert list(death) == order


def test_count_is_a_long_and_time_a_timestamp() -> None:
    table = split_properties(die(encode_header(0, Properties())))[HEADERS]
    (death,) = decode_table(table, exact=True)[0]["x-death"]
    assert death["count"] == Typed("l", 1)
    assert death["time"] == TIME


def test_deaths_are_newest_first_and_counted_by_queue_and_reason() -> None:
    header = encode_header(0, Properties())
    rejected = DeathReason.REJECTED
    for queue, reason, when in (
        ("a", DeathReason.EXPIRED, 1),
        ("b", DeathReason.MAXLEN, 2),
        ("a", rejected, 3),
        ("a", DeathReason.EXPIRED, 4),
        ("a", DeathReason.EXPIRED, 5),
    ):
        header = die(header, queue, reason, key=b"%d" % when, wall_ms=when * 1000)
    result = headers(header)
    assert [
        (d["queue"], d["reason"], d["count"], d["time"].timestamp(), d["routing-keys"])
        for d in result["x-death"]
    ] == [
        ("a", "expired", 3, 1, ["1"]),
        ("a", "rejected", 1, 3, ["3"]),
        ("b", "maxlen", 1, 2, ["2"]),
    ]
    assert (result["x-first-death-queue"], result["x-first-death-reason"]) == ("a", "expired")
    assert (result["x-last-death-queue"], result["x-last-death-reason"]) == ("a", "expired")


def test_the_expiration_is_taken_away_and_noted_once() -> None:
    header = die(encode_header(0, Properties(expiration="500")))
    assert decode_header(header)[1].expiration is None
    header = die(header, "other")
    newest, oldest = headers(header)["x-death"]
    assert "original-expiration" not in newest
    assert oldest["original-expiration"] == "500"


def test_cc_keys_are_recorded_and_kept_or_not() -> None:
    header = encode_header(0, Properties(headers={"CC": ["one", b"\xff", 3], "a": 1}))
    assert cc_keys_of(header) == [b"one", b"\xff"]
    kept, left_out = die(header), die(header, keep_cc=False)
    for result in (kept, left_out):
        assert headers(result)["x-death"][0]["routing-keys"] == ["k", "one", b"\xff"]
    assert headers(kept)["CC"] == ["one", b"\xff", 3]
    assert "CC" not in headers(left_out)
    assert headers(left_out)["a"] == 1


@pytest.mark.parametrize("value", ["junk", 5, None, {"count": 1}])
def test_an_x_death_that_is_no_array_starts_over(value: object) -> None:
    header = encode_header(0, Properties(headers={"x-death": value, "x-first-death-queue": "zz"}))
    result = headers(die(header))
    assert [death["count"] for death in result["x-death"]] == [1]
    assert result["x-first-death-queue"] == "q"


def test_an_x_death_that_no_broker_wrote_starts_over() -> None:
    made_up = [{"queue": "q", "reason": "expired", "count": Typed("l", 7)}, {"queue": "other"}]
    table = {"x-death": made_up, "x-first-death-queue": "zz"}
    result = headers(die(encode_header(0, Properties(headers=table))))
    assert [(death["queue"], death["count"]) for death in result["x-death"]] == [("q", 1)]
    assert result["x-first-death-queue"] == "q"


def test_a_dead_letter_that_a_client_publishes_again_is_counted_on() -> None:
    dead = headers(die(encode_header(0, Properties())))
    result = headers(die(encode_header(0, Properties(headers=dead))))
    assert [death["count"] for death in result["x-death"]] == [2]


def test_an_x_death_of_odd_things_is_survived() -> None:
    odd = [5, {"queue": "q", "reason": "expired", "count": "many"}, {"queue": 7}]
    table = {"x-death": odd, "x-last-death-queue": "q"}
    result = headers(die(encode_header(0, Properties(headers=table))))
    assert result["x-death"] == [{"queue": "q", "reason": "expired", "count": 1}, 5, {"queue": 7}]


def test_a_table_that_cannot_be_read_is_replaced() -> None:
    good = encode_header(0, Properties(headers={"a": 1}, app_id="me"))
    broken = good.replace(b"\x01aI", b"\x01a!")
    assert broken != good
    result = die(broken)
    assert headers(result)["x-death"][0]["count"] == 1
    assert decode_header(result)[1].app_id == "me"


def test_names_that_are_no_text_pass_through_as_bytes() -> None:
    result = headers(die(encode_header(0, Properties()), key=b"\xff\xfe", exchange=b"\xfe"))
    assert result["x-death"][0]["routing-keys"] == [b"\xff\xfe"]
    assert result["x-first-death-exchange"] == b"\xfe"


values = st.recursive(
    st.none()
    | st.booleans()
    | st.text(max_size=9)
    | st.binary(max_size=9)
    | st.builds(Typed, st.just("s"), st.integers(-9, 9))
    | st.builds(Typed, st.just("l"), st.integers(-9, 9))
    | st.builds(Typed, st.just("f"), st.floats(width=32, allow_nan=False, allow_infinity=False))
    | st.integers(-(2**40), 2**40),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=8,
)


@given(st.dictionaries(st.text(max_size=8), values, max_size=5))
def test_everything_else_keeps_its_bytes(table: dict[str, Any]) -> None:
    header = encode_header(
        77,
        Properties(
            headers=table,
            content_type="t",
            delivery_mode=2,
            priority=7,
            message_id="m",
            reply_to="r",
            timestamp=TIME,
            user_id="guest",
        ),
    )
    before, after = split_properties(header), split_properties(die(header))
    own = before.pop(HEADERS)
    new = after.pop(HEADERS)
    assert before == after
    assert header[:14] == die(header)[:14]
    if not any(name.startswith("x-") for name in table):
        assert new[4 : len(own)] == own[4:], "the table begins with the publisher's own entries"
