"""The states of a row. Pure.

===========  =======================================================================
state        meaning
===========  =======================================================================
waiting      to be published
held         behind a stopped row of its key
stopped      the broker refused it (``reason``), until somebody retries or purges it
sent         confirmed, and kept by ``after="keep"``
===========  =======================================================================
"""

from __future__ import annotations

from enum import StrEnum

STATE_LENGTH = 16
"""Characters of the column."""


class State(StrEnum):
    """The states of a row."""

    WAITING = "waiting"
    HELD = "held"
    STOPPED = "stopped"
    SENT = "sent"
