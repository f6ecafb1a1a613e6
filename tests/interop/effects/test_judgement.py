"""The judgement of effects, by tables that a test makes."""

from __future__ import annotations

import pytest

from interop.effects.judgement import Done, duplicates, faults

ORDERS = [Done(number, number % 2, number // 2) for number in range(6)]


def test_each_once_and_in_order_is_no_fault() -> None:
    assert faults(ORDERS, ORDERS) == []
    other_customers_first = sorted(ORDERS, key=lambda order: order.customer)
    assert faults(ORDERS, other_customers_first) == []
    assert duplicates(ORDERS) == 0


@pytest.mark.parametrize(
    ("effects", "told"),
    [
        (ORDERS[:-1], "order 5 has no effect"),
        ([*ORDERS, Done(9, 1, 9)], "of order 9, which nobody has placed"),
        ([*ORDERS[:-1], Done(5, 0, 2)], "the effect of another"),
        ([*ORDERS, ORDERS[-1]], "order 5 has 2 effects"),
        ([ORDERS[2], ORDERS[0], ORDERS[1], *ORDERS[3:]], "customer 0: number 0 came after 1"),
    ],
)
def test_what_breaks_a_promise_is_seen(effects: list[Done], told: str) -> None:
    assert any(told in fault for fault in faults(ORDERS, effects))


def test_duplicates_are_counted() -> None:
    assert duplicates([*ORDERS, ORDERS[0], ORDERS[0]]) == 2
