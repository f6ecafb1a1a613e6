"""mqkit_bench.broker.footprint: something is added, and weighed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from mqkit_bench.broker.footprint import HEADER, Footprint, Sizes, measure, table
from mqkit_bench.contestant import Contestant
from mqkit_bench.server import ReferenceServer


def test_everything_is_added(server: ReferenceServer) -> None:
    @contextmanager
    def broker() -> Iterator[Contestant]:
        yield server.contestant

    found = measure(broker, Sizes(queues=5, connections=3, consumers=12, settle_s=0.0))
    assert [(each.what, each.count) for each in found] == [
        ("broker, idle", 1),
        ("durable queues", 5),
        ("connections with a channel", 3),
        ("consumers", 12),
    ]
    assert found[0].rss_before_mib == 0
    assert found[1].rss_before_mib == found[0].rss_after_mib > 0


def test_the_table_has_what_each_took() -> None:
    lines = table([Footprint("a", "queues", 1_024, 60.0, 70.0)]).splitlines()
    assert {line.count("|") for line in lines} == {len(HEADER) + 1}
    assert lines[-1] == "| a | queues | 1,024 | 60.0 MiB | 10.0 MiB | 10.0 KiB |"
