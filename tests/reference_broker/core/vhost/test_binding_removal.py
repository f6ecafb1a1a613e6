"""Bindings that have lost an end go in portions, and end as if they had gone at once."""

from __future__ import annotations

import pytest

from reference_broker.core.base.deadlines import Deadlines
from reference_broker.core.base.ids import Ids
from reference_broker.core.base.moment import Moment
from reference_broker.core.exchange.binding import Binding
from reference_broker.core.exchange.exchange import Exchange, ExchangeType
from reference_broker.core.journal.journal import MemoryJournal
from reference_broker.core.vhost.binding_removal import BINDING_REMOVAL_UNITS, BindingRemoval
from reference_broker.core.vhost.topology import Topology
from reference_broker.core.vhost.vhost import VHost
from reference_broker.core.work.budget import Budget


class Defined(MemoryJournal):
    """Keeps each definition that is written, in order."""

    def __init__(self) -> None:
        super().__init__(1)
        self.written: list[tuple[str, bytes | None]] = []

    def define(self, key: str, value: bytes | None) -> None:
        super().define(key, value)
        self.written.append((key, value))


class Changes:
    """Counts the changes of a topology."""

    def __init__(self) -> None:
        self.count = 0

    def __call__(self) -> None:
        self.count += 1


def chained() -> tuple[Topology, Defined, Changes]:
    """x1 -> x2 -> ... -> x5, all auto-delete, each with a queue of its own too; x5 has three."""
    journal, changes = Defined(), Changes()
    host = VHost("/", journal=journal, moment=Moment(), deadlines=Deadlines(), ids=Ids(1))
    topology = Topology("/", journal, changes)
    for number in range(1, 6):
        topology.add_exchange(Exchange(f"x{number}", ExchangeType.TOPIC, auto_delete=True))
        queue = host.declare_queue(f"q{number}", durable=True)
        topology.add_queue(queue)
    bindings = [Binding(f"x{n}", f"x{n + 1}", destination_is_queue=False) for n in range(1, 5)]
    bindings += [Binding("x5", f"q{n}", f"k{n}", durable=True) for n in range(1, 4)]
    for binding in bindings:
        topology.add_binding(binding)
    journal.written.clear()
    changes.count = 0
    return topology, journal, changes


@pytest.mark.parametrize("gone", ["x1", "x3", "x5"])
def test_portions_end_as_the_whole_does(gone: str) -> None:
    whole, whole_journal, _ = chained()
    whole.drop_exchange(whole.exchanges[gone])
    parts, journal, changes = chained()
    removal = parts.take_out_exchange(parts.exchanges[gone])
    assert gone not in parts.exchanges
    assert changes.count == 1
    budget, turns = Budget(1), 1
    while not removal.advance(budget):
        assert budget.left == 1 - BINDING_REMOVAL_UNITS, "one binding a turn"
        budget.refill()
        turns += 1
    assert changes.count == 1 + turns
    assert journal.written == whole_journal.written
    assert list(parts.exchanges) == list(whole.exchanges)
    assert [binding.identity for binding in parts.bindings] == [
        binding.identity for binding in whole.bindings
    ]
    assert removal.advance(Budget()), "nothing is left to do"


def test_a_queue_is_gone_at_once_and_its_bindings_by_and_by() -> None:
    topology, journal, _ = chained()
    removal = topology.take_out_queue(topology.queues["q2"])
    assert "q2" not in topology.queues
    assert len(removal) == 1
    assert len(journal.written) == 1, "its definition goes first"
    assert not removal.advance(Budget(0))
    assert len(topology.bindings) == 7
    assert removal.advance(Budget())
    assert len(topology.bindings) == 6
    assert len(topology.exchanges["x5"].bindings) == 2


def test_what_was_removed_meanwhile_is_passed_over() -> None:
    topology, journal, _ = chained()
    removal = topology.take_out_queue(topology.queues["q2"])
    topology.drop_exchange(topology.exchanges["x5"])
    written = len(journal.written)
    assert removal.advance(Budget())
    assert len(journal.written) == written


def test_another_exchange_of_the_sources_name_keeps_what_it_has() -> None:
    topology, _, _ = chained()
    removal = topology.take_out_exchange(topology.exchanges["x5"])
    topology.add_exchange(Exchange("x5", ExchangeType.FANOUT))
    topology.add_binding(Binding("x5", "q5", "new"))
    assert removal.advance(Budget())
    assert [binding.key for binding in topology.exchanges["x5"].bindings.values()] == ["new"]


def test_a_single_binding_takes_its_source_along() -> None:
    topology, _, _ = chained()
    removal = BindingRemoval(topology, list(topology.exchanges["x5"].bindings.values()))
    assert removal.advance(Budget())
    assert not [name for name in topology.exchanges if name.startswith("x")]
