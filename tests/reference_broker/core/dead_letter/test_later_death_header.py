"""The header of a message that has died before: octet for octet what decoding makes of it, and what
a frame has room for."""

from __future__ import annotations

import random
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mqkit.wire import (
    MAX_TABLE_ITEMS,
    Properties,
    Typed,
    decode_header,
    encode_header,
    encode_longstr,
    encode_shortstr,
)
from reference_broker.core.dead_letter import later_death_header
from reference_broker.core.dead_letter.first_death_header import pieces_of
from reference_broker.core.dead_letter.later_death_header import LaterDeath, with_later_death
from reference_broker.core.dead_letter.letter_header import LetterHeader
from reference_broker.core.dead_letter.x_death import cc_keys_of, with_x_death
from reference_broker.core.message.header import read_facts
from reference_broker.core.queue.death import DeathReason

WALL_MS = 1_700_000_000_999
BYTES_MAX = 131_064
EXPIRED, MAXLEN, REJECTED = DeathReason.EXPIRED, DeathReason.MAXLEN, DeathReason.REJECTED


def dying(
    header: bytes,
    queue: str = "q",
    reason: DeathReason = EXPIRED,
    *,
    exchange: bytes = b"x",
    key: bytes = b"k",
    keep_cc: bool = True,
    wall_ms: int = WALL_MS,
) -> LaterDeath:
    pieces = pieces_of(queue, reason, exchange)
    return LaterDeath(header, queue, reason, pieces, wall_ms, exchange, key, keep_cc)


def decoded(death: LaterDeath) -> bytes:
    return with_x_death(
        death.header,
        queue=death.queue,
        reason=death.reason,
        wall_ms=death.wall_ms,
        exchange=death.exchange,
        routing_key=death.routing_key,
        keep_cc=death.keep_cc,
    )


def history_of(header: bytes) -> list[tuple[str, str]]:
    """Queue and reason of each table; empty where it is no text, for a queue's name is one."""
    tables = [each for each in headers(header)["x-death"] if isinstance(each, dict)]
    pairs = [(table.get("queue"), table.get("reason")) for table in tables]
    return [
        (queue if isinstance(queue, str) else "", reason if isinstance(reason, str) else "")
        for queue, reason in pairs
    ]


def is_cycle(queue: str, history: list[tuple[str, str]]) -> bool:
    """The rule as RabbitMQ has it (rabbit_dead_letter): it has left the queue, and since then, this
    time included, every death was one without anybody's doing."""
    queues = [name for name, _ in history]
    if queue not in queues:
        return False
    return all(reason != "rejected" for _, reason in history[: queues.index(queue) + 1])


def from_octets(death: LaterDeath) -> LetterHeader | None:
    return later_death_header._from_octets(death, BYTES_MAX)


def check(death: LaterDeath, *, in_octets: bool | None = None) -> bytes:
    """Compare both ways; ``in_octets`` says whether nothing may have to be decoded whole."""
    expected = decoded(death)
    made = with_later_death(death, BYTES_MAX)
    assert made.header == expected
    read = read_facts(expected)
    assert (made.facts.persistent, made.facts.priority) == (read.persistent, read.priority)
    assert made.facts.expiration_ms is None
    copies = [key.decode(errors="surrogateescape") for key in cc_keys_of(expected)]
    assert list(made.copies) == (copies if death.keep_cc else [])
    if death.reason is not REJECTED:
        history = history_of(expected)
        others = {queue for queue, _ in history if queue not in ("", death.queue)}
        for queue in (*sorted(others), "never"):
            left = made.earlier is not None and made.earlier.has_left(queue)
            assert left == is_cycle(queue, history), queue
    if in_octets is not None:
        assert (from_octets(death) is not None) == in_octets
    return made.header


def headers(header: bytes) -> dict[str, Any]:
    return decode_header(header)[1].headers or {}


QUEUES = ("a", "b", "queue", "q\N{SNOWMAN}")
deaths = st.tuples(
    st.sampled_from(QUEUES),
    st.sampled_from(DeathReason),
    st.sampled_from([b"", b"x", b"\xff", b"\x05queueS\0\0\0\1a"]),
    st.sampled_from([b"k", b"", b"\x06reasonS\0\0\0\x08rejected", b"\x05queueS\0\0\0\1b"]),
    st.booleans(),
)
names = st.sampled_from(["CC", "BCC", "x-death", "x-last-death-queue", "x-last-death-exchange",
    "x-first-death-reason", "x-first-death-exchange", "", "zz", "queue"])  # fmt: skip
