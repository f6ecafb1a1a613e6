"""The longest way of a message."""

from __future__ import annotations

import pytest

from mqkit.inbox.retention import longest_way_ms
from mqkit.topology.file.read import loads


@pytest.mark.parametrize(
    ("queue", "lots", "expected_ms"),
    [
        ("{}", "", 0),
        ("{retry: {after: [1s, 2s]}}", "", 3_000),
        ("{retry: {after: [1s, 2s], errors: {TimeoutError: [5s], KeyError: park}}}", "", 7_000),
        ("{retry: {after: [1s, 2s], give_up_after: 2s}}", "", 2_000),
        ("{retry: {from: 1s, times: 2, jitter: 0.5}}", "", 4_500),
        ("{retry: {after: [1s]}}", "replay: {every: 1h, at_most: 2}", 1_000 + 2 * 3_601_000),
        ("{retry: {after: [1s]}}", "archive: {after: 24h, to: 'a/{queue}.jsonl.gz'}", 86_401_000),
    ],
)
def test_it_is_all_tiers_and_what_the_lots_do_by_the_clock(
    queue: str, lots: str, expected_ms: int
) -> None:
    text = f"queues: {{orders: {queue}}}\n"
    if lots:
        text += f"lots: {{orders.parked: {{{lots}}}}}\n"
    topology = loads(text)
    assert longest_way_ms(topology, "orders") == expected_ms
    assert longest_way_ms(topology, "nobody's") == 0
