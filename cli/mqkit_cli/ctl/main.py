"""``mqkit ctl``, which is also the executable ``mqkit-rabbitmqctl``.

Where the broker is, is said by the environment (``MQKIT_MANAGEMENT_URL`` or ``MQKIT_URL``): the
command line is rabbitmqctl's. By default it is the one on this machine, as guest.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from mqkit_cli.connection import (
    MANAGEMENT_PORT,
    MANAGEMENT_URL_VARIABLE,
    URL_VARIABLE,
    target_of,
)
from mqkit_cli.ctl import connections, listing, members, node, policies, queues, users, vhosts
from mqkit_cli.ctl.api import Api
from mqkit_cli.ctl.arguments import Line, parse
from mqkit_cli.ctl.command import Call, Command
from mqkit_cli.ctl.exits import USAGE, CtlError
from mqkit_cli.ctl.output import Output
from mqkit_cli.management import ManagementApi

COMMANDS: dict[str, Command] = {
    command.name: command
    for noun in (listing, queues, connections, vhosts, users, policies, node, members)
    for command in noun.COMMANDS
}

DEFAULT_URL = f"http://guest:guest@127.0.0.1:{MANAGEMENT_PORT}"


def run(words: Sequence[str]) -> int:
    """Do what a command line of rabbitmqctl says; the exit code. Raises what
    :func:`~mqkit_cli.errors.run_guarded` knows, when the broker can't be asked."""
    try:
        line = parse(words, {name: command.options for name, command in COMMANDS.items()})
        return _run(line)
    except CtlError as error:
        sys.stderr.write(f"{error.prefix}{error}\n")
        return error.code


def _run(line: Line) -> int:
    if not line.command or line.command == "help":
        _help(line.arguments[0] if line.arguments else "")
        return 0 if line.command or line.has("--help") else USAGE
    command = COMMANDS.get(line.command)
    if command is None:
        raise CtlError(USAGE, f"Command '{line.command}' not found.", prefix="\n")
    if line.has("--help"):
        _help(command.name)
        return 0
    command.check(line)
    command.run(Call(line, _api(command.timeout_s(line)), Output(line, _write)))
    return 0


def _api(timeout_s: float) -> Api:
    environment = os.environ.get
    management_url, url = environment(MANAGEMENT_URL_VARIABLE), environment(URL_VARIABLE)
    target = target_of(url, management_url or (None if url else DEFAULT_URL))
    return Api(ManagementApi(target, timeout_s))


def _help(name: str) -> None:
    command = COMMANDS.get(name)
    if command is not None:
        _write(command.synopsis)
        return
    _write("Usage: mqkit ctl [-q] [-p VHOST] COMMAND ...\n\nCommands, as rabbitmqctl has them:\n")
    for each in sorted(COMMANDS.values(), key=lambda each: each.name):
        _write(f"  {each.name} {each.usage}".rstrip())


def _write(text: str) -> None:
    sys.stdout.write(text + "\n")