leaves = (
    st.none()
    | st.booleans()
    | st.sampled_from([*QUEUES, "expired", "rejected"])
    | st.binary(max_size=9)
    | st.integers(-(2**40), 2**40)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.builds(Typed, st.sampled_from(["s", "l"]), st.integers(-9, 9))
    | st.sampled_from([Typed("S", b"\xff"), datetime(2026, 1, 1, tzinfo=UTC)])
)
keys = st.sampled_from(["queue", "reason", "count", "time", "x-death", ""])
odd_tables = st.lists(
    st.dictionaries(keys, leaves | st.lists(leaves, max_size=2), max_size=4) | leaves, max_size=4
)
copies = st.lists(st.sampled_from(["cc", b"\xfe", 3, ""]), max_size=3)
tables = st.dictionaries(
    names, leaves | copies | odd_tables | st.dictionaries(names, leaves, max_size=3), max_size=6
)
properties = st.builds(
    Properties,
    content_type=st.none() | st.just("t"),
    content_encoding=st.none() | st.just("x-death"),
    headers=st.none() | tables,
    delivery_mode=st.none() | st.integers(0, 255),
    priority=st.none() | st.integers(0, 255),
    correlation_id=st.none() | st.just("c"),
    reply_to=st.none() | st.just("r"),
    expiration=st.none() | st.integers(0, 10**9).map(str),
    message_id=st.none() | st.just("m"),
    timestamp=st.none() | st.just(datetime(2026, 1, 1, tzinfo=UTC)),
    user_id=st.none() | st.just("guest"),
)


def shuffled(value: Any, random: random.Random) -> Any:
    """The same value, with every table in another order."""
    if isinstance(value, list):
        return [shuffled(each, random) for each in value]
    if not isinstance(value, dict):
        return value
    items = [(name, shuffled(each, random)) for name, each in value.items()]
    random.shuffle(items)
    return dict(items)


def republished(header: bytes, random: random.Random) -> bytes:
    """As a client sends a message that it was given: integers may be shorter by then."""
    size, properties = decode_header(header)
    properties.headers = shuffled(properties.headers, random)
    return encode_header(size, properties)


@given(properties, st.lists(deaths, min_size=1, max_size=8), st.randoms(use_true_random=False))
def test_every_history_is_what_decoding_makes_of_it(
    properties: Properties,
    history: list[tuple[str, DeathReason, bytes, bytes, bool]],
    random: random.Random,
) -> None:
    header = encode_header(77, properties)
    for number, (queue, reason, exchange, key, keep_cc) in enumerate(history):
        death = dying(
            header, queue, reason, exchange=exchange, key=key, keep_cc=keep_cc, wall_ms=number * 999
        )
        header = check(death)
        if random.random() < 0.2:
            header = republished(header, random)


def chain(count: int, header: bytes | None = None) -> bytes:
    """The header of a message that expired in ``count`` queues."""
    header = encode_header(0, Properties(headers={"own": 1})) if header is None else header
    for number in range(count):
        header = with_later_death(dying(header, f"queue-{number}", key=b"k"), BYTES_MAX).header
    return header


def test_a_new_queue_goes_in_front_and_nothing_is_decoded() -> None:
    header = encode_header(0, Properties(headers={"own": 1, "other": "x"}, expiration="5"))
    for number in range(30):
        header = check(dying(header, f"q{number}", MAXLEN), in_octets=True)
    assert [queue for queue, _ in history_of(header)] == [f"q{n}" for n in reversed(range(30))]


def test_the_same_queue_and_reason_is_counted_on_in_octets() -> None:
    header = chain(5)
    for queue, reason in (("queue-0", EXPIRED), ("queue-3", EXPIRED), ("queue-3", REJECTED)) * 2:
        header = check(dying(header, queue, reason), in_octets=True)
    counts = [(d["queue"], d["reason"], d["count"]) for d in headers(header)["x-death"]]
    assert counts[:3] == [
        ("queue-3", "rejected", 2),
        ("queue-3", "expired", 3),
        ("queue-0", "expired", 3),
    ]


