"""``dlq ls``, ``peek`` and ``stats``: parking lots and their messages, which stay there."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import replace

from mqkit.lots.choice import Choice
from mqkit.lots.link import LotLink
from mqkit.lots.listing import ParkingLot
from mqkit.lots.listing import ls as list_lots
from mqkit.lots.looking import PEEK_MAX, LotStats
from mqkit.lots.looking import peek as peek_lot
from mqkit.lots.looking import stats as stats_of_lot
from mqkit.retry.known_lots import KnownLots
from mqkit.retry.parked import ParkedMessage
from mqkit_cli.connection import (
    TIMEOUT_S,
    JsonOption,
    ManagementUrlOption,
    TimeoutOption,
    UrlOption,
    target_of,
)
from mqkit_cli.dlq.choosing import with_choice
from mqkit_cli.dlq.naming import LotArgument, LotFilesOption, NamedOption, link_of
from mqkit_cli.render import body_text, line, plural, write_json, write_table

PEEK_DEFAULT = 10
SHOWN_BODY = 60
NOBODY = "-"

ChosenBy = Callable[[KnownLots], Choice]


def ls(
    files: LotFilesOption = None,
    named: NamedOption = None,
    url: UrlOption = None,
    management_url: ManagementUrlOption = None,
    timeout_s: TimeoutOption = TIMEOUT_S,
    as_json: JsonOption = False,
) -> None:
    """List the parking lots of a vhost, and how many messages lie in each.

    The lots that --file and --lot name are asked for over AMQP; the management API knows the rest.
    """
    link = link_of(url, timeout_s, files, named)
    lots = asyncio.run(_ls(link, url, management_url))
    if as_json:
        write_json([_lot_json(lot) for lot in lots])
    elif lots:
        rows = [(lot.name, lot.queue or NOBODY, lot.messages, lot.consumers) for lot in lots]
        write_table(("parking lot", "queue", "messages", "consumers"), rows)
    else:
        line("no parking lots")


@with_choice
def peek(
    lot: LotArgument,
    chosen: ChosenBy,
    files: LotFilesOption = None,
    named: NamedOption = None,
    url: UrlOption = None,
    timeout_s: TimeoutOption = TIMEOUT_S,
    as_json: JsonOption = False,
) -> None:
    """Show the first 10 messages of a parking lot, or --limit, oldest first. They stay there."""
    link = link_of(url, timeout_s, files, named)
    choice = chosen(link.known)
    most = PEEK_DEFAULT if choice.limit is None else min(choice.limit, PEEK_MAX)
    messages = asyncio.run(peek_lot(link, lot, replace(choice, limit=most)))
    if as_json:
        write_json([message.to_dict() for message in messages])
    elif messages:
        columns = ("message id", "parked at", "attempts", "replays", "reason", "error", "body")
        write_table(columns, map(_row, messages))
    elif choice == Choice(known=link.known, limit=choice.limit):
        line(f"{lot} is empty")
    else:
        line(f"nothing in {lot} is chosen")


@with_choice
def stats(
    lot: LotArgument,
    chosen: ChosenBy,
    files: LotFilesOption = None,
    named: NamedOption = None,
    url: UrlOption = None,
    timeout_s: TimeoutOption = TIMEOUT_S,
    as_json: JsonOption = False,
) -> None:
    """Count the messages of a parking lot by reason, error, queue and age. They stay there."""
    link = link_of(url, timeout_s, files, named)
    found = asyncio.run(stats_of_lot(link, lot, chosen(link.known)))
    if as_json:
        write_json(found.to_dict())
        return
    line(f"{lot}: {plural(found.messages, 'message')}, {plural(found.octets, 'byte')} of bodies")
    rows = [
        (kind, word, count)
        for kind, counts in _counts(found).items()
        for word, count in sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    ]
    if rows:
        write_table(("by", "value", "messages"), rows)


async def _ls(link: LotLink, url: str | None, management_url: str | None) -> tuple[ParkingLot, ...]:
    if link.known.owners:
        return tuple(lot for lot in await list_lots(link, link.known.owners) if lot.exists)
    snapshot = await target_of(url, management_url).snapshot(link.timeout_s)
    return await list_lots(link, (live.queue.name for live in snapshot.queues))


def _counts(found: LotStats) -> Mapping[str, Mapping[str, int]]:
    return {
        "reason": found.reasons,
        "error": found.errors,
        "queue": found.queues,
        "age": found.ages,
    }


def _lot_json(lot: ParkingLot) -> dict[str, object]:
    return {
        "name": lot.name,
        "queue": lot.queue,
        "messages": lot.messages,
        "consumers": lot.consumers,
    }


def _row(message: ParkedMessage) -> tuple[object, ...]:
    error = ": ".join(part for part in (message.error_type, message.error_message) if part)
    return (
        message.message_id or NOBODY,
        message.parked_at or NOBODY,
        message.attempts,
        message.replays,
        message.reason,
        error,
        body_text(message.delivery.body, SHOWN_BODY),
    )
