"""The wall clock of a broker in a test."""

from __future__ import annotations

from mqkit.testing.in_process.wall_time import GRAIN_MS, WallTime


class Machine:
    """A machine's clock, which the test sets."""

    now_ms = 1_000_003

    def __call__(self) -> int:
        return self.now_ms


def test_it_is_the_machines_until_it_is_stopped() -> None:
    machine = Machine()
    wall = WallTime(machine)
    assert wall.now_ms() == 1_000_003
    assert wall.stop() == 1_000_010
    assert wall.stop() % GRAIN_MS == 0
    machine.now_ms += 50_000
    assert wall.now_ms() == 1_000_010


def test_it_never_goes_back() -> None:
    machine = Machine()
    wall = WallTime(machine)
    wall.move_to(wall.stop() + 600_000)
    wall.run()
    assert wall.now_ms() == 1_600_010
    machine.now_ms += 1
    assert wall.now_ms() == 1_600_011
    wall.stop()
    machine.now_ms += 5_000
    wall.run()
    assert wall.now_ms() == machine.now_ms + 600_007


def test_a_machine_that_has_overtaken_it_is_followed() -> None:
    machine = Machine()
    wall = WallTime(machine)
    wall.stop()
    machine.now_ms += 5_000
    wall.run()
    assert wall.now_ms() == machine.now_ms