DEATH = {"count": Typed("l", 7), "reason": "expired", "queue": "q"}


@pytest.mark.parametrize(
    "table",
    [
        {"x-death": [DEATH, DEATH], "x-last-death-queue": "q"},
        {"x-death": [5, DEATH, None, {"queue": 7}, DEATH | {"count": 1}], "x-last-death-queue": 1},
    ],
    ids=["twice", "among odd values"],
)
def test_several_tables_of_one_queue_and_reason_become_one(table: dict[str, Any]) -> None:
    header = check(dying(encode_header(0, Properties(headers=table))), in_octets=False)
    check(dying(header), in_octets=True)


@pytest.mark.parametrize(
    "table",
    [
        {"x-last-death-queue": "z", "zz": 1, "x-death": [DEATH], "x-first-death-queue": "z"},
        {"x-death": [DEATH], "x-last-death-queue": None},
        {"x-death": [DEATH], "x-last-death-reason": "z", "x-first-death-exchange": "zz"},
        {"x-death": [], "x-last-death-queue": "q"},
        {"x-death": {"queue": "q"}, "x-last-death-queue": "q"},
        {"x-death": [5, "five", DEATH], "x-last-death-queue": "q", "CC": ["one"]},
        {"x-death": [{"queue": b"q", "reason": "expired"}], "x-last-death-queue": "q"},
        {"a": {"x-death": [DEATH], "x-last-death-queue": "q"}},
        {"a": "-death", "CC": "no array"},
        {"x-death": [{"reason": "expired", "x": {"queue": "q"}}], "x-last-death-queue": "q"},
    ],
)
@pytest.mark.parametrize("keep_cc", [False, True])
def test_headers_that_clients_wrote_are_not_decoded_either(
    table: dict[str, Any], keep_cc: bool
) -> None:
    header = encode_header(0, Properties(headers=table, expiration="5"))
    for queue in ("q", "z", "q"):
        header = check(dying(header, queue, keep_cc=keep_cc), in_octets=True)


def entries(*pairs: tuple[str, bytes]) -> bytes:
    """A header with these entries, be they well-formed or not."""
    table = b"".join(encode_shortstr(name) + value for name, value in pairs)
    return b"\0\x3c\0\0" + bytes(8) + b"\x20\x08" + encode_longstr(table) + b"\x02id"


@pytest.mark.parametrize(
    "header",
    [
        entries(("a", b"I\0\0\0\1"), ("a", b"I\0\0\0\2")),
        entries(("a", b"!")),
        entries(("a", b"I\0")),
        entries(("a", b"S\0\1\0\0x")),
        entries(("a", b"d\x7f\xf0\0\0\0\0\0\0")),
        entries(("x-death", b"A\0\0\1\0"), ("x-last-death-queue", b"V")),
        entries(("x-death", b"A\0\0\0\x13F\0\0\0\x0e\x05queueS\0\0\0\2q"),
                ("x-last-death-queue", b"V")),
    ],
    ids=["name twice", "no type", "cut short", "too long", "float", "array too long", "cut table"],
)  # fmt: skip
def test_what_only_decoding_tells_is_decoded_once(header: bytes) -> None:
    header = check(dying(header), in_octets=False)
    check(dying(header, "other"), in_octets=True)


def test_what_a_client_wrote_keeps_its_octets() -> None:
    """Decoding would make an ``l`` of the older letter ``L``, and 1 of any other truth."""
    own = b"L" + b"\1" * 8, b"t\2"
    header = entries(*zip("ab", own, strict=True), ("x-last-death-queue", b"V"))
    for queue in ("one", "two"):
        header = with_later_death(dying(header, queue), BYTES_MAX).header
    assert all(value in header for value in own)


def test_an_older_table_that_cannot_be_read_stays_as_it_is() -> None:
    """Every message was checked when it came, and x-death is not read at each hop."""
    header = entries(("x-last-death-queue", b"V"), ("x-death", b"A\0\0\0\1!"))
    made = with_later_death(dying(header), BYTES_MAX)
    assert made.header.count(b"k!\x13x-last-death-reason") == 1
    assert made.earlier is not None
    assert not made.earlier.has_left("q")


