"""binding_order: a list that follows what is added and removed."""

from __future__ import annotations

from reference_broker.core.exchange.binding import Binding
from reference_broker.core.exchange.binding_order import BindingOrder


def test_oldest_first_after_every_change() -> None:
    order = BindingOrder()
    bindings = [Binding("x", f"q{n}") for n in range(3)]
    for binding in bindings:
        order.add(binding)
    assert order.all() == bindings
    order.remove(bindings[1])
    assert order.all() == [bindings[0], bindings[2]]
    order.add(bindings[1])
    assert order.all() == [bindings[0], bindings[2], bindings[1]]
