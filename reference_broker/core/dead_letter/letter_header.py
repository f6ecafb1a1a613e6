"""The content header of a dead letter, with what its sender has to know of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from reference_broker.core.dead_letter.earlier_deaths import EarlierDeaths
    from reference_broker.core.message.header import HeaderFacts


class LetterHeader(NamedTuple):
    """``header`` says why and where the message died. ``facts`` are its own."""

    header: bytes
    facts: HeaderFacts
    copies: Sequence[str] = ()
    """The routing keys in CC, of a message that keeps its keys."""
    earlier: EarlierDeaths | None = None
    """The deaths before this one."""
    tables_dropped: int = 0
    """Deaths that x-death does not have any more, for lack of room."""
