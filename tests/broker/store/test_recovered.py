from __future__ import annotations

from reference_broker.core.content import Content
from reference_broker.store.liveness import Liveness
from reference_broker.store.recovered import DamageReport, RecoveredEntry, RecoveredLog
from reference_broker.store.segment import SegmentName


def recovered(damage: DamageReport) -> RecoveredLog:
    """Queue 1 and queue 2 with one entry each, in a sealed segment of their own each."""
    liveness = Liveness()
    entries = {}
    for queue_id in (1, 2):
        base = queue_id * 100
        use = liveness.add(SegmentName(base, 1), 100)
        use.live = 1
        liveness.seal(use, base + 100)
        content = Content(b"", b"", b"", base + 64)
        entries[queue_id] = [RecoveredEntry(queue_id, 1, content, False, 0, 0)]
    return RecoveredLog({}, entries, 2, 300, 0, True, damage, liveness, None)


def test_entries_of_queues_that_are_gone_are_dropped_and_free_their_segments() -> None:
    log = recovered(DamageReport())
    assert log.retain({2}) == 1
    assert list(log.entries) == [2]
    assert [use.base for use in log.liveness.take_dead()] == [100]
    assert log.retain({2}) == 0


def test_with_damage_their_segments_are_kept() -> None:
    log = recovered(DamageReport(damaged_files=["some.segment"]))
    assert log.retain({2}) == 1
    assert log.liveness.take_dead() == []


def test_a_cut_tail_is_no_damage() -> None:
    assert not DamageReport(cut_bytes=5).damaged
    assert str(DamageReport(cut_bytes=5)) == "5 bytes of unsynced tail were cut"
