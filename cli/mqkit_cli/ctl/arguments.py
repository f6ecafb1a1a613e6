"""A command line of ``ctl``, taken apart: rabbitmqctl takes its options anywhere.

[-q] COMMAND [-p VHOST] ARGUMENT ... [--option VALUE] [-- ARGUMENT ...]
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from mqkit_cli.ctl.exits import UsageError

FLAG = False
"""An option without a value, in a table of options."""
VALUE = True

GLOBAL_OPTIONS: Mapping[str, bool] = {
    "--node": VALUE,
    "--longnames": FLAG,
    "--quiet": FLAG,
    "--silent": FLAG,
    "--no-table-headers": FLAG,
    "--formatter": VALUE,
    "--timeout": VALUE,
    "--vhost": VALUE,
    "--help": FLAG,
    "--dry-run": FLAG,
}
"""The options of every command. ``--node`` and ``--longnames`` mean nothing over HTTP."""

SHORT_OPTIONS = {
    "-n": "--node",
    "-l": "--longnames",
    "-q": "--quiet",
    "-s": "--silent",
    "-t": "--timeout",
    "-p": "--vhost",
}

DEFAULT_VHOST = "/"

FOREVER_S = 24 * 3600.0


@dataclass(slots=True)
class Line:
    """A parsed command line. Options are by their long names; a flag has an empty value."""

    command: str = ""
    arguments: list[str] = field(default_factory=list)
    options: dict[str, str] = field(default_factory=dict)

    def has(self, option: str) -> bool:
        return option in self.options

    def timeout_s(self, default_s: float) -> float:
        """The seconds of ``--timeout``. rabbitmqctl takes ``infinity`` too, and 0 for it. Raises
        :exc:`UsageError`."""
        text = self.options.get("--timeout", "")
        if text in ("infinity", "0"):
            return FOREVER_S
        try:
            return float(text) if text else default_s
        except ValueError:
            raise UsageError(f"the timeout {text!r} is not a number of seconds") from None

    @property
    def vhost(self) -> str:
        return self.options.get("--vhost", DEFAULT_VHOST)


def parse(words: Sequence[str], own_options: Mapping[str, Mapping[str, bool]]) -> Line:
    """Take a command line apart. ``own_options`` has those of each command, by its name.

    Raises :exc:`UsageError` for an option that is not known, or has no value.
    """
    line = Line()
    rest = list(words)
    while rest:
        word = rest.pop(0)
        if word == "--":
            line.arguments += rest
            break
        if not word.startswith("-") or word == "-":
            if line.command:
                line.arguments.append(word)
            else:
                line.command = word
            continue
        name, joined, value = word.partition("=")
        name = SHORT_OPTIONS.get(name, name)
        known = {**GLOBAL_OPTIONS, **own_options.get(line.command, {})}
        if name not in known:
            raise UsageError(f"Invalid options for this command: {word}")
        if known[name] is VALUE and not joined:
            if not rest:
                raise UsageError(f"the option {word} needs a value")
            value = rest.pop(0)
        line.options[name] = value
    return line
