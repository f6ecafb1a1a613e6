"""The options that say which queues are parking lots, and the broker that has them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from mqkit.lots.link import LotLink
from mqkit.retry.known_lots import KnownLots
from mqkit.topology.retrying.known_lots import known_lots
from mqkit_cli.amqp import exact_transport
from mqkit_cli.completion.parameters import parking_lot_names, queue_names
from mqkit_cli.connection import endpoints_of
from mqkit_cli.topology.files import load_topology

LotArgument = Annotated[
    str,
    typer.Argument(
        metavar="LOT",
        autocompletion=parking_lot_names,
        help="The parking lot's queue, such as delays.parked.",
    ),
]
LotFilesOption = Annotated[
    list[Path] | None,
    typer.Option(
        "--file", "-f", metavar="FILE", help="A topology whose parking lots have other names."
    ),
]
NamedOption = Annotated[
    list[str] | None,
    typer.Option(
        "--lot",
        metavar="QUEUE",
        autocompletion=queue_names,
        help="This queue is a parking lot, whatever it is called; may be repeated.",
    ),
]


def known_of(files: Sequence[Path] | None, named: Sequence[str] | None) -> KnownLots:
    """The lots of the files, and those that are named by hand."""
    known = known_lots(load_topology(files)) if files else KnownLots()
    by_hand = dict.fromkeys(named or ())
    return KnownLots({**by_hand, **known.owners}, known.tiers)


def link_of(
    url: str | None,
    timeout_s: float,
    files: Sequence[Path] | None,
    named: Sequence[str] | None,
    *,
    trace: bool = False,
) -> LotLink:
    """The broker, with what is known of its lots."""
    link = LotLink(endpoints_of(url)[0], timeout_s, known_of(files, named), exact_transport())
    if not trace:
        return link
    from mqkit.otel import traced  # which needs an extra

    return traced(link)
