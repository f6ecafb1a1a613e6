"""``mqkit consume``: the messages of a queue on stdout, acked once they are there."""

from __future__ import annotations

import asyncio
import signal
import sys
from typing import Annotated, Any

import typer

from mqkit.message import Delivery
from mqkit.transport.seam import Endpoint
from mqkit_cli.amqp import transport
from mqkit_cli.completion.parameters import queue_names
from mqkit_cli.connection import TIMEOUT_S, JsonOption, UrlOption, endpoints_of
from mqkit_cli.errors import CommandError
from mqkit_cli.messages.receiving import HELD_MAX, Arrivals, Reading, read
from mqkit_cli.render import body_json, body_text, line, note, plural, printable, write_json

NO_ID = "-"


def consume(
    queue: Annotated[
        str, typer.Argument(metavar="QUEUE", autocompletion=queue_names, help="The queue.")
    ],
    count: Annotated[
        int | None,
        typer.Option(
            "--count", metavar="N", min=1, help="End after N messages; take exactly so many."
        ),
    ] = None,
    ack: Annotated[
        bool,
        typer.Option(
            "--ack/--requeue",
            help="Take the messages away, or look at them and put them back in their places"
            f" (at most {HELD_MAX}).",
        ),
    ] = True,
    timeout_s: Annotated[
        float | None,
        typer.Option(
            "--timeout",
            metavar="SECONDS",
            min=0.1,
            help="End when no message has come for so long. [default: wait until Ctrl-C]",
        ),
    ] = None,
    url: UrlOption = None,
    as_json: JsonOption = False,
) -> None:
    """Print the messages of a queue, a line each, and ack each after it was printed.

    Exits with 1 if fewer than --count messages came.
    """
    if not ack and count is not None and count > HELD_MAX:
        raise CommandError(f"--requeue holds at most {HELD_MAX} messages, not {count}")
    endpoint = endpoints_of(url)[0]
    reading = Reading(queue, count, timeout_s, requeue=not ack)
    taken = asyncio.run(_consume(endpoint, reading, as_json=as_json))
    note(f"{plural(taken, 'message')} {'acked' if ack else 'put back'}")
    if count is not None and taken < count:
        raise CommandError(f"only {taken} of {plural(count, 'message')} came")


async def _consume(endpoint: Endpoint, reading: Reading, *, as_json: bool) -> int:
    def show(delivery: Delivery) -> None:
        if as_json:
            write_json(delivery_json(delivery), lines=True)
        else:
            line(delivery_line(delivery))
        sys.stdout.flush()

    arrivals = Arrivals()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, arrivals.stop)
    connection = await transport().connect(endpoint, name="mqkit consume", timeout_s=TIMEOUT_S)
    try:
        return await read(reading, connection, arrivals, show)
    finally:
        await connection.close()


def delivery_line(delivery: Delivery) -> str:
    """Exchange, routing key, id and body, separated by tabs."""
    place = (delivery.exchange, delivery.routing_key, delivery.message_id or NO_ID)
    return "\t".join((*map(printable, place), body_text(delivery.body)))


def delivery_json(delivery: Delivery) -> dict[str, Any]:
    """A delivery as plain values, for ``--json``; the names in it are stable."""
    properties = delivery.properties
    return {
        "exchange": delivery.exchange,
        "routing_key": delivery.routing_key,
        "message_id": delivery.message_id,
        "redelivered": delivery.redelivered,
        "content_type": properties.content_type,
        "headers": dict(delivery.headers),
        **body_json(delivery.body),
    }
