"""``mqkit publish``: messages from the command line, a file or a pipe, with confirms."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterator
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from mqkit.message import Message, Properties
from mqkit.middleware import Publishes
from mqkit_cli.completion.parameters import exchange_names, routing_keys
from mqkit_cli.connection import TIMEOUT_S, JsonOption, TimeoutOption, UrlOption, endpoints_of
from mqkit_cli.errors import CommandError
from mqkit_cli.messages.feed import LineFeed
from mqkit_cli.messages.lines import JSON_LINES, bodies, checked_count
from mqkit_cli.messages.pairs import pairs
from mqkit_cli.messages.sending import publisher_to
from mqkit_cli.messages.tally import Tally
from mqkit_cli.render import line, note, plural, progress, write_json
from mqkit_cli.tracing import TraceOption

DEADLINE_S = 30.0
JSON_TYPE = "application/json"


BodyArgument = Annotated[
    str | None,
    typer.Argument(metavar="BODY", help="The message. Without it, each line of stdin is one."),
]
FileOption = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="Each line of the file is a message; the lines of a .jsonl must be JSON.",
    ),
]
HeaderOption = Annotated[
    list[str] | None, typer.Option(metavar="NAME=VALUE", help="A header; may be repeated.")
]
ContentTypeOption = Annotated[
    str | None,
    typer.Option(
        metavar="TYPE", help=f"The content type. [default: {JSON_TYPE} for a .jsonl, else none]"
    ),
]
MessageIdOption = Annotated[
    str | None,
    typer.Option(metavar="ID", help="The id of the one message BODY; others get a fresh one each."),
]
DeadlineOption = Annotated[
    float,
    typer.Option(
        "--deadline",
        metavar="SECONDS",
        min=0.1,
        help="For each thousand messages: publishing, confirms and reconnects together.",
    ),
]


def publish(
    exchange: Annotated[
        str,
        typer.Argument(
            metavar="EXCHANGE",
            autocompletion=exchange_names,
            help='The exchange; "" is the default exchange.',
        ),
    ],
    routing_key: Annotated[
        str,
        typer.Argument(
            metavar="ROUTING_KEY",
            autocompletion=routing_keys,
            help="The routing key; a queue's name for the default exchange.",
        ),
    ],
    body: BodyArgument = None,
    file: FileOption = None,
    header: HeaderOption = None,
    content_type: ContentTypeOption = None,
    message_id: MessageIdOption = None,
    deadline_s: DeadlineOption = DEADLINE_S,
    url: UrlOption = None,
    timeout_s: TimeoutOption = TIMEOUT_S,
    trace: TraceOption = False,
    as_json: JsonOption = False,
) -> None:
    """Publish messages - mandatory, persistent, confirmed - and count what came of them.

    Exits with 1 if any message was not confirmed.
    """
    _check(body, file, message_id)
    endpoints = endpoints_of(url)
    is_json = file is not None and file.suffix.lower() in JSON_LINES
    properties = Properties(
        content_type=content_type or (JSON_TYPE if is_json else None),
        headers=pairs(header or [], "--header"),
        message_id=message_id,
    )
    template = Message(exchange, routing_key, b"", properties)
    total = 1 if body is not None else None if file is None else checked_count(file)
    source = _source(body, file)
    connected = publisher_to(endpoints, timeout_s=timeout_s, deadline_s=deadline_s, trace=trace)
    tally = asyncio.run(_publish(connected, template, source, total))
    if as_json:
        write_json(tally.to_dict())
    else:
        line(str(tally))
    for failure in tally.failures:
        note(failure)
    if tally.failed:
        count = f"{tally.failed} of {plural(tally.total, 'message')} not confirmed"
        raise CommandError(f"{count} ({tally.advice})" if tally.advice else count)


def _check(body: str | None, file: Path | None, message_id: str | None) -> None:
    if body is not None and file is not None:
        raise CommandError("give BODY or --file, not both")
    if message_id is not None and body is None:
        raise CommandError("--message-id is for one message: give BODY too")
    if body is None and file is None and sys.stdin.isatty():
        raise CommandError("nothing to publish: give BODY, --file FILE, or lines on stdin")


def _source(body: str | None, file: Path | None) -> Iterator[bytes]:
    if body is not None:
        yield body.encode("utf-8", "surrogateescape")
        return
    # Not sys.stdin's own buffer: Python dies of a thread that is stuck in that one at the end.
    place = sys.stdin.fileno() if file is None else file
    with open(place, "rb", closefd=file is not None) as lines:
        yield from bodies(lines)


async def _publish(
    connected: AbstractAsyncContextManager[Publishes],
    template: Message,
    source: Iterator[bytes],
    total: int | None,
) -> Tally:
    tally = Tally()
    async with connected as publisher:
        with progress("publishing", total) as show:
            feed = LineFeed(source)
            while batch := await feed.batch():
                messages = [replace(template, body=body) for body in batch]
                tally.add(await publisher.publish_batch(messages))
                show(tally.total)
    return tally
