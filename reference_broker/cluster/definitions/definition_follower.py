"""The follower of the definitions in a node's view: it makes the broker's objects of them, changes
them and ends them, and decides nothing.

The law: what is there at a revision hangs on the definitions of that revision alone, on every node
alike. So an auto-delete exchange goes when its key does, and not with its last binding; and a
definition that speaks of what is not there, or of another object of that name, is nobody's.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import NamedTuple, Protocol
from urllib.parse import unquote

from reference_broker.cluster.coordinator import Event
from reference_broker.cluster.definitions.placement import NodeRun
from reference_broker.cluster.definitions.shared_value import SharedValue, decode
from reference_broker.cluster.metadata.keys import DEFINITIONS
from reference_broker.core.access import access_definition
from reference_broker.core.broker import Broker
from reference_broker.core.exchange.binding import Binding
from reference_broker.core.exchange.definitions import (
    decode_binding,
    decode_exchange,
    decode_queue,
)
from reference_broker.core.journal.definition_keys import BINDING, EXCHANGE, QUEUE
from reference_broker.core.policy.global_parameters import GLOBAL_PARAMETER
from reference_broker.core.policy.policy import PolicyKind
from reference_broker.core.policy.policy_definition import decode_policy
from reference_broker.core.remote.ports import Home, Homes
from reference_broker.core.work.task import Steps
from reference_broker.core.work.until import NotYet
from reference_broker.errors import AmqpError, Corrupt


class LeftoverKeeper(Protocol):
    """Who removes what is nobody's (:class:`~.leftovers.Leftovers`)."""

    def add(self, key: str) -> None:
        """The definition is nobody's."""
        ...


class OrphanKeeper(Protocol):
    """Who looks after what goes with its node (:class:`~.orphans.Orphans`)."""

    def entered(self, key: str, of: NodeRun) -> None:
        """The node has defined it, in that run."""
        ...

    def left(self, key: str, of: NodeRun) -> None:
        """It is gone."""
        ...


class HomeKeeper(Protocol):
    """Who knows where queues are (:class:`~.queue_homes.QueueHomes`)."""

    def entered(self, key: str, home: NodeRun) -> None:
        """A queue is there, with that home; 0 stands for whichever run it is in."""
        ...

    def left(self, key: str) -> None:
        """It is gone, if it was a queue."""
        ...


class _Definition(NamedTuple):
    key: str
    names: tuple[str, ...]
    value: SharedValue
    made_at: int
    is_new: bool


