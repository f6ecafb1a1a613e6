"""loop_beat: a mark that a loop leaves while it goes round, and not while it stands."""

from __future__ import annotations

from reference_broker.core.base.deadlines import Deadline
from reference_broker.runtime.process.loop_beat import BEAT_EVERY_S, LoopBeat
from reference_broker.testing.hand_clock import HandClock


def test_it_beats_while_the_loop_calls_back_until_it_is_stopped() -> None:
    clock, late = HandClock(), 0.0
    pending: list[Deadline] = []

    def call_later(delay_s: float, callback: object) -> Deadline:
        pending.append(clock.after(delay_s, callback))  # type: ignore[arg-type]
        return pending[-1]

    beat = LoopBeat(call_later, lambda: clock.now_ms / 1_000 + late)
    assert beat.at == 0
    for number in range(1, 5):
        clock.forward(BEAT_EVERY_S)
        assert beat.at == number * BEAT_EVERY_S
    late = 7.0  # the loop stands, and the time goes on
    assert beat.clock() - beat.at == 7
    clock.forward(BEAT_EVERY_S)
    assert beat.at == 5 * BEAT_EVERY_S + 7
    beat.stop()
    beat.stop()
    clock.forward(9)
    assert beat.at == 5 * BEAT_EVERY_S + 7
