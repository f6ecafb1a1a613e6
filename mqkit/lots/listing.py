"""The parking lots of a broker, with their counts."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from mqkit.declaration import Queue
from mqkit.errors import ChannelError
from mqkit.lots.link import NOT_FOUND, LotLink
from mqkit.transport.seam import Connection


@dataclass(frozen=True, slots=True)
class ParkingLot:
    """A parking lot on a broker, with its counts. ``queue`` is the one that parks in it; empty if
    there are several, or nobody said. ``exists`` is false if it was not declared there."""

    name: str
    queue: str
    messages: int
    consumers: int
    exists: bool = True


async def ls(link: LotLink, queues: Iterable[str]) -> tuple[ParkingLot, ...]:
    """The parking lots among ``queues``, with counts, sorted by name. Raises
    :exc:`~mqkit.errors.MqkitError` where the broker can't be reached."""
    names = sorted({name for name in queues if link.known.is_lot(name)})
    async with link.connection("ls") as connection:
        return tuple([await _counted(link, connection, name) for name in names])


async def _counted(link: LotLink, connection: Connection, name: str) -> ParkingLot:
    owner = link.known.owner_of(name) or ""
    channel = await link.channel(connection)
    async with link.step(f"the depth of {name!r}"):
        try:
            state = await channel.declare_queue(Queue(name), passive=True)
        except ChannelError as error:
            if error.reply_code != NOT_FOUND:
                raise
            return ParkingLot(name, owner, 0, 0, exists=False)
        await channel.close()
    return ParkingLot(name, owner, state.message_count, state.consumer_count)
