"""Moments that a kill is for: the work is done, and that is not written down yet.

A program says so on stdout and stays there for a moment, as it would on a slow machine; the run
kills it, the broker or the database then. A kill at any other time shows less.
"""

from __future__ import annotations

import random
import sys

IN_BETWEEN = "in between"
HOLD_S = 0.05
SHARE = 0.02
"""Of the consumer's messages: a moment at each would leave it no time for its work."""


def say_in_between() -> None:
    """Say it at once: a pipe keeps lines back otherwise."""
    sys.stdout.write(f"{IN_BETWEEN}\n")
    sys.stdout.flush()


def is_one_of_few() -> bool:
    """True for :data:`SHARE` of the calls."""
    return random.random() < SHARE
