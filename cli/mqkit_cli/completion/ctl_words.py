"""The word that may come next in a command line of ``mqkit ctl``. No I/O."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from mqkit_cli.completion.names import EXCHANGES, QUEUES, VHOSTS, Kind
from mqkit_cli.ctl.arguments import DEFAULT_VHOST, SHORT_OPTIONS, parse
from mqkit_cli.ctl.command import Command
from mqkit_cli.ctl.exits import UsageError

_KINDS = {"queue": QUEUES, "exchange": EXCHANGES, "vhost": VHOSTS}
"""Kinds by the words that stand for them in the usage of a command."""


@dataclass(frozen=True, slots=True)
class NextWord:
    """One of ``words``, or a name of a ``kind`` of object in ``vhost``; neither if it can be
    anything."""

    words: tuple[str, ...] = ()
    kind: Kind | None = None
    vhost: str = DEFAULT_VHOST


def next_word(before: Sequence[str], commands: Mapping[str, Command]) -> NextWord:
    """The word that follows those in ``before``, which are whole."""
    try:
        line = parse(before, {name: command.options for name, command in commands.items()})
    except UsageError:
        return NextWord(kind=VHOSTS if _wants_vhost(before[-1]) else None)
    if not line.command:
        return NextWord(words=tuple(sorted(commands)))
    command = commands.get(line.command)
    usage = command.usage.split() if command is not None else []
    place = len(line.arguments)
    meant = usage[place].strip("[<>]") if place < len(usage) else ""
    return NextWord(kind=_KINDS.get(meant), vhost=line.vhost)


def _wants_vhost(option: str) -> bool:
    """The line ends with an option that has no value yet."""
    return SHORT_OPTIONS.get(option, option) == "--vhost"
