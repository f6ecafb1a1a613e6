"""``mqkit broker run``: the reference broker, as a process.

It lives for months, so it is not loaded with what the other commands need: :mod:`mqkit_cli.app` has
the whole tree, :func:`app_of_its_own` the branch that leads here, with the same words around it.
"""

from __future__ import annotations

from inspect import Parameter, Signature
from typing import Annotated, Any

import typer

from reference_broker.service.options import DESCRIPTION, TABLE, BrokerOptions, Option

PROGRAM = "mqkit"


def run(**given: Any) -> None:
    """The command, by typer's names of its options."""
    from reference_broker.service import process  # not what the other commands should wait for

    process.run(BrokerOptions(**given), PROGRAM)


def _parameter(option: Option) -> Parameter:
    """An option as typer reads it from a function."""
    shown = typer.Option(option.flag, metavar=option.metavar, help=option.help)
    annotated: Any = Annotated  # mypy takes types here that stand in the source
    hint = annotated[option.kind | None, shown]
    return Parameter(option.name, Parameter.KEYWORD_ONLY, default=None, annotation=hint)


# typer takes a command's options from its signature, and here the table has them.
_PARAMETERS = [_parameter(option) for option in TABLE]
run.__signature__ = Signature(_PARAMETERS)  # type: ignore[attr-defined]
run.__annotations__ = {each.name: each.annotation for each in _PARAMETERS}


def add_to(app: typer.Typer) -> None:
    """Make ``run`` a command of ``app``."""
    app.command("run", help=DESCRIPTION)(run)


def app_of_its_own() -> typer.Typer:
    """``mqkit``, as far as ``broker run`` goes."""
    branch = typer.Typer()
    add_to(branch)
    app = typer.Typer(add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None)
    app.add_typer(branch, name="broker")
    return app
