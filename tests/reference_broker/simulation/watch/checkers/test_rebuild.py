from __future__ import annotations

import pytest

from reference_broker.simulation.events.events import Indexed
from reference_broker.simulation.watch.checkers import RebuildChecker, Violation

ONE, TWO = Indexed(1, 10, 5, 50, 0), Indexed(2, 60, 5, 50, 0)


def test_the_same_is_right() -> None:
    RebuildChecker().compared({"q": [ONE, TWO]}, {"q": [ONE, TWO]}, "footers")


@pytest.mark.parametrize(
    "rebuilt",
    [
        {},
        {"q": [ONE]},
        {"q": [TWO, ONE]},
        {"q": [ONE, TWO], "other": [ONE]},
        {"q": [ONE, TWO._replace(expires_at_ms=5)]},
        {"q": [ONE, TWO._replace(position=70)]},
    ],
)
def test_anything_else_is_wrong(rebuilt: dict[str, list[Indexed]]) -> None:
    with pytest.raises(Violation, match="rebuild"):
        RebuildChecker().compared({"q": [ONE, TWO]}, rebuilt, "footers")
