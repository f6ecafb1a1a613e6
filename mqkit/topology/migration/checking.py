"""The check before a migration: what is to be done, and what stands against it. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from mqkit.declaration import Queue
from mqkit.errors import ConfigurationError
from mqkit.retry.compile import UNLIMITED_DELIVERIES
from mqkit.topology.live.product_rules import Answer, findings
from mqkit.topology.migration.migration import REJECTING, Held, Migration
from mqkit.topology.migration.names import (
    gate_name,
    inlet_name,
    is_too_long,
    outlet_name,
    temporary_name,
)
from mqkit.topology.model import QueueType, Topology
from mqkit.topology.planning.diff import Difference, differences_between
from mqkit.topology.planning.wanted import Wanted
from mqkit.topology.policy.comparing import PolicySet
from mqkit.topology.policy.in_force import Setting, type_of
from mqkit.topology.snapshot import LiveQueue, Snapshot

LIMITING = ("max-length", "max-length-bytes", "message-ttl", "expires", "overflow")
"""Policy keys by which the broker would throw away what waits in a temporary queue."""
DEAD_LETTERING = ("dead-letter-exchange", "dead-letter-routing-key")


@dataclass(frozen=True, slots=True)
class Checked:
    """The result: the migration, or ``refusals``, each a sentence that says what to do.

    ``in_the_gap`` are those that ``gap`` accepts, and they are refusals without it. Neither
    migration nor refusals: the queue is as the file says.
    """

    migration: Migration | None = None
    differences: tuple[Difference, ...] = ()
    refusals: tuple[str, ...] = ()
    in_the_gap: tuple[str, ...] = field(default=())


def check_migration(
    topology: Topology, snapshot: Snapshot, name: str, *, gap: bool = False
) -> Checked:
    """The migration of the queue ``name`` from what ``snapshot`` has to what ``topology`` says.

    Raises :exc:`~mqkit.errors.ConfigurationError` for a queue that one of the two does not have.
    """
    wanted = _wanted(topology, snapshot, name)
    live = _live(snapshot, name)
    differences = differences_between(wanted, live.queue)
    if not differences:
        return Checked()
    policies = PolicySet(snapshot.policies, snapshot.operator_policies)
    feeders = list(_feeders(snapshot, policies, name))
    held = [Held(it.queue, _keeper(it.queue)) for it in feeders if not _why_not_held(it, snapshot)]
    migration = Migration(
        snapshot.vhost,
        live.queue,
        wanted,
        _temporary(wanted, live.queue, policies),
        tuple(it for it in snapshot.bindings if not it.to_exchange and it.destination == name),
        tuple(held),
        _rejects(policies, live.queue),
        _rejects(policies, wanted),
    )
    refusals = [
        *_unfit(live.queue, wanted),
        *_refused_by_product(wanted, snapshot),
        *_dead_ends(wanted, snapshot),
        *_in_the_way(migration, snapshot),
        *_limited(migration, policies),
        *_too_many(policies.settings_on(wanted), live),
    ]
    in_the_gap = [why for it in feeders if (why := _why_not_held(it, snapshot))]
    if refusals or (in_the_gap and not gap):
        refusals += [f"{why}; stop that first, or accept it with --gap" for why in in_the_gap]
        return Checked(None, differences, tuple(refusals))
    return Checked(migration, differences, (), tuple(in_the_gap))


def _wanted(topology: Topology, snapshot: Snapshot, name: str) -> Queue:
    wanted = Wanted.of(topology, snapshot.policies)
    for declaration in wanted.declarations:
        if isinstance(declaration, Queue) and declaration.name == name:
            return declaration
    if name in wanted.external_queues:
        raise ConfigurationError(
            f"{topology.file} says that the queue {name!r} is external: whoever declares it has to"
            " migrate it"
        )
    raise ConfigurationError(f"there is no queue {name!r} in {topology.file}")


def _live(snapshot: Snapshot, name: str) -> LiveQueue:
    for live in snapshot.queues:
        if live.queue.name == name:
            return live
    raise ConfigurationError(
        f"there is no queue {name!r} in the vhost {snapshot.vhost!r}: `mqkit topology apply`"
        " declares it"
    )


def _temporary(wanted: Queue, old: Queue, policies: PolicySet) -> Queue:
    """No limit and no time to live. A message whose own time is over is dead-lettered as the old
    queue would. Replicated if one of the two is."""
    settings = policies.settings_on(old)
    dead = {f"x-{key}": settings[key].value for key in DEAD_LETTERING if key in settings}
    kinds = (type_of(wanted), type_of(old))
    return _keeping(temporary_name(old.name), QueueType.QUORUM in kinds, dead)


def _keeper(queue: Queue) -> Queue:
    """The queue that holds the messages of a tier. Nothing expires there."""
    return _keeping(temporary_name(queue.name), type_of(queue) is QueueType.QUORUM, {})


def _keeping(name: str, is_replicated: bool, arguments: dict[str, Any]) -> Queue:
    if is_replicated:
        kind = {"x-queue-type": "quorum", "x-delivery-limit": UNLIMITED_DELIVERIES}
        arguments = {**kind, **arguments}
    return Queue(name, arguments=arguments)


def _rejects(policies: PolicySet, queue: Queue) -> bool:
    overflow = policies.settings_on(queue).get("overflow")
    return overflow is not None and overflow.value in REJECTING


def _unfit(old: Queue, wanted: Queue) -> Iterator[str]:
    for queue, which in ((old, "the queue on the broker"), (wanted, "the queue of the file")):
        if queue.exclusive:
            yield f"{which} is exclusive: it ends with its connection, and is declared by it"
        if queue.auto_delete:
            yield f"{which} deletes itself when its last consumer goes, with what is in it"
        if type_of(queue) is QueueType.STREAM:
            yield f"{which} is a stream: its messages stay where they are when they are read"
    if is_too_long(old.name):
        yield f"the name has {len(old.name.encode())} octets: there is no room for a suffix"


def _refused_by_product(wanted: Queue, snapshot: Snapshot) -> Iterator[str]:
    if snapshot.product is not None:
        for rule in findings(wanted, snapshot.product):
            if rule.answer is Answer.REFUSED:
                yield f"{snapshot.product} would refuse the queue of the file: {rule.words}"


def _dead_ends(wanted: Queue, snapshot: Snapshot) -> Iterator[str]:
    """Dead letters of the new queue that would go nowhere."""
    exchange = wanted.arguments.get("x-dead-letter-exchange")
    key = wanted.arguments.get("x-dead-letter-routing-key")
    queues = {live.queue.name for live in snapshot.queues}
    exchanges = {it.name for it in snapshot.exchanges}
    missing = ""
    if exchange == "" and key is not None and key not in queues:
        missing = f"the queue {key!r}"
    elif exchange and exchange not in exchanges and not str(exchange).startswith("amq."):
        missing = f"the exchange {exchange!r}"
    if missing:
        yield (
            f"the file dead-letters its messages to {missing}, which is not there: declare it first"
            " (`mqkit topology apply` does)"
        )


def _in_the_way(migration: Migration, snapshot: Snapshot) -> Iterator[str]:
    """Names that are taken: by another migration, or by chance."""
    queues = {live.queue.name for live in snapshot.queues}
    exchanges = {exchange.name for exchange in snapshot.exchanges}
    for name in (migration.queue, *(held.queue.name for held in migration.held)):
        if is_too_long(name) and name != migration.queue:
            yield f"the name of {name!r}, whose messages have to be held, has no room for a suffix"
        if temporary_name(name) in queues:
            yield (
                f"there is a queue {temporary_name(name)!r}: of a migration whose journal is"
                " elsewhere (name it with --journal), or somebody's own"
            )
        for exchange in (inlet_name(name), outlet_name(name), gate_name(name)):
            if exchange in exchanges:
                yield f"there is an exchange {exchange!r} already (see --journal)"


def _limited(migration: Migration, policies: PolicySet) -> Iterator[str]:
    """Policies that would throw away messages while they wait."""
    for queue in (migration.temporary, *(held.keeper for held in migration.held)):
        settings = policies.settings_on(queue)
        for key in LIMITING:
            if key in settings:
                yield (
                    f"{settings[key].source} puts {key} on {queue.name!r}, where messages wait"
                    " meanwhile: leave that name out of its pattern"
                )


def _too_many(settings: dict[str, Setting], live: LiveQueue) -> Iterator[str]:
    """A limit that the messages which are there would exceed."""
    limit = settings.get("max-length")
    if limit is not None and live.messages is not None and live.messages > limit.value:
        yield (
            f"it has {live.messages} messages, and {limit.source} allows {limit.value}: the rest"
            " would be thrown away or refused; have them consumed first"
        )


def _feeders(snapshot: Snapshot, policies: PolicySet, name: str) -> Iterator[LiveQueue]:
    """The queues that dead-letter to ``name`` over the default exchange: its tiers, and others."""
    for live in snapshot.queues:
        settings = policies.settings_on(live.queue)
        exchange, key = (settings.get(each) for each in DEAD_LETTERING)
        is_by_name = exchange is not None and exchange.value == ""
        if is_by_name and key is not None and key.value == name and live.queue.name != name:
            yield live


def _why_not_held(live: LiveQueue, snapshot: Snapshot) -> str:
    """A reason why a queue can't be emptied for a while, if there is one."""
    name = live.queue.name
    sources: Sequence[str] = [
        it.source for it in snapshot.bindings if not it.to_exchange and it.destination == name
    ]
    why = ""
    if live.queue.exclusive:
        why = "belongs to a connection"
    elif live.consumers:
        why = f"is consumed (by {live.consumers})"
    elif sources:
        why = f"is bound to {sources[0]!r}"
    return why and (
        f"{name!r} {why} and dead-letters to the queue by its name: what it dead-letters while the"
        " queue is away is lost"
    )
