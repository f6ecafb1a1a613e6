"""deletions: each of its rules finds the record that breaks it, and passes one that doesn't."""

from __future__ import annotations

import pytest

from reference_broker.cluster.coordinator import Changed, Event
from reference_broker.cluster.definitions.shared_value import SharedValue, encode
from reference_broker.cluster.membership.records import LiveRecord, NodeState, encoded
from reference_broker.core.exchange.binding import Binding
from reference_broker.core.exchange.definitions import (
    QueueDefinition,
    encode_binding,
    encode_exchange,
    encode_queue,
)
from reference_broker.core.exchange.exchange import Exchange, ExchangeType
from reference_broker.simulation.cluster.deletions import KEPT, Deletions
from reference_broker.simulation.cluster.laws import LawBroken
from reference_broker.simulation.etcd.witness import Record

QUEUE, EXCHANGE, BINDING = f"queue/%2F/{KEPT}", f"exchange/%2F/{KEPT}", "binding/%2F/1"


class History:
    """A record, written transaction by transaction; a value of ``None`` deletes."""

    def __init__(self) -> None:
        self.record = Record()
        self.deletions = Deletions(self.record, "/p/")

    def write(self, **values: SharedValue | None) -> int:
        keys = {"queue": QUEUE, "exchange": EXCHANGE, "binding": BINDING, "a": "queue/%2F/a"}
        revision = self.record.revision + 1
        events = [
            Event(f"/p/def/{keys[name]}", None if value is None else encode(value), revision)
            for name, value in values.items()
        ]
        self.record.add(Changed(revision, tuple(events)))
        return revision

    def node_is_there(self, run: int) -> None:
        revision = self.record.revision + 1
        live = encoded(LiveRecord(run, NodeState.UP, ""))
        self.record.add(Changed(revision, (Event("/p/live/n", live, revision),)))


def _queue(name: str = KEPT, id: int = 1, *, exclusive: bool = False, run: int = 0) -> SharedValue:
    queue = QueueDefinition(id, name, False, {}, True, exclusive)
    return SharedValue(encode_queue(queue), home="n", run=run)


def _exchange(*, auto_delete: bool, made_at: int = 0) -> SharedValue:
    exchange = Exchange(KEPT, ExchangeType.FANOUT, auto_delete=auto_delete)
    return SharedValue(encode_exchange(exchange), made_at)


def _binding(exchange_at: int) -> SharedValue:
    binding = Binding(KEPT, KEPT, durable=True)
    return SharedValue(encode_binding(binding), speaks_of=((EXCHANGE, exchange_at),))


def test_what_clients_delete_may_go() -> None:
    history = History()
    history.write(a=_queue("a"))
    history.write(a=None)
    assert history.deletions.hold() == 1


def test_what_clients_keep_may_not() -> None:
    history = History()
    history.write(queue=_queue())
    history.write(queue=None)
    with pytest.raises(LawBroken, match="clients keep it"):
        history.deletions.hold()


def test_a_binding_goes_with_its_exchange_and_not_by_itself() -> None:
    history = History()
    at = history.write(exchange=_exchange(auto_delete=True))
    history.write(binding=_binding(at), exchange=_exchange(auto_delete=True, made_at=at))
    history.write(binding=None, exchange=None)
    assert history.deletions.hold() == 1
    history.write(exchange=_exchange(auto_delete=True))
    again = history.record.revision
    history.write(binding=_binding(again), exchange=_exchange(auto_delete=True, made_at=again))
    history.write(exchange=_exchange(auto_delete=True))  # as if it were another one
    with pytest.raises(LawBroken, match="binding/%2F/1 is gone, and nobody has deleted it"):
        Deletions(history.record, "/p/").hold()


@pytest.mark.parametrize("bound", [True, False])
def test_an_auto_delete_exchange_goes_with_its_last_binding(bound: bool) -> None:
    history = History()
    at = history.write(exchange=_exchange(auto_delete=True))
    if bound:
        history.write(
            binding=SharedValue(_binding(at).body), exchange=_exchange(auto_delete=True, made_at=at)
        )
    history.write(exchange=None)
    with pytest.raises(LawBroken, match="it has a binding" if bound else "it never had a binding"):
        history.deletions.hold()


@pytest.mark.parametrize("ended", ["before", "after", "never", "with its node"])
def test_an_exclusive_queue_goes_when_its_connection_has_ended(ended: str) -> None:
    history = History()
    history.node_is_there(run=1)
    history.write(queue=_queue(exclusive=True, run=1))
    history.deletions.declared(1)
    if ended == "before":
        history.deletions.let_go(1)
        history.write(a=_queue("a", 2))
    if ended == "with its node":
        history.node_is_there(run=2)
    history.write(queue=None)
    if ended == "after":
        history.deletions.let_go(1)
    if ended in ("before", "with its node"):
        history.deletions.hold()
    else:
        with pytest.raises(LawBroken, match="its connection is there"):
            history.deletions.hold()


def test_an_id_does_not_come_again() -> None:
    history = History()
    history.write(a=_queue("a", 7))
    history.write(a=None)
    history.write(queue=_queue(id=7))
    with pytest.raises(LawBroken, match="has the id 7 of"):
        history.deletions.hold()
