"""mqkit_bench.stalls.table: the figures beside each other, and what is held."""

from __future__ import annotations

from dataclasses import replace

from mqkit_bench.stalls.played import Played, Standing
from mqkit_bench.stalls.probe import Waits
from mqkit_bench.stalls.table import is_held, table


def played(transient_ms: float, persistent_ms: float, sync_ms: float = 1.0) -> Played:
    return Played(
        transient=Waits(100, transient_ms, 1.0),
        persistent=Waits(100, persistent_ms, 1.0),
        is_answered=True,
        sync_ms=sync_ms,
        seconds=1.0,
        broker_cpu_s=0.5,
        core_wait_s=0.1,
        longest_turn_ms=None,
        remark="",
    )


def standing(*plays: Played, name: str = "ours", is_administrators: bool = False) -> Standing:
    return Standing("fork", "a fork", is_administrators, name, 1.0, plays)


def test_the_median_of_the_longest_counts() -> None:
    assert is_held(standing(played(1_000, 10), played(49, 10), played(20, 10)))
    assert not is_held(standing(played(1_000, 10), played(51, 10), played(20, 10)))


def test_an_administrator_s_own_may_take_longer() -> None:
    slow = played(90, 90)
    assert not is_held(standing(slow))
    assert is_held(standing(slow, is_administrators=True))


def test_a_persistent_message_may_wait_for_the_disk() -> None:
    assert not is_held(standing(played(1, 200)))
    assert is_held(standing(played(1, 200, sync_ms=160)))


def test_a_broker_without_an_answer_holds_nothing() -> None:
    assert not is_held(standing(replace(played(1, 1), is_answered=False)))
    assert not is_held(standing())


def test_brokers_stand_beside_each_other() -> None:
    ours = standing(played(1_234, 12))
    hung = standing(
        replace(played(1, 1), is_answered=False, remark="TimeoutError: timed out"), name="other"
    )
    lines = table([ours, hung]).splitlines()
    assert len({line.count("|") for line in lines}) == 1
    assert "| 1,234 ms (p99 1 ms) | 12 ms (1 ms) | 0.5 s (0.1 s) | - | no answer |" in lines[-1]
    assert lines[-1].endswith("| **no** | other: TimeoutError: timed out |")


def test_why_an_action_was_not_played_is_a_remark() -> None:
    lines = table([replace(standing(), why_not="ConnectionError: 406")]).splitlines()
    assert lines[-1] == "| a fork | - | - | - | - | **no** | ours: ConnectionError: 406 |"
