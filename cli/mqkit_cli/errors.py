"""Errors as a person wants to read them: a line on stderr, and exit code 1.

Never a traceback (``MQKIT_TRACEBACK=1`` asks for one), never a password, and 1 for every error: 2
is what ``topology plan`` and ``topology diff`` say when something would change.
"""

from __future__ import annotations

import os
import re
import sys
import traceback
from collections.abc import Callable

import typer

from mqkit.errors import (
    ChannelError,
    ConnectionRefused,
    DeadlineExceeded,
    MqkitError,
    Unreachable,
)
from reference_broker.service.failure import EXIT_ERROR as EXIT_ERROR
from reference_broker.service.failure import TRACEBACK_VARIABLE, in_words
from reference_broker.service.streams import give_up_stdout

_PARSER_ERROR: type[Exception] = typer.BadParameter.__mro__[2]
"""The base class of all errors of the command line's parser. Some versions of typer have a click of
their own and do not give it a public name, but BadParameter is always a UsageError is always
this."""

_UNREACHABLE = (
    "check host and port of --url; `mqkit broker run` starts a broker on this machine, on port 5672"
)
"""Advice where no broker answers."""

_LATE = (
    "a busy broker may need a longer --timeout; a server of another kind never answers: check host"
    " and port of --url, AMQP is usually on port 5672"
)
"""Advice where a server took the connection, and then said nothing."""

_REFUSED = {
    403: "check the user name and the password of --url, and that the user may connect from here",
    530: "check the vhost, which is the path of --url; %2F is a slash in its name",
}
"""Advice for a connection that was refused, by the broker's reply code."""

_CLOSED = {
    403: "the user of --url lacks a permission; `mqkit ctl set_permissions` gives it",
    404: "check the name, and the vhost of --url; `mqkit topology apply` declares what a file has",
}
"""Advice for a channel that was closed, by the broker's reply code."""

_INTERRUPTED = 130
"""typer's exit code for Ctrl-C."""

_SECRET = re.compile(r"(\w://[^\s/:@]*):[^\s/]*@")


class CommandError(Exception):
    """A command can't do what was asked; the message says what to do instead."""


def mask(text: str) -> str:
    """``text`` with the password of every URL in it as ``***``."""
    return _SECRET.sub(r"\1:***@", text)


def run_guarded(run: Callable[[], object]) -> int:
    """Run the command line, and give the exit code. ``run`` gives one, or nothing for 0."""
    try:
        code = run()
        sys.stdout.flush()
    except BrokenPipeError:
        return _reader_is_gone()
    except (KeyboardInterrupt, typer.Abort):
        return _say("interrupted")
    except Exception as error:  # noqa: BLE001 - the last place before a traceback
        if os.environ.get(TRACEBACK_VARIABLE):
            sys.stderr.write(mask(traceback.format_exc()))
        return _say(describe(error)) if not _is_help(error) else EXIT_ERROR
    if code == _INTERRUPTED:
        return _say("interrupted")
    return code if isinstance(code, int) else 0


def describe(error: Exception) -> str:
    """The error in words, with what to do where it can be told."""
    if isinstance(error, _PARSER_ERROR):
        return _usage(error)
    if not isinstance(error, CommandError | MqkitError):
        return in_words(error, "cli")
    advice = _advice(error)
    return f"{error} ({advice})" if advice else str(error)


def _advice(error: Exception) -> str | None:
    """Advice about an error that doesn't know by which option the broker was named."""
    if isinstance(error, Unreachable):
        return _UNREACHABLE
    if isinstance(error, DeadlineExceeded):
        return _LATE
    if isinstance(error, ConnectionRefused):
        return _REFUSED.get(error.reply_code)
    closed = error if isinstance(error, ChannelError) else error.__cause__
    return _CLOSED.get(closed.reply_code) if isinstance(closed, ChannelError) else None


def _usage(error: Exception) -> str:
    """The parser's own words, without its full stop, and the page that has the options."""
    message = " ".join(str(getattr(error, "format_message", error.__str__)()).split())
    context = getattr(error, "ctx", None)
    path = "mqkit" if context is None else context.command_path
    return f"{message.rstrip('.')} (see: {path} --help)"


def _is_help(error: Exception) -> bool:
    """A command group that was called without a command: its help is printed already."""
    if type(error).__name__ != "NoArgsIsHelpError":
        return False
    text = str(getattr(error, "message", ""))
    if text:
        sys.stderr.write(text + "\n")
    return True


def _say(message: str) -> int:
    try:
        sys.stderr.write(f"mqkit: {mask(message)}\n")
        sys.stderr.flush()
    except BrokenPipeError:
        return _reader_is_gone()
    return EXIT_ERROR


def _reader_is_gone() -> int:
    """``mqkit ... | head``."""
    give_up_stdout()
    return EXIT_ERROR
