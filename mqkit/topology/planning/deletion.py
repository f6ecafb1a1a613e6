"""The deletion of one object, if it is empty and unused when its turn comes.

A classic queue is deleted with if-unused and if-empty: the broker decides in one step. A quorum
queue can't be: RabbitMQ 3.10.8 closes the connection with 540 for these flags. So its counts are
asked first, and between the answer and the deletion there is a moment in which a message may come.
"""

from __future__ import annotations

from typing import NamedTuple

from mqkit.declaration import Binding, Declaration, Exchange, Queue, QueueState
from mqkit.errors import ChannelError
from mqkit.topology.model import QueueType
from mqkit.topology.policy.in_force import type_of
from mqkit.topology.throwaway import ThrowAwayChannel

NOT_FOUND = 404
PRECONDITION_FAILED = 406


class Deletion(NamedTuple):
    """The result, in words; ``is_done`` is false for what was kept, since it is in use."""

    is_done: bool
    words: str


async def delete(
    declaration: Declaration, channel: ThrowAwayChannel, *, forced: bool = False
) -> Deletion:
    """Delete the object, or unbind; ``forced``: whatever is in it, or uses it.

    Raises :exc:`~mqkit.errors.ChannelError` where the broker refuses for another reason.
    """
    match declaration:
        case Binding():
            await channel.run(lambda on: on.unbind(declaration))
            return Deletion(True, "unbound")
        case Exchange(name=name):
            return await _delete_exchange(name, channel, forced=forced)
        case Queue(name=name) if forced:
            count = await channel.run(lambda on: on.delete_queue(name))
            return Deletion(True, f"deleted with {count} messages")
        case Queue():
            return await _delete_queue(declaration, channel)


async def _delete_exchange(name: str, channel: ThrowAwayChannel, *, forced: bool) -> Deletion:
    try:
        await channel.run(lambda on: on.delete_exchange(name, if_unused=not forced))
    except ChannelError as error:
        if error.reply_code != PRECONDITION_FAILED:
            raise
        return Deletion(False, "kept: something is bound to it now")
    return Deletion(True, "deleted")


async def _delete_queue(queue: Queue, channel: ThrowAwayChannel) -> Deletion:
    flags = type_of(queue) is QueueType.CLASSIC
    try:
        state = await channel.run(lambda on: on.declare_queue(queue, passive=True))
        if (held := _held(state)) is not None:
            return held
        await channel.run(lambda on: on.delete_queue(queue.name, if_unused=flags, if_empty=flags))
    except ChannelError as error:
        if error.reply_code == NOT_FOUND:
            return Deletion(True, "gone already")
        if error.reply_code != PRECONDITION_FAILED:
            raise
        return Deletion(False, "kept: it is in use now")
    return Deletion(True, "deleted, empty")


def _held(state: QueueState) -> Deletion | None:
    """A reason to keep the queue, in its counts."""
    if state.message_count or state.consumer_count:
        counts = f"{state.message_count} messages, {state.consumer_count} consumers"
        return Deletion(False, f"kept: it has {counts} now")
    return None
