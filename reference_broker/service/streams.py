"""The standard streams of a program: those that were closed before it began, and a stdout that
nobody reads any more."""

from __future__ import annotations

import os
import sys


def open_closed_streams() -> None:
    """``mqkit ... <&-``: Python has no stream then, and a socket could get its number."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115 - for good


def give_up_stdout() -> None:
    """``mqkit ... | head``: Python would complain once more when it flushes at the end."""
    _lead_nowhere(sys.stdout.fileno())


def give_up_stderr() -> None:
    """Nothing on stderr from here on, whatever fails and whoever tells it."""
    _lead_nowhere(2)


def _lead_nowhere(descriptor: int) -> None:
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, descriptor)
    os.close(nowhere)
