"""The end of a message that is not tried again."""

from __future__ import annotations

from enum import StrEnum


class Then(StrEnum):
    """The end of a message that has used up its retries."""

    PARK = "park"
    DROP = "drop"
