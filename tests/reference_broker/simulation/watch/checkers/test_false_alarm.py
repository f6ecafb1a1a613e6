from __future__ import annotations

from collections import Counter

import pytest

from reference_broker.simulation.events.events import BitRot, Start
from reference_broker.simulation.watch.checkers import FalseAlarmChecker, Violation

DAMAGED = Start({}, 1, 1, damaged=True)
LOST = Start({}, 1, 1, lost=Counter(q=2), orphans=1)
LOSSES = {"q": Counter(damaged=2, expired=1)}


def test_nothing_is_lost_where_nothing_is_damaged() -> None:
    checker = FalseAlarmChecker()
    checker.started(Start({}, 1, 1))
    checker.life_ended({"q": Counter(expired=3)})
    with pytest.raises(Violation, match="a start reports damage"):
        checker.started(DAMAGED)
    with pytest.raises(Violation, match="a start reports 3 lost messages"):
        checker.started(LOST)
    with pytest.raises(Violation, match="'q' has lost 2 messages"):
        checker.life_ended(LOSSES)


def test_where_a_bit_was_flipped_it_may_be_told() -> None:
    checker = FalseAlarmChecker()
    checker.bit_flipped(BitRot("file", (), speaks=False, defines=False, stamp=1))
    checker.started(DAMAGED)
    checker.started(LOST)
    checker.life_ended(LOSSES)
