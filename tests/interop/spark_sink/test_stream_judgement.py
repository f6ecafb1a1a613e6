"""The judgement of a stream: each broken promise is found."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import pytest

from interop.spark_sink.stream_judgement import Streamed, faults

BODIES = {f"key-{n}": f"row {n}".encode() for n in range(4)}
KEYS = Counter(dict.fromkeys(BODIES.items(), 1))
AUTO = Counter({(f"q/{n // 2}/0/{n % 2}", body): 1 for n, body in enumerate(BODIES.values())})


def line(batch_id: int, **other: int) -> dict[str, Any]:
    counts = {"rows": 2, "confirmed": 2, "body_bytes": 10, "unroutable": 0, "bad_rows": 0}
    return {"batch_id": batch_id, **counts, **other}


GOOD_KEYS = Streamed(
    bodies=BODIES,
    query_id=None,
    plain=KEYS + Counter([("key-1", b"row 1")]),
    window=KEYS,
    reports=[line(0), line(0), line(1)],
    kills=1,
)
GOOD_AUTO = replace(
    GOOD_KEYS, query_id="q", plain=AUTO + Counter([("q/0/0/1", b"row 1")]), window=AUTO
)
BOTH = pytest.mark.parametrize("good", [GOOD_KEYS, GOOD_AUTO], ids=["column", "auto"])


@BOTH
def test_what_must_be_is_no_fault(good: Streamed) -> None:
    assert faults(good) == []
    assert (good.copies, good.repeated) == (1, 1)


@BOTH
def test_a_row_is_missing(good: Streamed) -> None:
    lost = Counter({each: times for each, times in good.plain.items() if each[1] != b"row 3"})
    said = faults(replace(good, plain=lost))
    assert any(fault.endswith(" is missing") for fault in said), said


@BOTH
def test_a_message_is_of_no_row(good: Streamed) -> None:
    said = faults(replace(good, plain=good.plain + Counter([("q/1/0/2", b"row 9")])))
    assert any(fault.endswith(" is of no row") for fault in said), said


@BOTH
def test_behind_the_window_nothing_is_there_twice(good: Streamed) -> None:
    said = faults(replace(good, window=good.plain))
    assert any(fault.startswith("behind the window: ") for fault in said), said


@BOTH
def test_more_copies_than_drivers_were_killed(good: Streamed) -> None:
    ((twice, _), *_) = good.plain.most_common()
    (fault,) = faults(replace(good, plain=good.plain + Counter([twice])))
    assert fault == f"{twice[0]} is there 3 times, and the driver was killed 1 times"


@BOTH
def test_reports_of_one_batch_agree(good: Streamed) -> None:
    said = faults(replace(good, reports=[line(0), line(0, rows=1), line(1)]))
    assert said == ["batch 0 has rows=1, and 2 before"]


@BOTH
def test_reports_say_what_the_queues_say(good: Streamed) -> None:
    said = faults(replace(good, reports=[line(0)]))
    assert said == [
        "the reports have rows=2 in all, and it is 4",
        "the reports have confirmed=2 in all, and it is 4",
        "the reports have body_bytes=10 in all, and it is 20",
    ]
    said = faults(replace(good, reports=[line(0), line(1, unroutable=1)]))
    assert said == ["batch 1 has unroutable=1"]
    said = faults(replace(good, reports=[line(0), line(2)]))
    assert said == ["the reports are of the batches [0, 2]"]


def test_an_automatic_id_has_one_row_and_a_row_has_one_id() -> None:
    two_rows = AUTO + Counter([("q/0/0/0", b"row 1")])
    assert "q/0/0/0 has two bodies: b'row 0' and b'row 1'" in faults(
        replace(GOOD_AUTO, plain=two_rows)
    )
    two_ids = AUTO + Counter([("q/2/0/0", b"row 1")])
    assert "b'row 1' has two ids: q/0/0/1 and q/2/0/0" in faults(replace(GOOD_AUTO, plain=two_ids))


def test_an_automatic_id_is_of_the_query_and_places_have_no_gap() -> None:
    said = faults(replace(GOOD_AUTO, query_id="other"))
    assert "q/0/0/0 is not of query other" in said
    gap = Counter({(name.replace("/0/1", "/0/7"), body): 1 for name, body in AUTO})
    assert "q/0/0 has 2 places, up to 7" in faults(replace(GOOD_AUTO, plain=gap))
