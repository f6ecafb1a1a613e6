from __future__ import annotations

import pytest

from reference_broker.simulation.events.events import ChannelBook
from reference_broker.simulation.watch.checkers import ChannelBooksChecker, Violation


def test_what_is_booked_is_there() -> None:
    checker = ChannelBooksChecker()
    checker.channels_counted([])
    checker.channels_counted([ChannelBook("outstanding", 3, 3)])
    with pytest.raises(Violation, match="outstanding: 2 are booked, and 3 are there"):
        checker.channels_counted([ChannelBook("unacked", 1, 1), ChannelBook("outstanding", 2, 3)])
