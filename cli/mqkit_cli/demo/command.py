"""``mqkit demo``: its options, its temporary folder, and its exit code."""

from __future__ import annotations

import asyncio
import shutil
import signal
import tempfile
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from mqkit.topology import load
from mqkit_cli.demo import example_data
from mqkit_cli.demo.client_log import logging_to
from mqkit_cli.demo.journal import Journal
from mqkit_cli.demo.ledger import Ledger
from mqkit_cli.demo.records import read_records
from mqkit_cli.demo.run import Run, Setting
from mqkit_cli.demo.scenario import Scenario, flight_key, make_scenario, template_keys
from mqkit_cli.demo.view import make_view
from mqkit_cli.errors import EXIT_ERROR
from mqkit_cli.render import line, note

PATIENCE_S = 15.0
"""Longer than the last tier of the example and a reconnect together."""

STOP_SIGNALS = (signal.SIGTERM, signal.SIGHUP)
"""SIGINT is asyncio's own business; these two end the run in the same orderly way."""


def demo(
    records: Annotated[
        Path | None,
        typer.Option(
            "--input",
            metavar="FILE",
            help="Your own records: a JSON value per line, or a .json file with an array."
            " [default: 20,000 flights]",
        ),
    ] = None,
    topology: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Your own topology. [default: the flights']"),
    ] = None,
    exchange: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Where to publish. [default: the topology's first]"),
    ] = None,
    routing_key: Annotated[
        str | None,
        typer.Option(
            metavar="TEMPLATE",
            help="Keys made from a record's fields, like '{origin}.late'. [default: keys that fit"
            " the bindings, queue by queue]",
        ),
    ] = None,
    patience: Annotated[
        float,
        typer.Option(
            metavar="SECONDS", min=1.0, help="Wait no longer when nothing has moved for so long."
        ),
    ] = PATIENCE_S,
    spark: Annotated[
        bool, typer.Option("--spark/--no-spark", help="Whether a PySpark job runs at the end.")
    ] = True,
) -> None:
    """See it all at work, and count: publish, fail, retry, park, kill the broker, replay, sink.

    Starts a broker of its own on free ports, and leaves nothing behind. The last lines are a ledger
    of message ids; the exit code is 1 if a confirmed message was lost. The folder of a failed run
    is kept, and named.
    """
    scenario = _scenario(records, topology, exchange, routing_key)
    folder = Path(tempfile.mkdtemp(prefix="mqkit-demo-"))
    try:
        ledger = _play(scenario, folder, patience, with_spark=spark)
    except (KeyboardInterrupt, SystemExit):
        shutil.rmtree(folder, ignore_errors=True)
        raise
    except BaseException:
        note(f"the data, journals and logs of this run are kept in {folder}")
        raise
    _show(ledger)
    if not ledger.is_good:
        note(f"the data, journals and logs of this run are kept in {folder}")
        raise typer.Exit(EXIT_ERROR)
    shutil.rmtree(folder, ignore_errors=True)


def _show(ledger: Ledger) -> None:
    line("ledger")
    for words, number in ledger.lines():
        line(f"  {words} {number}")
    if ledger.lost:
        note(f"lost: {ledger.lost_words()}")


def _scenario(
    records: Path | None, topology: Path | None, exchange: str | None, routing_key: str | None
) -> Scenario:
    """Everything that can be wrong with what was given is found here, before anything starts."""
    is_example = topology is None and records is None
    topology_file = topology or example_data.example_file(example_data.TOPOLOGY, "--topology")
    records_file = records or example_data.example_file(example_data.RECORDS, "--input")
    key_of = None if routing_key is None else template_keys(routing_key)
    return make_scenario(
        read_records(records_file),
        load(topology_file),
        exchange=exchange,
        key_of=flight_key if is_example and key_of is None else key_of,
        prefix="flight" if records is None else "record",
    )


def _play(scenario: Scenario, folder: Path, patience_s: float, *, with_spark: bool) -> Ledger:
    async def play() -> Ledger:
        task = asyncio.current_task()
        assert task is not None
        for number in STOP_SIGNALS:
            asyncio.get_running_loop().add_signal_handler(number, task.cancel)
        console = Console(highlight=False)
        with (
            logging_to(folder / "client.log"),
            Journal(folder / "journal") as journal,
            make_view(console, journal, len(scenario.items)) as view,
        ):
            setting = Setting(folder, journal, view, patience_s, with_spark)
            return await Run(scenario, setting).play()

    try:
        with asyncio.Runner() as runner:
            return runner.run(play())
    except asyncio.CancelledError:
        raise KeyboardInterrupt from None
    except BaseExceptionGroup as group:
        raise _first(group) from group


def _first(error: BaseException) -> BaseException:
    """The first error in the groups that tasks wrap errors in."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error
