"""The law that a channel's books are what it has: its outstanding deliveries, those of each of its
consumers, and what its transaction holds.

Too many, and a prefetch is used up by nothing: the consumer never gets another message. Too few,
and it gets more than it asked for.
"""

from __future__ import annotations

from collections.abc import Sequence

from reference_broker.simulation.events.events import ChannelBook
from reference_broker.simulation.watch.checkers.checker import Checker


class ChannelBooksChecker(Checker):
    name = "channel books"

    def channels_counted(self, books: Sequence[ChannelBook]) -> None:
        for what, kept, counted in books:
            if kept != counted:
                raise self.fail(f"{what}: {kept} are booked, and {counted} are there")
