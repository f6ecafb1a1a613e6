"""The exchanges, queues and bindings of a virtual host, and what must hold between them.

The law: a binding's two ends exist; an auto-delete exchange goes with the last binding from it;
what survives a restart is a definition, and nothing else is, unless definitions are shared. Nobody
is asked whether a change is allowed: that is the virtual host's part. Each change has two halves:
``agree_on`` it, or ``agree_without`` an object, in the definition store, and then make it here. In
a cluster the view makes the second half, on every node.

A definition goes before what depends on it does: a crash in between leaves bindings without an end,
which :meth:`Topology.restore` removes, and never an object that has lost some.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING

from reference_broker.core.access import access_definition
from reference_broker.core.exchange.binding import Binding
from reference_broker.core.exchange.binding_table import BindingTable
from reference_broker.core.exchange.definitions import (
    QueueDefinition,
    binding_key,
    decode_binding,
    decode_exchange,
    decode_queue,
    encode_binding,
    encode_exchange,
    encode_queue,
    exchange_key,
    inner_queue_key,
    queue_key,
)
from reference_broker.core.exchange.exchange import (
    DEFAULT_EXCHANGE,
    Exchange,
    predeclared_exchanges,
)
from reference_broker.core.journal.definition_keys import (
    BINDING,
    EXCHANGE,
    INNER_QUEUES,
    QUEUE,
    QUEUE_SEEN,
    key_prefix,
)
from reference_broker.core.journal.definition_store import Change, DefinitionStore
from reference_broker.core.journal.journal import Journal
from reference_broker.core.queue.delayed_returns import restore_delays
from reference_broker.core.queue.delivery_counts import restore_counts
from reference_broker.core.queue.queue import Queue
from reference_broker.core.remote.remote_queue import RemoteQueue
from reference_broker.core.vhost.binding_removal import BindingRemoval
from reference_broker.core.vhost.queue_declaration import stored_queue
from reference_broker.core.vhost.topology_size import (
    NODE_BYTES,
    binding_bytes,
    exchange_bytes,
    queue_bytes,
)
from reference_broker.core.work.budget import DECLARATION_UNITS, Budget
from reference_broker.core.work.task import Steps, tell_each
from reference_broker.core.work.until import NotYet, Until

if TYPE_CHECKING:
    from reference_broker.core.vhost.vhost import VHost

AGREED_WITH_AN_OBJECT_MAX = 64
"""Auto-delete exchanges that go with an object in one agreement: a transaction of etcd takes some
hundred changes."""

BINDINGS_PER_UNIT = 32
"""Bindings that are looked at in the time of a unit."""


class Topology:
    """The objects of one virtual host. ``exchanges`` and ``queues`` are in order of declaration;
    only methods here change them. ``queues_by_id`` has inner queues too, and those of the broker's
    other virtual hosts; but none whose home is another node.

    ``changed`` is called after every change that can alter a route, and ``end_queue`` with an inner
    queue that is gone. What goes with many bindings goes in steps, some in each turn; call
    :meth:`require_gone` before its name is given again.
    """

    def __init__(
        self,
        vhost_name: str,
        definitions: DefinitionStore,
        journal: Journal,
        changed: Callable[[], None],
        end_queue: Callable[[Queue], None],
        budget: Budget,
        queues_by_id: dict[int, Queue],
    ) -> None:
        self.exchanges: dict[str, Exchange] = {
            exchange.name: exchange for exchange in predeclared_exchanges()
        }
        self.queues: dict[str, Queue] = {}
        self.queues_by_id = queues_by_id
        self.bindings = BindingTable()
        self.held_bytes = 0
        """Accounted bytes of all of them, but for those that every virtual host begins with."""
        self._vhost_name = vhost_name
        self._vhost_key = access_definition.key_of(access_definition.VHOST, vhost_name)
        self._definitions = definitions
        self._journal = journal
        self.changed = changed
        self._end_queue = end_queue
        self._budget = budget
        self._gone = Until()
        """The end of the removal that is just going on."""
        self.leaving: dict[tuple[bool, str], Until] = {}
        """Queues (true) and exchanges that are gone, and have bindings that are still to go."""

    # Agreeing. Each raises what encoding a definition raises, and what the store raises, before
    # anything is changed.

    def agree_on_exchange(self, exchange: Exchange) -> None:
        """Have an exchange whose name is free be defined; :meth:`add_exchange` follows."""
        if exchange.durable or self._definitions.shared:
            self._definitions.agree((self._definition_of(exchange),))

    def _definition_of(self, exchange: Exchange) -> Change:
        key = exchange_key(self._vhost_name, exchange.name)
        return Change(key, encode_exchange(exchange), (self._vhost_key,))

    def agree_on_queue(self, queue: QueueDefinition) -> None:
        """Have a queue whose name is free be defined; :meth:`add_queue` follows."""
        if queue.survives_restart or self._definitions.shared:
            key = queue_key(self._vhost_name, queue.name)
            lasts = queue.survives_restart
            change = Change(key, encode_queue(queue), (self._vhost_key,), with_node=not lasts)
            self._definitions.agree((change,))

    def agree_on_binding(self, binding: Binding) -> None:
        """Have a binding that is not there yet be defined; :meth:`add_binding` follows."""
        if self._definitions.shared:
            self._definitions.agree(self._shared_binding(binding))
        elif binding.durable:
            key = binding_key(self._vhost_name, binding)
            self._definitions.agree((Change(key, encode_binding(binding)),))

    def _shared_binding(self, binding: Binding) -> Iterable[Change]:
        """The definition of a binding; an auto-delete exchange is written along with one from it,
        so that nobody else deletes it for want of a binding at the same time."""
        name = self._vhost_name
        key_of_end = queue_key if binding.destination_is_queue else exchange_key
        source_key = exchange_key(name, binding.source)
        ends = (self._vhost_key, source_key, key_of_end(name, binding.destination))
        yield Change(binding_key(name, binding), encode_binding(binding), ends)
        source = self.exchanges[binding.source]
        if source.auto_delete:
            yield self._definition_of(source)

    def agree_without_exchange(self, exchange: Exchange) -> None:
        """Have an exchange be defined no more; :meth:`drop_exchange` follows."""
        changes = [Change(exchange_key(self._vhost_name, exchange.name), None)]
        if self._definitions.shared:
            going = self.bindings.to(exchange.name, is_queue=False)
            changes += self._unbound_without(going, {(False, exchange.name)})
        elif not exchange.durable:
            return
        self._definitions.agree(changes)

    def agree_without_queue(self, queue: Queue) -> None:
        """Have a queue be defined no more; :meth:`drop_queue` follows."""
        changes = [Change(queue_key(self._vhost_name, queue.name), None)]
        if self._definitions.shared:
            going = self.bindings.to(queue.name, is_queue=True)
            changes += self._unbound_without(going, {(True, queue.name)})
        elif not survives_restart(queue):
            return
        self._definitions.agree(changes)

    def agree_without_binding(self, binding: Binding) -> None:
        """Have a binding be defined no more; :meth:`drop_binding` follows."""
        changes = [Change(binding_key(self._vhost_name, binding), None)]
        if self._definitions.shared:
            source = self.exchanges.get(binding.source)
            if source is not None and source.auto_delete and len(source.bindings) == 1:
                changes.append(Change(exchange_key(self._vhost_name, source.name), None))
                going = self.bindings.to(source.name, is_queue=False)
                changes += self._unbound_without(going, {(False, source.name)})
        elif not binding.durable:
            return
        self._definitions.agree(changes)

    # Forgetting: the virtual host goes, and what is in it with it.

    def forget_exchange(self, exchange: Exchange) -> None:
        """Have an exchange be defined no more; :meth:`drop_exchange` follows."""
        if exchange.durable or self._definitions.shared:
            self._definitions.forget(exchange_key(self._vhost_name, exchange.name))

    def forget_queue(self, queue: Queue) -> None:
        """Have a queue be defined no more; :meth:`drop_queue` follows."""
        if survives_restart(queue) or self._definitions.shared:
            self._definitions.forget(queue_key(self._vhost_name, queue.name))

    def _unbound_without(
        self, going: list[Binding], gone: set[tuple[bool, str]]
    ) -> Iterator[Change]:
        """The auto-delete exchanges that have no binding left when ``going`` are gone, which are
        all that lead to ``gone``; as many as one agreement takes. What is left over goes for want
        of a binding, later (:meth:`DefinitionStore.forget`)."""
        room = AGREED_WITH_AN_OBJECT_MAX
        while going and room:
            self._budget.left -= len(going) // BINDINGS_PER_UNIT
            sources = {binding.source for binding in going}
            going = []
            for name in sorted(sources):
                source = self.exchanges.get(name)
                place = (False, name)
                if not room or place in gone or source is None or not source.auto_delete:
                    continue
                leads = (
                    (it.destination_is_queue, it.destination) for it in source.bindings.values()
                )
                if all(end in gone for end in leads):
                    gone.add(place)
                    room -= 1
                    yield Change(exchange_key(self._vhost_name, name), None)
                    going += self.bindings.to(name, is_queue=False)

    # Adding

    def add_exchange(self, exchange: Exchange) -> None:
        """Add an exchange whose name is free, with its inner queues."""
        self._budget.left -= DECLARATION_UNITS
        self._enter_exchange(exchange)
        for kind, queue in exchange.inner_queues().items():
            self._define_inner(kind, exchange.name, queue)
        self.changed()

    def _enter_exchange(self, exchange: Exchange) -> None:
        if exchange.name not in self.exchanges:  # a start finds those that are always there
            self.held_bytes += exchange_bytes(exchange)
        self.exchanges[exchange.name] = exchange

    def _define_inner(self, kind: str, owner_name: str, queue: Queue) -> None:
        self._enter_inner(queue)
        if queue.durable:
            inner = QueueDefinition(queue.id, queue.name, False, {})
            key = inner_queue_key(kind, self._vhost_name, owner_name)
            self._journal.define(key, encode_queue(inner))

    def _enter_inner(self, queue: Queue) -> None:
        self.queues_by_id[queue.id] = queue
        self.held_bytes += queue_bytes(queue)

    def _drop_inner(self, kind: str, owner_name: str, queue: Queue) -> None:
        if queue.durable:
            key = inner_queue_key(kind, self._vhost_name, owner_name)
            self._journal.define(key, None)
        del self.queues_by_id[queue.id]
        self.held_bytes -= queue_bytes(queue)
        self._end_queue(queue)

    def add_queue(self, queue: Queue) -> None:
        """Add a queue whose name is free, with its deduplication window."""
        self._budget.left -= DECLARATION_UNITS
        self._enter_queue(queue)
        if queue.deduplication is not None:
            self._define_inner(QUEUE_SEEN, queue.name, queue.deduplication.queue)
        self.changed()

    def _enter_queue(self, queue: Queue) -> None:
        self.queues[queue.name] = queue
        if not isinstance(queue, RemoteQueue):
            self.queues_by_id[queue.id] = queue
        self.held_bytes += queue_bytes(queue)

    def add_binding(self, binding: Binding) -> None:
        """Add a binding that is not there yet. Its ends exist, and its source can take its
        arguments."""
        self._budget.left -= DECLARATION_UNITS
        self._enter(binding)
        self.changed()

    # Removing

    def require_gone(self, name: str, *, is_queue: bool) -> None:
        """Raises :exc:`NotYet` while bindings of an earlier queue or exchange of that name are
        going."""
        until = self.leaving.get((is_queue, name))
        if until is not None:
            raise NotYet(until)

    def drop_exchange(self, exchange: Exchange) -> Steps:
        """Remove the exchange with its inner queues, now, and then every binding from it and to it,
        and the auto-delete exchanges that those were the last bindings of."""
        removal = BindingRemoval(self, self._take_out(exchange))
        return self._leaves((False, exchange.name), removal)

    def drop_queue(self, queue: Queue) -> Steps:
        """Remove the queue, now, and then its bindings, and the auto-delete exchanges that those
        were the last bindings of. Its messages and consumers are left alone."""
        del self.queues[queue.name]
        self.queues_by_id.pop(queue.id, None)  # which has those of this node alone
        self.held_bytes -= queue_bytes(queue)
        if queue.deduplication is not None:
            self._drop_inner(QUEUE_SEEN, queue.name, queue.deduplication.queue)
        removal = BindingRemoval(self, self.bindings.to(queue.name, is_queue=True))
        return self._leaves((True, queue.name), removal)

    def drop_binding(self, binding: Binding) -> Steps:
        """Remove the binding, now, and its source if that is an auto-delete exchange without
        another binding; then what goes with that."""
        self._gone = Until()
        chained = self._take_out_binding(binding)
        self.changed()
        return self._steps(BindingRemoval(self, chained), self._gone)

    def _leaves(self, place: tuple[bool, str], removal: BindingRemoval) -> Steps:
        gone = self.leaving[place] = Until()
        self.changed()
        return self._steps(removal, gone)

    def _steps(self, removal: BindingRemoval, gone: Until) -> Steps:
        """The steps of a removal; exchanges that go with their last binding are leaving, too."""
        while True:
            self._gone = gone
            if removal.advance(self._budget):
                break
            yield None
        for place in [place for place, until in self.leaving.items() if until is gone]:
            del self.leaving[place]
        yield from tell_each(gone, self._budget)

    def remove_binding(self, binding: Binding) -> Iterable[Binding]:
        """Remove one binding; what has lost an end by that, where its source was an auto-delete
        exchange and this its last one. Does nothing for a binding that is gone already. For
        :class:`BindingRemoval`, which says when routes have changed."""
        if self.bindings.get(binding.identity) is not binding:
            return ()  # it was on the list twice: from one exchange that went, to another
        if binding.durable or self._definitions.shared:
            self._definitions.forget(binding_key(self._vhost_name, binding))
        return self._take_out_binding(binding)

    def _take_out_binding(self, binding: Binding) -> Iterable[Binding]:
        self.bindings.remove(binding)
        self.held_bytes -= binding.held_bytes
        source = self.exchanges.get(binding.source)
        if source is None or source.bindings.get(binding.identity) is not binding:
            return ()  # the source went first
        nodes = source.nodes
        source.remove(binding)
        self.held_bytes -= (nodes - source.nodes) * NODE_BYTES
        if source.bindings or not source.auto_delete:
            return ()
        if source.durable or self._definitions.shared:
            self._definitions.retire(exchange_key(self._vhost_name, source.name))
        if self._definitions.shared:
            return ()
        self.leaving[False, source.name] = self._gone
        return self._take_out(source)

    def _take_out(self, exchange: Exchange) -> Iterable[Binding]:
        """Remove the exchange with its inner queues; returns the bindings that have lost an end by
        it."""
        del self.exchanges[exchange.name]
        self.held_bytes -= exchange_bytes(exchange) + exchange.nodes * NODE_BYTES
        for kind, queue in exchange.inner_queues().items():
            self._drop_inner(kind, exchange.name, queue)
        return chain(exchange.bindings.values(), self.bindings.to(exchange.name, is_queue=False))

    def _enter(self, binding: Binding) -> None:
        source = self.exchanges[binding.source]
        nodes = source.nodes
        source.add(binding)
        self.bindings.add(binding)
        binding.held_bytes = binding_bytes(binding, source)
        self.held_bytes += binding.held_bytes + (source.nodes - nodes) * NODE_BYTES

    # Listing

    def bindings_from(self, source: str) -> list[Binding]:
        """The bindings from an exchange, oldest first; every queue has one from the default
        exchange that nobody declared. Empty where there is no such exchange."""
        if source == DEFAULT_EXCHANGE:
            return [_implicit_binding(name) for name in self.queues]
        exchange = self.exchanges.get(source)
        return [] if exchange is None else list(exchange.bindings.values())

    def bindings_to(self, destination: str, *, is_queue: bool) -> list[Binding]:
        """The bindings to a queue, the implicit one included, or to an exchange."""
        bindings = self.bindings.to(destination, is_queue=is_queue)
        if is_queue and destination in self.queues:
            bindings.insert(0, _implicit_binding(destination))
        return bindings

    # Recovery

    def restore(
        self,
        definitions: Mapping[str, bytes],
        make_queue: Callable[[QueueDefinition, int | None], Queue],
        make_inner: Callable[[Exchange, Mapping[str, int]], None],
    ) -> None:
        """Take up the definitions of this virtual host, in the order of their declaration. A
        binding that has lost an end, or an inner queue its owner, is removed from the journal.

        Raises :exc:`Corrupt` for a definition that can't be read.
        """
        for _, value in self._defined(EXCHANGE, definitions):
            exchange = decode_exchange(value)
            self._enter_exchange(exchange)
        self._restore_inner(definitions, make_inner)
        queues = [decode_queue(value) for _, value in self._defined(QUEUE, definitions)]
        seen = self._inner_ids(QUEUE_SEEN, definitions)
        for wanted in sorted(queues, key=lambda queue: queue.id):
            queue = make_queue(wanted, seen.get(wanted.name))
            self._enter_queue(queue)
            if queue.deduplication is None:
                continue
            if seen.pop(queue.name, None) == queue.deduplication.queue.id:
                self._enter_inner(queue.deduplication.queue)
            else:
                self._define_inner(QUEUE_SEEN, queue.name, queue.deduplication.queue)
        self._forget_inner(QUEUE_SEEN, seen)
        bindings = [
            (decode_binding(value), key) for key, value in self._defined(BINDING, definitions)
        ]
        for binding, key in sorted(bindings, key=lambda entry: entry[0].number):
            ends = self.queues if binding.destination_is_queue else self.exchanges
            if binding.source in self.exchanges and binding.destination in ends:
                self._enter(binding)
            else:
                self._definitions.forget(key)
        self.changed()

    def _restore_inner(
        self,
        definitions: Mapping[str, bytes],
        make_inner: Callable[[Exchange, Mapping[str, int]], None],
    ) -> None:
        ids = {kind: self._inner_ids(kind, definitions) for kind in INNER_QUEUES}
        for exchange in self.exchanges.values():
            known = {
                kind: named[exchange.name] for kind, named in ids.items() if exchange.name in named
            }
            make_inner(exchange, known)
            for kind, queue in exchange.inner_queues().items():
                if ids[kind].pop(exchange.name, None) == queue.id:
                    self._enter_inner(queue)
                else:
                    self._define_inner(kind, exchange.name, queue)
        for kind, left in ids.items():
            self._forget_inner(kind, left)

    def _inner_ids(self, kind: str, definitions: Mapping[str, bytes]) -> dict[str, int]:
        """Ids of the inner queues of a kind, by the names of their owners."""
        prefix = key_prefix(kind, self._vhost_name)
        return {
            key.removeprefix(prefix): decode_queue(value).id
            for key, value in self._defined(kind, definitions)
        }

    def _forget_inner(self, kind: str, owner_names: Iterable[str]) -> None:
        """Remove inner queues that have lost their owners from the journal."""
        for name in owner_names:
            self._journal.define(inner_queue_key(kind, self._vhost_name, name), None)

    def _defined(self, kind: str, definitions: Mapping[str, bytes]) -> Iterator[tuple[str, bytes]]:
        """The entries of one kind, in order of their keys: how the journal orders them, and
        whether it keeps doing so, must not matter."""
        prefix = key_prefix(kind, self._vhost_name)
        for key in sorted(definitions):
            if key.startswith(prefix):
                yield key, definitions[key]


def survives_restart(queue: Queue) -> bool:
    """True for a queue that outlives a restart: an exclusive one ends with its connection, durable
    or not."""
    return queue.durable and queue.owner is None


def _implicit_binding(queue_name: str) -> Binding:
    return Binding(DEFAULT_EXCHANGE, queue_name, queue_name)


def restore_vhost(vhost: VHost, topology: Topology, definitions: Mapping[str, bytes]) -> None:
    """Take up the definitions of ``vhost`` into it and its ``topology``, both new: policies first,
    since queues and exchanges have theirs from the first moment.

    Raises :exc:`Corrupt` for a definition that can't be read.
    """
    vhost.policies.restore(definitions)
    topology.restore(definitions, partial(stored_queue, vhost), vhost.inner_queues.restore_exchange)
    restore_counts(definitions, vhost.name, topology.queues_by_id, vhost.journal)
    restore_delays(definitions, vhost.name, topology.queues_by_id, vhost.journal)
    for exchange in vhost.exchanges.values():
        vhost.policies.adopt_exchange(exchange)
