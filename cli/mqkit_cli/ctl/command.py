"""A command of ``ctl``: its name, its arguments and options, and the function that runs it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from mqkit_cli.connection import TIMEOUT_S
from mqkit_cli.ctl.api import Api
from mqkit_cli.ctl.arguments import Line
from mqkit_cli.ctl.exits import UsageError
from mqkit_cli.ctl.output import Output

MANY = 1_000
"""Arguments, where there is no other bound."""


@dataclass(frozen=True, slots=True)
class Call:
    """One call of a command: its command line, the management API, and the output."""

    line: Line
    api: Api
    output: Output

    @property
    def arguments(self) -> list[str]:
        return self.line.arguments

    @property
    def vhost(self) -> str:
        return self.line.vhost


@dataclass(frozen=True, slots=True)
class Command:
    """``usage`` is what follows the name; ``least`` and ``most`` are numbers of arguments.
    ``options`` are its own, by their long names: whether they have a value. Each of its requests
    waits ``request_s``, or what ``--timeout`` says, unless that is how long the command
    ``waits``."""

    name: str
    usage: str
    least: int
    most: int
    run: Callable[[Call], None]
    options: Mapping[str, bool] = field(default_factory=dict)
    request_s: float = TIMEOUT_S
    waits: bool = False

    def timeout_s(self, line: Line) -> float:
        """The seconds that each request waits. Raises :exc:`UsageError`."""
        return self.request_s if self.waits else line.timeout_s(self.request_s)

    def check(self, line: Line) -> None:
        """Raises :exc:`UsageError` for too few or too many arguments."""
        if len(line.arguments) < self.least:
            raise UsageError(f"not enough arguments.\n{self.synopsis}")
        if len(line.arguments) > self.most:
            raise UsageError(f"too many arguments.\n{self.synopsis}")

    @property
    def synopsis(self) -> str:
        return f"Usage: {self.name} {self.usage}".rstrip()
