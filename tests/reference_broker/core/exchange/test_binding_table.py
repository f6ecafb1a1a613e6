"""binding_table: all of them, and those to one destination."""

from __future__ import annotations

import pytest

from reference_broker.core.exchange.binding import Binding
from reference_broker.core.exchange.binding_table import BindingTable


def test_it_finds_by_identity_and_by_destination() -> None:
    table = BindingTable()
    to_queue = Binding("x", "same", "k")
    to_exchange = Binding("x", "same", "k", destination_is_queue=False)
    second = Binding("y", "same", "k")
    for binding in (to_queue, to_exchange, second):
        table.add(binding)
    assert len(table) == 3
    assert list(table) == [to_queue, to_exchange, second]
    assert table.get(Binding("x", "same", "k").identity) is to_queue
    assert table.to("same", is_queue=True) == [to_queue, second]
    assert table.to("same", is_queue=False) == [to_exchange]
    table.remove(to_queue)
    assert table.get(to_queue.identity) is None
    assert table.to("same", is_queue=True) == [second]
    table.remove(second)
    assert table.to("same", is_queue=True) == []


def test_a_binding_is_entered_once() -> None:
    table = BindingTable()
    table.add(Binding("x", "q"))
    with pytest.raises(AssertionError):
        table.add(Binding("x", "q"))
    assert len(table) == 1