def test_octets_of_a_queue_in_other_values_mean_nothing() -> None:
    fake = b"\x06reasonS\0\0\0\x07expired\x05queueS\0\0\0\1q"
    header = encode_header(0, Properties(headers={"own": Typed("S", fake)}))
    header = check(dying(header, "one", key=fake, exchange=fake))
    header = check(dying(header, "two", REJECTED, key=b"F\0\0\0\x1f" + fake), in_octets=True)
    header = check(dying(header, "q"), in_octets=True)
    assert headers(header)["x-death"][0]["count"] == 1
    check(dying(header, "q"), in_octets=True)


def in_frames_of(bytes_max: int, header: bytes, count: int) -> tuple[bytes, int]:
    """The header after ``count`` queues, each hop within ``bytes_max``, and the tables dropped."""
    dropped = 0
    for number in range(count):
        made = with_later_death(dying(header, f"queue-{number}"), bytes_max)
        assert len(made.header) <= bytes_max
        header, dropped = made.header, dropped + made.tables_dropped
    return header, dropped


def test_the_oldest_deaths_go_where_a_frame_has_no_room_for_them() -> None:
    own = encode_header(9, Properties(headers={"own": 1}, message_id="m"))
    header, dropped = in_frames_of(4_000, own, 100)
    history = history_of(header)
    assert history == [(f"queue-{n}", "expired") for n in range(99, 99 - len(history), -1)]
    assert len(history) + dropped == 100
    assert 20 < len(history) < 40
    size, properties = decode_header(header)
    assert (size, properties.message_id) == (9, "m")
    table = properties.headers or {}
    assert (table["own"], table["x-first-death-queue"]) == (1, "queue-0")
    assert table["x-last-death-queue"] == "queue-99"


def test_until_a_frame_is_full_nothing_goes_and_then_enough_for_some_hops() -> None:
    header = chain(30)
    full = len(with_later_death(dying(header), BYTES_MAX).header)
    assert with_later_death(dying(header), full).tables_dropped == 0
    made = with_later_death(dying(header), full - 1)
    assert made.tables_dropped > 1
    assert with_later_death(dying(made.header, "p"), full - 1).tables_dropped == 0


@pytest.mark.parametrize("room", [-1, 0])
def test_without_room_for_one_death_the_publishers_headers_go_on_alone(room: int) -> None:
    own = encode_header(0, Properties(headers={"own": "x" * 500, "CC": ["cc"]}, expiration="5"))
    size = len(with_later_death(dying(own), BYTES_MAX).header)
    made = with_later_death(dying(own), size + room)
    if room == 0:
        assert (len(history_of(made.header)), made.tables_dropped) == (1, 0)
        return
    assert made.tables_dropped == 1
    assert decode_header(made.header)[1] == Properties(headers={"own": "x" * 500, "CC": ["cc"]})
    assert made.copies == ["cc"]


def test_a_history_that_has_no_room_any_more_goes_as_a_whole() -> None:
    header = chain(3)
    made = with_later_death(dying(header, "x" * 255), len(header) - 100)
    assert made.tables_dropped == 4
    assert headers(made.header) == {"own": 1}


@pytest.mark.parametrize("own", [MAX_TABLE_ITEMS - 1, MAX_TABLE_ITEMS - 60])
def test_the_bound_in_values_is_kept_too(own: int) -> None:
    """Else no client of this product could read the message, nor this broker count on."""
    header = encode_header(0, Properties(headers={"own": [None] * (own - 1)}))
    dropped = 0
    for number in range(20):
        made = with_later_death(dying(header, f"queue-{number}"), BYTES_MAX)
        header, dropped = made.header, dropped + made.tables_dropped
        assert len(headers(header)["own"]) == own - 1
    assert dropped > 0
    assert ("x-death" in headers(header)) == (own < MAX_TABLE_ITEMS - 20)


def test_a_history_that_was_decoded_is_cut_too() -> None:
    twice = {"x-death": [DEATH, DEATH], "x-last-death-queue": "q", "own": 1}
    header = encode_header(0, Properties(headers=twice))
    whole = decoded(dying(header))
    older = {"x-death": [DEATH, {"queue": "z" * 99}, DEATH], "x-last-death-queue": "q", "own": 1}
    header = encode_header(0, Properties(headers=older))
    made = with_later_death(dying(header), len(whole) + 50)
    assert made.tables_dropped == 1
    assert headers(made.header) == headers(whole)
