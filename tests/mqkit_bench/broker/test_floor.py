"""mqkit_bench.broker.floor: what a lone publisher's confirm takes at least."""

from __future__ import annotations

from contextlib import closing

from mqkit_bench.broker.catalogue import CATALOGUE
from mqkit_bench.broker.contest import compete
from mqkit_bench.broker.entrant import RELAY, Entrant
from mqkit_bench.broker.floor import FILE_BYTES, DiskFile, floor
from mqkit_bench.broker.standing import FLOOR


def test_only_the_lone_publisher_has_a_floor(reference: Entrant) -> None:
    assert reference.contestant is not None
    found = floor(reference.contestant)
    plays = [name for name, entry in CATALOGUE.items() if found.plays(entry.make(10))]
    assert plays == ["in-flight-1"]


def test_the_floor_is_a_row_beside_the_broker(reference: Entrant) -> None:
    assert reference.contestant is not None
    scenario = CATALOGUE["in-flight-1"].make(100)
    ours, below = compete([reference, floor(reference.contestant)], scenario, 1, 0.05)
    assert (ours.confirm_ratio, below.name, below.broker_cpu_us) == (None, FLOOR, None)
    assert ours.confirm_ms is not None
    assert below.confirm_ratio is not None
    assert below.target == "p50 1.4"


def test_the_file_begins_again_at_its_end() -> None:
    with closing(DiskFile()) as disk:
        half = bytes(FILE_BYTES // 2 + 1)
        assert disk.sync(half) > 0
        assert disk.sync(half) > 0


def test_the_relay_s_confirms_are_timed_too(reference: Entrant) -> None:
    scenario = CATALOGUE["in-flight-10"].make(100)
    _, relay = compete([reference, RELAY], scenario, 1, 0.05)
    assert relay.confirm_ratio is not None
