"""The tree of commands. Each command is in the folder of its noun."""

from __future__ import annotations

from importlib.metadata import version as installed_version
from typing import Annotated

import typer

from mqkit_cli.broker import command as broker
from mqkit_cli.cluster import command as cluster
from mqkit_cli.completion.parameters import ctl_words
from mqkit_cli.ctl import main as ctl_main
from mqkit_cli.demo.command import demo
from mqkit_cli.dlq import command as dlq
from mqkit_cli.lots import command as lots
from mqkit_cli.messages import consume, publish
from mqkit_cli.new.command import new
from mqkit_cli.outbox import command as outbox
from mqkit_cli.store import command as store
from mqkit_cli.topology import command as topology

app = typer.Typer(
    name="mqkit",
    help="Declare a messaging topology, publish without losing a message, see and repair what"
    " failed - against RabbitMQ, or the reference broker that comes with it.",
    epilog="Exit codes: 0, 1 for any error, 2 where topology plan and diff find a change, and"
    " broker store check finds damage.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
broker.app.add_typer(store.app, name="store")
app.add_typer(broker.app, name="broker")
app.add_typer(cluster.app, name="cluster")
app.add_typer(topology.app, name="topology")
app.add_typer(dlq.app, name="dlq")
app.add_typer(lots.app, name="lots")
app.add_typer(outbox.app, name="outbox")
app.command(short_help="Publish messages, and count what came of them.")(publish.publish)
app.command(short_help="Print the messages of a queue, and ack them.")(consume.consume)
app.command()(demo)
app.command(short_help="Write a service to begin with.")(new)


@app.command(
    context_settings={"ignore_unknown_options": True, "help_option_names": []},
    short_help="Do what rabbitmqctl does, over HTTP.",
)
def ctl(
    words: Annotated[
        list[str] | None,
        typer.Argument(metavar="COMMAND ...", autocompletion=ctl_words, help="rabbitmqctl's."),
    ] = None,
) -> None:
    """The commands of rabbitmqctl, over HTTP: `mqkit ctl help` lists them."""
    raise typer.Exit(ctl_main.run(words or ()))


@app.command(
    context_settings={
        "allow_extra_args": True,
        "ignore_unknown_options": True,
        "help_option_names": [],
    },
    short_help="Measure brokers and clients side by side.",
)
def bench(context: typer.Context) -> None:
    """Brokers and clients side by side, in alternating rounds: `mqkit bench --help` lists what."""
    from mqkit_bench.main import run  # not what the other commands should wait for

    run(context.args)


def _print_version(asked: bool) -> None:
    if asked:
        typer.echo(f"mqkit {installed_version('mqkit')}")
        raise typer.Exit


@app.callback()
def _options(
    show_version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version, and end."
        ),
    ] = False,
) -> None:
    """Options of the whole program; its help is the application's."""


@app.command()
def version() -> None:
    """Print the version."""
    _print_version(True)
