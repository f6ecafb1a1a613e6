"""due_order: the same order as sorting, whatever comes when."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from reference_broker.core.base.due_order import BUCKET_MS, DueOrder

ALL = 1 << 60


def taken(order: DueOrder, due: dict[int, int], now_ms: int) -> list[int]:
    order.open(now_ms, due.get, ALL)
    sequences = []
    while (head := order.head()) is not None and head[0] <= now_ms:
        order.pop()
        sequences.append(head[1])
    return sequences


@given(st.lists(st.tuples(st.integers(0, 5000), st.integers(0, 700)), max_size=60))
def test_it_gives_what_is_due_in_order_of_due_time_and_arrival(
    arrivals: list[tuple[int, int]],
) -> None:
    order, due, now_ms, got, waiting = DueOrder(), {}, 0, [], {}
    for sequence, (delay_ms, passes_ms) in enumerate(arrivals):
        order.add(now_ms + delay_ms, sequence)
        due[sequence] = waiting[sequence] = now_ms + delay_ms
        now_ms += passes_ms
        got = taken(order, due, now_ms)
        expected = sorted((due_ms, s) for s, due_ms in waiting.items() if due_ms <= now_ms)
        assert got == [sequence for _, sequence in expected]
        for sequence in got:
            del waiting[sequence]
        assert len(order) == len(waiting)
        next_ms = order.next_ms()
        assert (next_ms is None) == (not waiting)
        assert next_ms is None or now_ms < next_ms <= min(waiting.values())


def test_what_is_gone_is_left_out_when_its_bucket_is_opened() -> None:
    order = DueOrder()
    order.add(10 * BUCKET_MS, 1)
    order.add(10 * BUCKET_MS, 2)
    order.open(10 * BUCKET_MS, {2: 10 * BUCKET_MS}.get, ALL)
    assert order.near(5) == [(10 * BUCKET_MS, 2)]
    assert len(order) == 1


def test_near_is_sorted_and_looks_at_open_buckets_only() -> None:
    order = DueOrder()
    due = {1: 900, 2: 300, 3: 600, 4: 5000}
    for sequence, due_ms in due.items():
        order.add(due_ms, sequence)
    assert order.next_ms() == 0
    order.open(0, due.get, ALL)
    assert order.near(2) == [(300, 2), (600, 3)]
    assert order.near(9) == [(300, 2), (600, 3), (900, 1)]
    assert order.next_ms() == 300


def test_a_bucket_may_be_opened_some_at_a_time() -> None:
    order = DueOrder()
    due = {sequence: BUCKET_MS - sequence for sequence in range(10)}
    due |= {10: 2 * BUCKET_MS, 11: BUCKET_MS}
    for sequence in range(11):
        order.add(due[sequence], sequence)
    opened: list[int] = []
    while not opened or order.is_half_open:
        opened.append(order.open(BUCKET_MS, due.get, 4))
        assert len(order) == 11, "each is counted, opened or not"
    order.add(due[11], 11)

    assert opened == [4, 4, 2]
    assert taken(order, due, BUCKET_MS) == [9, 8, 7, 6, 5, 4, 3, 2, 1, 0, 11]
    assert order.next_ms() == 2 * BUCKET_MS


def test_near_leaves_the_order_as_it_is() -> None:
    order = DueOrder()
    due = {sequence: (sequence * 7) % 100 for sequence in range(100)}
    for sequence, due_ms in due.items():
        order.add(due_ms, sequence)
    order.open(0, due.get, ALL)
    assert order.near(30) == order.near(30)
    assert taken(order, due, 100) == sorted(due, key=lambda sequence: (due[sequence], sequence))
