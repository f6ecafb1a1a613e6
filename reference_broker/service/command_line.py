"""The command line of ``python -m reference_broker``, parsed by the standard library."""

from __future__ import annotations

from argparse import ArgumentParser
from collections.abc import Sequence
from typing import Any, NoReturn

from reference_broker.errors import BadConfiguration
from reference_broker.service.options import DESCRIPTION, TABLE, BrokerOptions, Option

PROGRAM = "python -m reference_broker"


class _Parser(ArgumentParser):
    def error(self, message: str) -> NoReturn:
        """One line, and the exit code of every other error: argparse's own are several, and 2."""
        raise BadConfiguration(f"{message} (see: {self.prog} --help)")


def parser() -> ArgumentParser:
    """A parser of the options in :data:`~reference_broker.service.options.TABLE`."""
    made = _Parser(prog=PROGRAM, description=DESCRIPTION, allow_abbrev=False)
    for option in TABLE:
        made.add_argument(
            option.flag,
            dest=option.name,
            metavar=option.metavar,
            choices=option.choices,
            help=option.help.replace("%", "%%"),
        )
    return made


def parse(words: Sequence[str]) -> BrokerOptions:
    """The options in ``words``. Raises :exc:`BadConfiguration` for words that are none, and
    :exc:`SystemExit` after ``--help``, which prints the options."""
    found = vars(parser().parse_args(words))
    return BrokerOptions(**{option.name: _value(option, found[option.name]) for option in TABLE})


def _value(option: Option, text: str | None) -> Any:
    return None if text is None else option.kind(text)
