from __future__ import annotations

from reference_broker.core.index.index import QueueIndex
from reference_broker.store.format.segment import SegmentName
from reference_broker.store.liveness.liveness import Liveness, SegmentUse
from reference_broker.store.start.recovered import DamagedPlace, DamageReport, Part, RecoveredLog


def recovered(damage: DamageReport) -> RecoveredLog:
    """Queue 1 and queue 2 with one entry each, in a sealed segment of their own each."""
    liveness = Liveness()
    queues = {}
    for queue_id in (1, 2):
        base = queue_id * 100
        use = liveness.add(SegmentUse(SegmentName(base, 1), 100))
        use.live_bytes = 36
        liveness.seal(use, base + 100, 100, 100)
        index = QueueIndex()
        index.restore(1, base + 64, 5, 36)
        queues[queue_id] = {0: index}
    return RecoveredLog({}, queues, 2, 300, 0, True, True, damage, liveness, None, [])


def test_entries_of_queues_that_are_gone_are_dropped_and_free_their_segments() -> None:
    log = recovered(DamageReport())
    assert log.retain({2}) == 1
    assert list(log.queues) == [2]
    assert [use.base for use in log.liveness.take_dead()] == [100]
    assert log.retain({2}) == 0


def test_with_damage_their_segments_are_kept_and_they_count_as_lost() -> None:
    log = recovered(DamageReport(damaged_files=["some.segment"]))
    assert log.retain({2}) == 1
    assert log.damage.lost == {1: 1}
    assert log.liveness.take_dead() == []
    assert [use.rewritable for use in log.liveness] == [False, True]


def test_it_knows_what_is_alive() -> None:
    log = recovered(DamageReport())
    (columns,) = log.live_entries(2, 0, 1000)
    assert list(columns.positions) == [264]
    assert list(log.live_entries(2, 0, 264)) == []
    assert list(log.live_entries(3, 0, 1000)) == []


def test_a_cut_tail_is_no_damage() -> None:
    assert not DamageReport(cut_bytes=5).damaged
    assert str(DamageReport(cut_bytes=5)) == "5 bytes of unsynced tail were cut"


def test_damage_is_said_in_words() -> None:
    damage = DamageReport(
        quarantined_regions=2,
        quarantined_bytes=300,
        places=[DamagedPlace("a.segment", 4160, 24, Part.HEADER)],
        damaged_files=["a.segment"],
        missing_segments=[4096],
        lost={7: 3, 8: 1},
        misplaced=1,
    )
    assert damage.damaged
    assert str(damage) == (
        "300 bytes in 2 places of a.segment can't be read and stay quarantined; damaged: "
        "24 bytes of a.segment (the header at position 0000000000001040), and 1 more; "
        "1 segments are missing from the folder (at 0000000000001000): nobody knows how many "
        "messages were in them; at most 4 messages of 2 queues are lost; "
        "1 messages stand where they can't be and were left out"
    )
