"""The failures of ``ctl`` commands, with rabbitmqctl's exit codes, which are sysexits'."""

from __future__ import annotations

from mqkit_cli.errors import CommandError

USAGE = 64
DATA_ERROR = 65
NO_USER = 67
UNAVAILABLE = 69
SOFTWARE = 70


class CtlError(CommandError):
    """A failure: text for stderr, and the exit code. ``prefix`` stands on a line before the
    text."""

    def __init__(self, code: int, text: str, prefix: str = "Error:\n") -> None:
        super().__init__(text)
        self.code = code
        self.prefix = prefix


class UsageError(CtlError):
    """The command line can't be meant so."""

    def __init__(self, text: str) -> None:
        super().__init__(USAGE, text, prefix="Error (argument validation): ")
