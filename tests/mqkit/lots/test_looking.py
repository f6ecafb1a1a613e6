"""A look at a lot, and its counts, against both brokers: nothing leaves it."""

from __future__ import annotations

from typing import Any

import pytest

from mqkit.lots import looking
from mqkit.lots.choice import Choice
from mqkit.lots.link import LotLink
from mqkit.lots.looking import OTHERS, peek, stats
from mqkit.lots.where import parse
from mqkit.retry.headers import ERROR_TYPE, PARKED_REASON

pytestmark = pytest.mark.anyio


async def test_a_peek_is_the_first_chosen(bench: Any) -> None:
    await bench.park(b"1", b"2", b"3", b"4")
    link = LotLink(bench.endpoint, 20.0)
    seen = await peek(link, bench.lot, Choice(limit=2))
    assert [each.delivery.body for each in seen] == [b"1", b"2"]
    seen = await peek(link, bench.lot, Choice(where=parse("body > 2")))
    assert [each.delivery.body for each in seen] == [b"3", b"4"]
    assert await peek(link, bench.lot, Choice(where=parse("body > 9"))) == ()
    assert await bench.bodies(bench.lot) == [b"1", b"2", b"3", b"4"]


async def test_counts(bench: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    hour_s = 3600.0
    await bench.park(b"a", b"bb", ago_s=60.0, **{PARKED_REASON: "broken", ERROR_TYPE: "OSError"})
    await bench.park(b"c", ago_s=30 * hour_s, **{PARKED_REASON: "broken"})
    await bench.publish(bench.lot, b"d", headers={})
    link = LotLink(bench.endpoint, 20.0)
    found = await stats(link, bench.lot, Choice())
    assert (found.messages, found.octets) == (4, 5)
    assert found.reasons == {"broken": 3, "unknown": 1}
    assert found.errors == {"OSError": 2, "unknown": 2}
    assert found.queues == {bench.name: 4}
    assert found.ages == {"under 1h": 2, "under 7d": 1, "unknown": 1}
    monkeypatch.setattr(looking, "WORDS_MAX", 1)
    assert (await stats(link, bench.lot, Choice())).reasons == {"broken": 3, OTHERS: 1}
    assert len(await bench.bodies(bench.lot)) == 4
