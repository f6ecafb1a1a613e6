from __future__ import annotations

import pytest

from reference_broker.cluster.coordinator import Changed, Event, News, Progressed, WatchEnded
from reference_broker.simulation.etcd.witness import Record, WatchBroken, Witness

FIRST, SECOND, ELSEWHERE, THIRD = (
    Changed(revision, (Event(key, b"", revision),))
    for revision, key in ((2, "a/1"), (3, "a/2"), (4, "b/1"), (5, "a/1"))
)


def witness(after: int) -> Witness:
    record = Record()
    for changed in (FIRST, SECOND, ELSEWHERE, THIRD):
        record.add(changed)
    return Witness(record, "a/", after)


@pytest.mark.parametrize("after", [0, 1, 2, 3, 4, 5, 9])
def test_a_prefix_of_the_history_is_fine(after: int) -> None:
    followed = witness(after)
    for changed in (FIRST, SECOND, THIRD):
        if changed.revision > after:
            followed.saw(changed)
    followed.saw(Progressed(max(after, 5)))
    followed.saw(WatchEnded("over"))


@pytest.mark.parametrize(
    "told",
    [
        [SECOND],
        [FIRST, THIRD],
        [FIRST, FIRST],
        [FIRST, SECOND, FIRST],
        [Progressed(3)],
        [FIRST, Progressed(5)],
        [FIRST, SECOND, Progressed(4), Progressed(3)],
        [ELSEWHERE],
        [FIRST, SECOND, Changed(5, ())],
        [FIRST._replace(events=(Event("a/1", b"another", 2),))],
        [WatchEnded("over"), FIRST],
    ],
    ids=[
        "one left out", "a gap", "twice", "again", "progress over one", "progress over two",
        "backwards", "not its prefix", "no events", "another value", "behind the end",
    ],
)  # fmt: skip
def test_anything_else_is_found(told: list[News]) -> None:
    followed = witness(1)
    with pytest.raises(WatchBroken):
        for news in told:
            followed.saw(news)


def test_the_record_has_every_revision() -> None:
    record = Record()
    with pytest.raises(WatchBroken):
        record.add(SECOND)
    record.add(FIRST)
    assert record.revision == 2
