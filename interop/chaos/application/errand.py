"""A message of the publishers, and what its handler is to do with it."""

from __future__ import annotations

import random
from enum import StrEnum

from pydantic import BaseModel

RETRIES = 2
"""As many as there are tiers; a failure after that is parked."""


class Deed(StrEnum):
    """The deeds of a handler."""

    DONE = "done"
    FAIL_ONCE = "fail once"
    FAIL_ALWAYS = "fail always"
    PARK = "park"
    LATER = "later"
    DROP = "drop"
    SLOW = "slow"
    TIME_OUT = "time out"
    """Take longer than the consumer's timeout, at the first attempt."""
    CANCEL = "cancel"
    """At the first attempt wait for a task that is cancelled."""


_DEEDS = {
    Deed.DONE: 80,
    Deed.FAIL_ONCE: 6,
    Deed.FAIL_ALWAYS: 2,
    Deed.PARK: 2,
    Deed.LATER: 3,
    Deed.DROP: 1,
    Deed.SLOW: 3,
    Deed.TIME_OUT: 1,
    Deed.CANCEL: 2,
}


class Errand(BaseModel):
    """The body of a message."""

    id: str
    deed: Deed


def a_deed(chance: random.Random) -> Deed:
    """Mostly ``DONE``."""
    return chance.choices(tuple(_DEEDS), tuple(_DEEDS.values()))[0]
