"""Emptying a parking lot."""

from __future__ import annotations

from mqkit.lots.link import LotLink


async def purge(link: LotLink, lot: str) -> int:
    """Delete every ready message of ``lot``; returns how many there were. There is no way back:
    :func:`~mqkit.lots.archive.archiving.archive` keeps them in a file.

    Raises :exc:`~mqkit.errors.ConfigurationError` for a queue that is no lot, or is not there.
    """
    link.check_lot(lot)
    async with link.connection("purge") as connection:
        channel = await link.channel(connection)
        await link.state(channel, lot)
        async with link.step(f"the purge of {lot!r}"):
            return await channel.purge(lot)
