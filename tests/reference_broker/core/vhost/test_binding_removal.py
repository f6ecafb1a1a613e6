"""Bindings that have lost an end go in portions, and end as if they had gone at once."""

from __future__ import annotations

import pytest

from reference_broker.core.base.ids import Ids
from reference_broker.core.exchange.binding import Binding
from reference_broker.core.exchange.exchange import Exchange, ExchangeType
from reference_broker.core.journal.definition_store import JournalDefinitions
from reference_broker.core.journal.journal import MemoryJournal
from reference_broker.core.vhost.binding_removal import BINDING_REMOVAL_UNITS, BindingRemoval
from reference_broker.core.vhost.topology import Topology
from reference_broker.core.vhost.vhost import VHost, VHostParts
from reference_broker.core.work.budget import UNLIMITED_UNITS, Budget
from reference_broker.core.work.until import NotYet


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


def chained(units: int = UNLIMITED_UNITS) -> tuple[Topology, Defined, Changes, Budget]:
    """x1 -> x2 -> ... -> x5, all auto-delete, each with a queue of its own too; x5 has three."""
    journal, changes = Defined(), Changes()
    host = VHost("/", VHostParts(journal, Ids(1)))
    budget = Budget()
    topology = Topology(
        "/", JournalDefinitions(journal), journal, changes, lambda queue: queue.end(), budget, {}
    )
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
    budget.units = budget.left = units
    return topology, journal, changes, budget


@pytest.mark.parametrize("gone", ["x1", "x3", "x5"])
def test_portions_end_as_the_whole_does(gone: str) -> None:
    whole, whole_journal, _, _ = chained()
    assert list(whole.drop_exchange(whole.exchanges[gone])) == []
    parts, journal, changes, budget = chained(units=1)
    steps, turns = parts.drop_exchange(parts.exchanges[gone]), 1
    assert gone not in parts.exchanges
    assert changes.count == 1
    for _ in steps:
        assert budget.left == 1 - BINDING_REMOVAL_UNITS, "one binding a turn"
        budget.refill()
        turns += 1
    assert changes.count == 1 + turns
    assert journal.written == whole_journal.written
    assert list(parts.exchanges) == list(whole.exchanges)
    assert [binding.identity for binding in parts.bindings] == [
        binding.identity for binding in whole.bindings
    ]


def test_a_queue_is_gone_at_once_and_its_bindings_by_and_by() -> None:
    topology, journal, _, budget = chained()
    topology.agree_without_queue(topology.queues["q2"])
    assert len(journal.written) == 1, "its definition goes first"
    steps = topology.drop_queue(topology.queues["q2"])
    assert "q2" not in topology.queues
    assert len(journal.written) == 1
    budget.left = 0
    next(steps)
    assert len(topology.bindings) == 7
    with pytest.raises(NotYet):
        topology.require_gone("q2", is_queue=True)
    budget.refill()
    assert list(steps) == []
    topology.require_gone("q2", is_queue=True)
    assert len(topology.bindings) == 6
    assert len(topology.exchanges["x5"].bindings) == 2


def test_what_was_removed_meanwhile_is_passed_over() -> None:
    topology, journal, _, _ = chained()
    steps = topology.drop_queue(topology.queues["q2"])
    list(topology.drop_exchange(topology.exchanges["x5"]))
    written = len(journal.written)
    list(steps)
    assert len(journal.written) == written


def test_another_exchange_of_the_sources_name_keeps_what_it_has() -> None:
    topology, _, _, _ = chained()
    steps = topology.drop_exchange(topology.exchanges["x5"])
    topology.add_exchange(Exchange("x5", ExchangeType.FANOUT))
    topology.add_binding(Binding("x5", "q5", "new"))
    list(steps)
    assert [binding.key for binding in topology.exchanges["x5"].bindings.values()] == ["new"]


def test_a_single_binding_takes_its_source_along() -> None:
    topology, _, _, _ = chained()
    removal = BindingRemoval(topology, list(topology.exchanges["x5"].bindings.values()))
    assert removal.advance(Budget())
    assert not [name for name in topology.exchanges if name.startswith("x")]