class DefinitionFollower:
    """The follower of the keys that begin with ``def/``, for the ``broker`` of a node of that name
    and run; ``homes`` are the other nodes. ``report`` is told, in a line, of a definition that
    can't be made anything of; the others go on."""

    def __init__(
        self,
        broker: Broker,
        node: str,
        run: int,
        homes: Homes,
        leftovers: LeftoverKeeper,
        orphans: OrphanKeeper,
        queue_homes: HomeKeeper,
        report: Callable[[str], None],
    ) -> None:
        self._broker = broker
        self._node = node
        self._run = run
        self._homes = homes
        self._leftovers = leftovers
        self._orphans = orphans
        self._queue_homes = queue_homes
        self._nodes: dict[str, NodeRun] = {}
        """The nodes that definitions go with, by key."""
        self._bound_once: dict[str, None] = {}
        """Auto-delete exchanges that were read, and had a binding before."""
        self._report = report
        self._made: dict[str, int] = {}
        self._bindings: dict[str, Binding] = {}
        self._here: dict[str, int] = {}
        """The ids of the queues that this node has, by key."""

    def made_at(self, key: str) -> int:
        """The revision that made the object of a definition; 0 for one that is not there."""
        return self._made.get(key, 0)

    def queue_ids_here(self) -> Collection[int]:
        """The ids of the queues whose messages this node has."""
        return frozenset(self._here.values())

    def forget(self, key: str) -> None:
        """The object has gone, since another one has."""
        self._made.pop(key, None)
        self._here.pop(key, None)
        self._bindings.pop(key, None)
        self._let_go(key)
        self._leftovers.add(key)

    def retire(self, key: str) -> None:
        """The object is there, and ought to go."""
        self._leftovers.add(key)

    def risen(self) -> None:
        """The view has a whole revision: an auto-delete exchange that had a binding, and has none,
        ought to go, whoever saw the last one go."""
        bound_once, self._bound_once = self._bound_once, {}
        for key in bound_once:
            vhost, name = _names_in(key)
            if self._made.get(key) and not self._broker.vhosts[vhost].exchanges[name].bindings:
                self._leftovers.add(key)

    def changed(self, event: Event) -> Steps:
        """See :class:`~reference_broker.cluster.metadata.view.Follower`."""
        key = event.key.removeprefix(DEFINITIONS)
        try:
            if event.value is None:
                yield from self._end(key)
                return
            value = decode(event.value)
            made_at = value.made_at or event.revision
            before = self._made.get(key, 0)
            if before and before != made_at:
                yield from self._end(key)
                before = 0
            if any(self.made_at(spoken_of) != at for spoken_of, at in value.speaks_of):
                yield from self._end(key)
                self._leftovers.add(key)
                return
            self._enter(_Definition(key, _names_in(key), value, made_at, not before))
            self._made[key] = made_at
            if value.run:
                self._nodes[key] = of = NodeRun(value.home, value.run)
                self._orphans.entered(key, of)
        except (AmqpError, Corrupt) as error:
            yield from self._end(key)  # a node that starts now does not have it either
            self._report(f"the definition {key!r} in etcd is left out: {error}")

    # Making

    def _enter(self, it: _Definition) -> None:
        kind = it.key.partition("/")[0]
        if len(it.names) != _NAMES.get(kind, len(it.names)):
            raise Corrupt("it has too few names, or too many")
        if kind == access_definition.VHOST:
            (name,) = it.names
            info = access_definition.decode_vhost(_fields(it))
            self._broker.enter_vhost(name, info)
        elif kind in _ACCESS:
            self._enter_access(kind, it)
        elif kind == GLOBAL_PARAMETER:
            self._broker.global_parameters.take(it.key.partition("/")[2], it.value.body)
        elif kind in _IN_VHOST:
            self._enter_in_vhost(kind, it)
        elif kind != access_definition.SET_UP:
            raise Corrupt("this version does not know its kind")

    def _enter_access(self, kind: str, it: _Definition) -> None:
        access, fields = self._broker.access, _fields(it)
        if kind == access_definition.USER:
            (user,) = it.names
            access.users.add(access_definition.decode_user(user, fields))
        elif kind == access_definition.PERMISSION:
            vhost, user = it.names
            access.put_permission(user, vhost, access_definition.decode_permission(fields))
        else:
            vhost, user, exchange = it.names
            topic = access_definition.decode_topic_permission(fields)
            access.put_topic_permission(user, vhost, exchange, topic)

    def _enter_in_vhost(self, kind: str, it: _Definition) -> None:
        vhost = self._broker.vhosts.get(it.names[0])
        if vhost is None:
            raise Corrupt("it does not speak of its virtual host")
        body = it.value.body
        if kind in _POLICIES:
            policy_kind = PolicyKind(kind)
            vhost.policies.put(policy_kind, decode_policy(policy_kind, body))
        elif not it.is_new:
            return  # an auto-delete exchange, written with a binding from it
        elif kind == EXCHANGE:
            exchange = decode_exchange(body)
            vhost.enter_exchange(exchange)
            if exchange.auto_delete and it.value.made_at:  # written once more, with a binding
                self._bound_once[it.key] = None
        elif kind == QUEUE:
            queue, home = decode_queue(body), self._home_of(it.value)
            if home is None:
                self._here[it.key] = queue.id
            vhost.enter_queue(queue, home)
            self._queue_homes.entered(it.key, NodeRun(it.value.home, it.value.run))
        else:
            binding = decode_binding(body)
            ends = vhost.queues if binding.destination_is_queue else vhost.exchanges
            if binding.source not in vhost.exchanges or binding.destination not in ends:
                raise Corrupt("it does not speak of its ends")
            binding.number = it.made_at
            self._bindings[it.key] = binding
            vhost.enter_binding(binding)

    def _home_of(self, value: SharedValue) -> Home | None:
        """The other node whose queue a definition is; ``None`` where it is this one's. What an
        earlier run of this node has left of what goes with it is nobody's here."""
        is_ours = value.home == self._node and value.run in (0, self._run)
        return None if is_ours else self._homes.home(value.home)

    # Ending

    def _end(self, key: str) -> Steps:
        """The steps of ending the object of a definition, if there is one."""
        if self._made.pop(key, 0) == 0:
            return
        self._here.pop(key, None)
        self._let_go(key)
        kind, names = key.partition("/")[0], _names_in(key)
        if kind == access_definition.VHOST:
            yield from self._end_vhost(names[0])
        elif kind in _ACCESS:
            self._end_access(kind, names)
        elif kind == GLOBAL_PARAMETER:
            self._broker.global_parameters.take(key.partition("/")[2], None)
        elif kind in _IN_VHOST:
            yield from self._end_in_vhost(kind, key, names)

    def _let_go(self, key: str) -> None:
        of = self._nodes.pop(key, None)
        if of is not None:
            self._orphans.left(key, of)
        self._queue_homes.left(key)

    def _end_vhost(self, name: str) -> Steps:
        while name in self._broker.vhosts:
            try:
                steps = self._broker.end_vhost(self._broker.vhosts[name])
            except NotYet as wait:  # an import has the lock
                yield wait.until
            else:
                yield from steps

    def _end_access(self, kind: str, names: tuple[str, ...]) -> None:
        access = self._broker.access
        if kind == access_definition.USER:
            self._broker.end_user(names[0])
        elif kind == access_definition.PERMISSION:
            vhost, user = names
            access.put_permission(user, vhost, None)
        else:
            vhost, user, exchange = names
            access.put_topic_permission(user, vhost, exchange, None)

    def _end_in_vhost(self, kind: str, key: str, names: tuple[str, ...]) -> Steps:
        vhost = self._broker.vhosts[names[0]]
        if kind in _POLICIES:
            vhost.policies.drop(PolicyKind(kind), names[1])
        elif kind == EXCHANGE:
            yield from vhost.leave_exchange(vhost.exchanges[names[1]])
        elif kind == QUEUE:
            yield from vhost.leave_queue(vhost.queues[names[1]])
        else:
            yield from vhost.leave_binding(self._bindings.pop(key))


_ACCESS = (
    access_definition.USER,
    access_definition.PERMISSION,
    access_definition.TOPIC_PERMISSION,
)
_NAMES = {
    access_definition.VHOST: 1,
    access_definition.USER: 1,
    access_definition.PERMISSION: 2,
    access_definition.TOPIC_PERMISSION: 3,
}
"""The names in a key, by its kind."""
_POLICIES = tuple(map(str, PolicyKind))
_IN_VHOST = (*_POLICIES, EXCHANGE, QUEUE, BINDING)


def _names_in(key: str) -> tuple[str, ...]:
    """The names of the object; of one in a virtual host, that and its own."""
    kind, _, rest = key.partition("/")
    if kind in _IN_VHOST:
        vhost, _, name = rest.partition("/")
        return unquote(vhost), name
    return tuple(unquote(name, errors="surrogateescape") for name in rest.split("/"))


def _fields(it: _Definition) -> Mapping[str, object]:
    return access_definition.fields_of(it.key.partition("/")[0], it.value.body)
