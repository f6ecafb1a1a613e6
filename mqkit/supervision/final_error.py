"""The end of a program whose app can't start: a line on stderr that says what to do, and exit
code 1."""

from __future__ import annotations

import os
import sys
from typing import NoReturn

from mqkit.errors import ChannelError, ConnectionRefused, MqkitError

TRACEBACK_VARIABLE = "MQKIT_TRACEBACK"
"""Set to anything, it has the error raised as it is, with its traceback."""

_CONNECTION_ADVICE = {
    402: "check the virtual host, which is the path of the URL; %2F is a slash in its name",
    403: "check the user name and the password in the URL",
    530: "check the virtual host, which is the path of the URL, and that this user may use it",
}
_CHANNEL_ADVICE = {
    403: "the user needs the permission for it: mqkit ctl set_permissions",
    404: "declare it: write it into the app's topology file, or run mqkit topology apply",
    405: "another connection has it for itself",
    406: "mqkit topology diff says what is different",
}


def end_program(error: MqkitError) -> NoReturn:
    """Write ``error`` and what to do about it to stderr, in one line, and raise
    :exc:`SystemExit` (1) from it. With ``MQKIT_TRACEBACK`` in the environment raise it itself."""
    if os.environ.get(TRACEBACK_VARIABLE):
        raise error
    sys.stderr.write(f"mqkit: {line_of(error)}\n")
    raise SystemExit(1) from error


def line_of(error: MqkitError) -> str:
    """``error`` in one line, with what to do where its words don't say it."""
    text = " ".join(str(error).split())
    match error:
        case ConnectionRefused():
            advice = _CONNECTION_ADVICE.get(error.reply_code)
        case ChannelError():
            advice = _CHANNEL_ADVICE.get(error.reply_code)
        case _:
            advice = None
    return text if advice is None else f"{text} ({advice})"
