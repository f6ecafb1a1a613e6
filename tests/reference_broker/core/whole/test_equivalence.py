"""The end of a script does not depend on how much work a turn has time for.

Each script is played on a broker whose turns never end, and on one whose turns are over after a
unit of work. The rules by which the two may differ stand at
:mod:`reference_broker.testing.scripts.playing` and :mod:`reference_broker.testing.scripts.writing`.
"""

from __future__ import annotations

from collections import Counter

import pytest

from reference_broker.testing.scripts.comparing import difference
from reference_broker.testing.scripts.playing import Play
from reference_broker.testing.scripts.script import SetPolicy
from reference_broker.testing.scripts.writing import write

SCRIPTS = 500
BLOCK = 10
"""Scripts of one test: one takes 80 ms."""
AT_ONCE = 35
"""Scripts that are played in `make check`, too."""


def found_in(seed: int, units: int = 1) -> str:
    print(f"script {seed} in turns of {units}")
    script, whole = write(seed)
    portions = Play(units)
    for given in script:
        portions.take(given)
    return difference(whole, portions)


@pytest.mark.parametrize("first", range(0, AT_ONCE, BLOCK))
def test_turns_of_one_unit_end_as_turns_without_an_end(first: int) -> None:
    for seed in range(first, first + BLOCK):
        assert found_in(seed) == ""


@pytest.mark.slow
@pytest.mark.parametrize("first", range(AT_ONCE, SCRIPTS, BLOCK))
def test_all_other_scripts_do_so_too(first: int) -> None:
    for seed in range(first, first + BLOCK):
        assert found_in(seed) == ""


@pytest.mark.parametrize("units", [2, 3, 7, 50])
def test_other_turns_do_so_too(units: int) -> None:
    assert found_in(units, units) == ""


def test_the_scripts_have_all_that_a_broker_does() -> None:
    """Counts over some scripts: a feature that none of them uses would be compared in vain."""
    seen: Counter[str] = Counter()
    for seed in range(40):
        script, play = write(seed)
        seen["policies"] += sum(isinstance(given, SetPolicy) for given in script)
        for kinds in play.told.values():
            for received in (each for kind in kinds.values() for each in kind):
                seen[type(received.method).__name__] += 1
        for queue in play.state()["queues"].values():
            seen.update(queue)
        for reason, count in play.state()["deaths"].items():
            seen[f"died: {reason}"] += count
    assert all(
        seen[name] > 0
        for name in (
            "policies", "BasicDeliver", "BasicGetOk", "BasicReturn", "BasicCancelOk",
            "QueuePurgeOk", "QueueDeleteOk", "ConnectionCloseOk", "TxCommitOk", "TxRollbackOk",
            "BasicRecoverOk", "ChannelClose",
            "acked", "requeued", "rejected", "expired", "dropped", "refused", "purged",
        )
    ), seen  # fmt: skip
