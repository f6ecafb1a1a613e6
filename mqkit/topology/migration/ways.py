"""The exchanges of a migration: declared, bound, switched, taken away. Each may be done twice."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from mqkit.declaration import Binding, Declaration, Exchange, Queue
from mqkit.errors import ChannelError
from mqkit.topology.migration.moving import Lane
from mqkit.topology.migration.names import gate_name, inlet_name, outlet_name, temporary_name
from mqkit.topology.migration.session import Session
from mqkit.topology.migration.stopped import Stopped
from mqkit.topology.planning.diff import key_of
from mqkit.topology.throwaway import NOT_FOUND, declare

UNBIND_ROUNDS = 3
"""Somebody may bind the queue while it is unbound, but not for ever."""


def lane_out(session: Session) -> Lane:
    """From the queue to the temporary one."""
    queue = session.migration.queue
    return Lane(queue, inlet_name(queue), temporary_name(queue))


def lane_back(session: Session) -> Lane:
    """From the temporary queue to the queue."""
    queue = session.migration.queue
    rejects = session.migration.rejects(session.direction)
    return Lane(temporary_name(queue), outlet_name(queue), queue, with_confirms=rejects)


def lane_to_keeper(held: Queue) -> Lane:
    """From a queue that dead-letters to the migrated one to the one that keeps its messages."""
    return Lane(held.name, inlet_name(held.name), temporary_name(held.name))


def lane_from_keeper(held: Queue) -> Lane:
    """And back."""
    return Lane(temporary_name(held.name), outlet_name(held.name), held.name)


async def declare_temporary(session: Session) -> None:
    """The temporary queue with the exchange to it; the gate, which leads there while nothing is
    bound to it; and a keeper for each queue whose messages have to be held."""
    migration = session.migration
    gate = Exchange(
        gate_name(migration.queue),
        "fanout",
        internal=True,
        arguments={"alternate-exchange": inlet_name(migration.queue)},
    )
    await _declare(session, *_with_inlet(migration.temporary, inlet_name(migration.queue)), gate)
    for held in migration.held:
        await _declare(session, *_with_inlet(held.keeper, inlet_name(held.queue.name)))


def _with_inlet(queue: Queue, name: str) -> tuple[Declaration, ...]:
    return queue, Exchange(name, "fanout"), Binding(name, queue.name)


async def declare_outlet(session: Session, queue: str) -> None:
    """The exchange back to ``queue``, which has to be there."""
    name = outlet_name(queue)
    await _declare(session, Exchange(name, "fanout"), Binding(name, queue))


async def open_gate(session: Session) -> None:
    """The gate leads to the queue: the one bind is the switch."""
    queue = session.migration.queue
    await _declare(session, Binding(gate_name(queue), queue))


async def divert_gate(session: Session) -> None:
    """The gate leads to the temporary queue: the one unbind is the switch."""
    queue = session.migration.queue
    await unbind(session, [Binding(gate_name(queue), queue)])


async def bind_gate(session: Session, bindings: Iterable[Binding]) -> None:
    """The gate is bound like the queue."""
    await _declare(session, *(to_gate(binding) for binding in bindings))


async def bind_queue(session: Session) -> None:
    """The queue is bound as it was, and as somebody has bound it meanwhile."""
    await _declare(session, *session.migration.bindings)


async def unbind_queue(session: Session) -> None:
    """Unbind the queue, and have the gate bound in its place; what somebody has bound meanwhile,
    too. Raises :exc:`Stopped` for a binding that stays."""
    await unbind(session, session.migration.bindings)
    for _ in range(UNBIND_ROUNDS):
        left = await session.direct_bindings()
        if not left:
            return
        await take_over(session, left)
    raise Stopped(
        f"{session.migration.queue!r} is bound to {left[0].source!r} again each time that it is"
        " unbound, or that binding has arguments of types that can't be unbound over AMQP: stop who"
        " binds it, or unbind it by hand"
    )


async def take_over(session: Session, bindings: Iterable[Binding]) -> None:
    """Have the gate bound in place of the queue."""
    known = {key_of(binding) for binding in session.migration.bindings}
    for binding in bindings:
        await bind_gate(session, [binding])
        if key_of(binding) not in known:
            session.journal.bound(binding)
        await unbind(session, [binding])


async def unbind(session: Session, bindings: Iterable[Binding]) -> None:
    """Unbind; what is unbound already, or gone, is no error."""
    for binding in bindings:
        try:
            await session.call(
                lambda on, it=binding: on.unbind(it),  # type: ignore[misc]
                f"the unbinding of {binding.destination!r}",
            )
        except ChannelError as error:
            if error.reply_code != NOT_FOUND:
                raise


async def delete_exchange(session: Session, name: str) -> None:
    """Delete; one that is gone already is no error."""
    try:
        await session.call(lambda on: on.delete_exchange(name), f"the deletion of {name!r}")
    except ChannelError as error:
        if error.reply_code != NOT_FOUND:
            raise


def to_gate(binding: Binding) -> Binding:
    """The binding of the gate that does as ``binding``."""
    gate = gate_name(binding.destination)
    return replace(binding, destination=gate, to_exchange=True)


async def _declare(session: Session, *declarations: Declaration) -> None:
    for declaration in declarations:
        await session.call(
            lambda on, it=declaration: declare(on, it),  # type: ignore[misc]
            f"the declaration of {getattr(declaration, 'name', 'a binding')!r}",
        )
