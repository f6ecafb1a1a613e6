from __future__ import annotations

import pytest

from reference_broker.simulation.clients.features.use import LATE_MS, Use


def used(*, durable: bool = True) -> Use:
    """A queue of 300 ms whose declaration was sent at 1,000 and answered at 1,010."""
    use = Use(300, durable=durable, kept=durable)
    use.asked(1_000)
    use.used(1_000, 1_010)
    return use


def look(use: Use, now_ms: int, *, there: bool, tail: int = 7, synced: int = 7) -> str:
    if there:
        return use.seen(now_ms, is_consumed=False)
    return use.seen_gone(now_ms, tail, synced, asked=False)


def test_it_is_not_gone_before_its_time() -> None:
    assert look(used(), 1_299, there=False) == "is gone 1 ms before its time"
    assert not look(used(), 1_300, there=False)
    use = used()
    use.used(1_200, 1_210)
    assert look(use, 1_400, there=False) == "is gone 100 ms before its time"


def test_it_is_not_there_long_after_its_time() -> None:
    assert not look(used(), 1_310 + LATE_MS, there=True)
    assert "its time was over 5001 ms ago" in look(used(), 1_311 + LATE_MS, there=True)
    use = used()
    use.asked(1_500)
    assert not look(use, 1_800 + LATE_MS, there=True)


def test_once_gone_nothing_is_demanded_of_it() -> None:
    use = used()
    assert not look(use, 1_300, there=False)
    assert not use.is_surely_there(1_300)
    assert not look(use, 9_000, there=False)
    assert not use.started(9_001, there=False)


def test_a_start_begins_its_time_anew() -> None:
    for gone in (Use.started, look):
        use = used()
        assert not use.started(1_250, there=True)
        assert gone(use, 1_549, there=False) == "is gone 1 ms before its time"


@pytest.mark.parametrize("durable", [True, False])
def test_a_start_finds_it_if_it_is_on_disk(durable: bool) -> None:
    use = used(durable=durable)
    assert bool(use.started(1_250, there=False)) is durable
    assert bool(used(durable=durable).started(1_250, there=True)) is not durable


def test_an_end_that_is_on_disk_is_for_good() -> None:
    use = used()
    look(use, 1_300, there=False, tail=9, synced=7)
    assert not use.started(1_400, there=True)
    use = used()
    look(use, 1_300, there=False, tail=9, synced=7)
    look(use, 1_350, there=False, tail=12, synced=9)
    assert "is back after a start" in use.started(1_400, there=True)
    use = used()
    look(use, 1_300, there=False)
    use.asked(1_310)
    assert not use.started(1_400, there=True)


def test_it_may_be_made_while_it_is_seen_to_be_gone() -> None:
    use = used()
    assert not use.seen_gone(1_300, 7, 7, asked=True)
    assert not use.started(1_400, there=True)


def test_a_consumer_keeps_it() -> None:
    use = used()
    assert not use.seen(9_000, is_consumed=True)
    assert look(use, 9_001, there=False) == "is gone 299 ms before its time"
