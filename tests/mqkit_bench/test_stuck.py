"""mqkit_bench.stuck: the pattern, the bound, and a small run whose messages all come back."""

from __future__ import annotations

from pathlib import Path

import pytest

from mqkit_bench.data_folder import Usage
from mqkit_bench.message import publish_frames
from mqkit_bench.server import ReferenceServer
from mqkit_bench.stuck import HEADER, STUCK_QUEUE, Figures, Pattern, measure, table
from reference_broker.store.format.segment import SEGMENT_BYTES

MIB = 2**20


@pytest.mark.slow
def test_all_that_was_held_comes_back(server: ReferenceServer, server_folder: Path) -> None:
    pattern = Pattern(segments=3, stuck_bytes=100, body_bytes=120_000)
    figures = measure(server.contestant, server_folder, pattern, watch_s=0.0)
    assert figures.live_bytes == 300
    assert figures.final.files > 0
    assert figures.peak.size_bytes >= SEGMENT_BYTES
    assert server.contestant.counts([STUCK_QUEUE]) is None, "its queues are gone"


def test_no_two_stuck_messages_fit_one_segment() -> None:
    for body_bytes in (1, 1000, 65_536, 120_000):
        pattern = Pattern(1, 1, body_bytes)
        assert pattern.others * body_bytes >= SEGMENT_BYTES
        assert (pattern.others - 1) * body_bytes < SEGMENT_BYTES


def test_the_ring_begins_with_the_stuck_one() -> None:
    ring = Pattern(3, 10, 120_000).ring()
    stuck = publish_frames(STUCK_QUEUE, 10)
    assert bytes(ring.piece(0, len(stuck))) == stuck
    again = ring.bytes_before(1 + Pattern(3, 10, 120_000).others)
    assert bytes(ring.piece(again, again + len(stuck))) == stuck


def test_the_bound_is_twice_the_live_bytes_and_two_segments() -> None:
    pattern = Pattern(segments=1000, stuck_bytes=1024, body_bytes=65_536)
    assert pattern.live_bytes == 1_024_000
    assert pattern.bound_bytes == 2_048_000 + 32 * MIB


@pytest.mark.parametrize(("under_s", "said"), [(None, "not in that time"), (2.25, "2.2 s")])
def test_the_table_compares_the_larger_size(under_s: float | None, said: str) -> None:
    figures = Figures(
        pattern=Pattern(2, 8 * MIB, 65_536),
        live_bytes=16 * MIB,
        bound_bytes=64 * MIB,
        peak=Usage(9, 100 * MIB, 90 * MIB),
        at_last_ack=Usage(9, 80 * MIB, 80 * MIB),
        watched_s=30.0,
        final=Usage(2, 16 * MIB, 32 * MIB),
        under_bound_s=under_s,
    )
    head, _, row = table(figures).splitlines()
    assert head.count("|") == row.count("|") == len(HEADER) + 1
    assert "after 30 s" in head
    assert row.endswith(f"| 80.0 MiB | 16.0 MiB / 32.0 MiB / 2 | 0.50 | {said} |")
