"""The rows of a window, published: those of one key one after the other, all others at once.

A message goes when the one before it is confirmed, and not before: a broker may take the second
and refuse the first. The first that is not confirmed ends the chain of its key.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any, Protocol

import anyio

from mqkit.errors import Closed, ConfigurationError
from mqkit.message import Message
from mqkit.outbox.stored import NoMessage, message_of
from mqkit.outcome import Outcome, Rejected, RejectReason, Unknown
from mqkit.timing.seconds import Span


class Sends(Protocol):
    """An app: see :meth:`mqkit.App.send`."""

    async def send(self, message: Message, *, deadline: Span | None = None) -> Outcome: ...


async def send_rows(
    app: Sends, rows: Sequence[Mapping[str, Any]], deadline_s: float
) -> dict[int, Outcome]:
    """Publish the rows. The outcomes by id; a row behind one that was not confirmed has none.

    Raises :exc:`~mqkit.errors.Closed` if the app has ended.
    """
    outcomes: dict[int, Outcome] = {}

    async def send_chain(chain: Sequence[Mapping[str, Any]]) -> None:
        for row in chain:
            outcome = outcomes[row["id"]] = await _send(app, row, deadline_s)
            if not outcome:
                return

    try:
        async with anyio.create_task_group() as tasks:
            for chain in _chains(rows):
                tasks.start_soon(send_chain, chain)
    except BaseExceptionGroup as group:
        raise group.exceptions[0] from None
    return outcomes


def _chains(rows: Sequence[Mapping[str, Any]]) -> list[list[Mapping[str, Any]]]:
    chains: dict[Hashable, list[Mapping[str, Any]]] = {}
    for row in rows:
        key = row["ordering_key"]
        chains.setdefault(row["id"] if key is None else key, []).append(row)
    return list(chains.values())


async def _send(app: Sends, row: Mapping[str, Any], deadline_s: float) -> Outcome:
    message_id = row["message_id"]
    try:
        return await app.send(message_of(row), deadline=deadline_s)
    except NoMessage as error:
        return Rejected(RejectReason.REFUSED, f"the row makes no message: {error}", message_id)
    except ConfigurationError as error:
        return Rejected(RejectReason.REFUSED, str(error), message_id)
    except Closed:
        raise
    except Exception as error:  # noqa: BLE001 - middleware is other people's code
        return Unknown(f"{type(error).__name__}: {error}", message_id, sent=False)
