"""A look over AMQP: a passive and then an equal declare for each exchange and queue, on a
throw-away channel.

404 to the first is "missing", and it is declared again at once; 406 to the second names the first
thing that is different, and 405 an exclusive queue in its place. A binding can't be asked for, so
each is bound again, which the broker answers alike whether it was there or not. What the app may
not declare (403) can't be seen.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mqkit.declaration import Binding, Declaration, Exchange, Queue
from mqkit.drift.book import Look
from mqkit.drift.event import Done, Drift, different
from mqkit.drift.mend import Mender
from mqkit.drift.pace import QuestionPace
from mqkit.drift.watched import vanishes_by_itself
from mqkit.errors import ChannelError
from mqkit.topology.planning.diff import Difference
from mqkit.topology.planning.quarantine import differences_in
from mqkit.topology.throwaway import ThrowAwayChannel, is_missing

RESOURCE_LOCKED = 405
PRECONDITION_FAILED = 406


async def look_over_amqp(
    wanted: Sequence[Declaration],
    look: Look,
    channel: ThrowAwayChannel,
    mender: Mender,
    pace: QuestionPace,
) -> None:
    """Ask for everything, in order, and note what is found. Raises what ended the connection."""
    for declaration in wanted:
        if isinstance(declaration, Binding):
            drift = await mender.bind(declaration)
            if drift.done is Done.REFUSED:
                await look.note(drift)
            continue
        for found in await ask(declaration, channel, mender, pace):
            await look.note(found)


async def ask(
    declaration: Exchange | Queue,
    channel: ThrowAwayChannel,
    mender: Mender,
    pace: QuestionPace,
) -> tuple[Drift, ...]:
    """The drifts of one object, which is there again if it was missing."""
    await pace.take()
    await channel.ready()
    try:
        gone = await is_missing(declaration, channel)
    except ChannelError as error:
        return drifts_of(declaration, error)
    if gone:
        drift = await mender.declare(declaration)
        if drift is None or (drift.is_mended and vanishes_by_itself(declaration)):
            return ()
        return (drift,)
    return await ask_equal(declaration, channel, pace)


async def ask_equal(
    declaration: Exchange | Queue, channel: ThrowAwayChannel, pace: QuestionPace
) -> tuple[Drift, ...]:
    """The difference of one object that is there, as the broker sees it."""
    await pace.take()
    await channel.ready()
    try:
        await channel.declare(declaration)
    except ChannelError as error:
        return drifts_of(declaration, error)
    return ()


def drifts_of(declaration: Declaration, error: ChannelError) -> tuple[Drift, ...]:
    """The drifts that the broker's refusal of an equal declare names."""
    if error.reply_code == RESOURCE_LOCKED and isinstance(declaration, Queue):
        return (different(declaration, "exclusive", declaration.exclusive, True),)
    if error.reply_code != PRECONDITION_FAILED:
        return ()
    return tuple(
        different(declaration, named.field, *_values(declaration, named))
        for named in differences_in(error.reply_text)
    )


def _values(declaration: Declaration, named: Difference) -> tuple[Any, Any]:
    """The wanted value, as it was declared; and the live one, which the broker says as text."""
    wanted = getattr(declaration, named.field, None)
    if wanted is None:
        wanted = declaration.arguments.get(named.field)
    actual = named.actual
    if isinstance(wanted, bool) and actual in ("true", "false"):
        return wanted, actual == "true"
    if isinstance(wanted, int) and isinstance(actual, str) and actual.lstrip("-").isdigit():
        return wanted, int(actual)
    return wanted, actual
