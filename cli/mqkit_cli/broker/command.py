"""``mqkit broker``: the reference broker, and the definitions of this or any other one."""

from __future__ import annotations

import typer

from mqkit_cli.broker.run import add_to
from mqkit_cli.definitions.command import export_definitions, import_definitions

app = typer.Typer(
    help="The reference broker: AMQP 0-9-1 and RabbitMQ's management paths, in one process.",
    short_help="The reference broker.",
    no_args_is_help=True,
)
add_to(app)
app.command("export-definitions")(export_definitions)
app.command("import-definitions")(import_definitions)
