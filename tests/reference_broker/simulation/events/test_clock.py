from __future__ import annotations

from reference_broker.simulation.events.clock import START_S, START_WALL_MS, SimulatedClock


def test_events_come_in_order_of_time_and_of_making() -> None:
    clock = SimulatedClock()
    seen: list[tuple[str, int]] = []
    clock.after(20, lambda: seen.append(("late", clock.now_us)))
    clock.after(10, lambda: seen.append(("first", clock.now_us)))
    clock.after(10, lambda: seen.append(("second", clock.now_us)))
    assert not clock.run(100)
    assert seen == [("first", 10), ("second", 10), ("late", 20)]
    assert clock.now_us == 100


def test_what_is_due_later_stays() -> None:
    clock = SimulatedClock()
    seen: list[int] = []
    clock.after(50, lambda: seen.append(clock.now_us))
    clock.run(49)
    assert seen == []
    clock.run(50)
    assert seen == [50]


def test_it_stops_when_it_is_told_to() -> None:
    clock = SimulatedClock()
    seen: list[int] = []
    for at_us in (1, 2, 3):
        clock.after(at_us, lambda: seen.append(clock.now_us))
    assert clock.run(10, lambda: len(seen) == 2)
    assert (seen, clock.now_us) == ([1, 2], 2)


def test_both_clocks_move_with_it() -> None:
    clock = SimulatedClock()
    clock.run(1_500_000)
    assert clock.mono_s() == START_S + 1.5
    assert clock.system_us() == 1_000 * clock.wall_ms() == 1_000 * START_WALL_MS + 1_500_000


def test_the_broker_s_times_are_off_as_its_machine_s_clock_is_set() -> None:
    clock = SimulatedClock()
    assert clock.off_ms(5_000, in_one_life=False) == 0
    clock.set_system(2_000)
    clock.set_system(-1_000)
    assert clock.system_us() == 1_000 * START_WALL_MS - 1_000_000
    assert clock.wall_ms() == START_WALL_MS
    assert clock.off_ms(5_000, in_one_life=True) == 51
    assert clock.off_ms(5_000, in_one_life=False) == 3_051


def test_a_deadline_is_never_met_early() -> None:
    clock = SimulatedClock()
    seen: list[float] = []
    deadlines = [START_S + 0.0123456789, START_S + 2, START_S - 1]
    for deadline in deadlines:
        clock.call_at(deadline, lambda: seen.append(clock.mono_s()))
    clock.run(3_000_000)
    assert all(at >= due for at, due in zip(seen, sorted(deadlines), strict=True))
    assert seen[-1] < START_S + 2.00001


def test_a_call_is_cancelled() -> None:
    clock = SimulatedClock()
    seen: list[str] = []
    clock.call_at(START_S + 1, lambda: seen.append("kept"))
    pending = clock.call_at(START_S + 1, lambda: seen.append("cancelled"))
    pending.cancel()
    pending.cancel()
    clock.run(2_000_000)
    assert seen == ["kept"]


def test_a_call_for_later_comes_so_many_seconds_from_now_unless_it_is_cancelled() -> None:
    clock = SimulatedClock()
    seen: list[int] = []
    clock.run(1_000_000)
    clock.call_later(1.5, lambda: seen.append(clock.now_us))
    clock.call_later(0.5, lambda: seen.append(0)).cancel()
    clock.run(5_000_000)
    assert seen == [2_500_000]


def test_stamps_rise() -> None:
    clock = SimulatedClock()
    assert clock.stamp() < clock.stamp()


def test_a_stamp_knows_its_time() -> None:
    clock = SimulatedClock()
    first = clock.stamp()
    clock.run(7_000)
    second = clock.stamp()
    assert first < second
    assert clock.wall_ms(first) == START_WALL_MS
    assert clock.wall_ms(second) == clock.wall_ms() == START_WALL_MS + 7
