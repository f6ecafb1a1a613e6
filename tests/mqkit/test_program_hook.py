"""Hooks of the program: told in order, and never in the way of who tells."""

from __future__ import annotations

import asyncio
import logging
import threading

import pytest

from mqkit.errors import ConfigurationError, MqkitError
from mqkit.program_hook import FUNCTIONS_MAX, TRACEBACK_EVERY_S, ProgramHooks
from mqkit.testing.clock import FakeClock


class Slow:
    """An async function that goes on when it is let."""

    def __init__(self) -> None:
        self.begun: list[int] = []
        self.let = asyncio.Semaphore(0)

    async def __call__(self, event: int) -> None:
        self.begun.append(event)
        await self.let.acquire()


async def _turns(number: int = 20) -> None:
    for _ in range(number):
        await asyncio.sleep(0)


def _lines(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records]


def test_async_and_plain_functions_are_told_in_order() -> None:
    told: list[int] = []
    in_thread: list[tuple[int, bool]] = []

    async def first(event: int) -> None:
        await asyncio.sleep(0)
        told.append(event)

    def second(event: int) -> None:
        in_thread.append((event, threading.current_thread() is threading.main_thread()))

    async def main() -> None:
        hooks: ProgramHooks[int] = ProgramHooks("on_test")
        assert hooks.is_empty
        assert hooks(first) is first
        hooks.add(second)
        assert not hooks.is_empty
        for event in range(5):
            await hooks.tell(event)
        await hooks.close()

    asyncio.run(main())
    assert told == [0, 1, 2, 3, 4]
    assert in_thread == [(event, False) for event in range(5)]


def test_one_event_at_a_time_and_the_teller_does_not_wait() -> None:
    async def main() -> None:
        hooks: ProgramHooks[int] = ProgramHooks("on_test", clock=FakeClock())
        slow = Slow()
        quick: list[int] = []
        hooks.add(slow)
        hooks.add(quick.append)
        await hooks.tell(1)
        await hooks.tell(2)
        await _turns()
        assert slow.begun == [1]
        slow.let.release()
        await _turns()
        assert slow.begun == [1, 2]
        slow.let.release()
        await hooks.close()
        assert quick == [1, 2]

    asyncio.run(main())


def test_a_failing_function_is_logged_and_told_the_next_event(
    caplog: pytest.LogCaptureFixture,
) -> None:
    told: list[int] = []

    def failing(event: int) -> None:
        told.append(event)
        raise ValueError(f"no\nmore than {event}")

    async def main() -> None:
        clock = FakeClock()
        hooks: ProgramHooks[int] = ProgramHooks("on_test", clock=clock)
        hooks.add(failing)
        for event in (1, 2):
            await hooks.tell(event)
        await hooks.close()
        clock.advance(TRACEBACK_EVERY_S)
        await hooks.tell(3)
        await hooks.close()
        assert hooks.failed == 3

    with caplog.at_level(logging.WARNING, "mqkit.program_hook"):
        asyncio.run(main())
    assert told == [1, 2, 3]
    assert "failing failed: ValueError: no more than 1" in _lines(caplog)[0]
    assert [record.exc_info is not None for record in caplog.records] == [True, False, True]


def test_an_error_of_mqkit_has_no_traceback(caplog: pytest.LogCaptureFixture) -> None:
    def failing(event: int) -> None:
        raise MqkitError("nobody answers")

    async def main() -> None:
        hooks: ProgramHooks[int] = ProgramHooks("on_test")
        hooks.add(failing)
        await hooks.tell(1)
        await hooks.close()

    with caplog.at_level(logging.WARNING, "mqkit.program_hook"):
        asyncio.run(main())
    (record,) = caplog.records
    assert "MqkitError: nobody answers" in record.getMessage()
    assert record.exc_info is None


@pytest.mark.parametrize("raised", [SystemExit(3), KeyboardInterrupt()])
def test_a_function_that_would_end_the_program_has_failed(
    raised: BaseException, caplog: pytest.LogCaptureFixture
) -> None:
    def ends(event: int) -> None:
        raise raised

    async def main() -> None:
        hooks: ProgramHooks[int] = ProgramHooks("on_test")
        hooks.add(ends)
        await hooks.tell(1)
        await hooks.close()
        assert hooks.failed == 1

    asyncio.run(main())
    assert type(raised).__name__ in _lines(caplog)[0]


def test_a_slow_function_has_a_time_limit(caplog: pytest.LogCaptureFixture) -> None:
    async def main() -> None:
        clock = FakeClock()
        hooks: ProgramHooks[int] = ProgramHooks("on_test", time_limit_s=5.0, clock=clock)
        slow = Slow()
        hooks.add(slow)
        await hooks.tell(1)
        await hooks.tell(2)
        await clock.until_waiting(1)
        await _turns()
        clock.advance(5.0)
        await _turns()
        assert (slow.begun, hooks.failed) == ([1, 2], 1)
        slow.let.release()
        await hooks.close()
        assert hooks.failed == 1

    asyncio.run(main())
    assert "took longer than 5 s" in _lines(caplog)[0]


def test_events_that_a_function_is_too_slow_for_are_counted(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def main() -> None:
        hooks: ProgramHooks[int] = ProgramHooks("on_test", waiting_max=2, clock=FakeClock())
        slow = Slow()
        hooks.add(slow)
        await hooks.tell(0)
        await _turns()
        for event in range(1, 6):
            await hooks.tell(event)
        assert hooks.dropped == 3
        for _ in range(3):
            slow.let.release()
        await hooks.close()
        assert slow.begun == [0, 1, 2]

    asyncio.run(main())
    assert len(caplog.records) == 1
    assert "too slow: 1 events dropped" in _lines(caplog)[0]


def test_closing_gives_up_what_is_not_told_in_time_and_says_so(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def main() -> None:
        clock = FakeClock()
        hooks: ProgramHooks[int] = ProgramHooks("on_test", time_limit_s=60.0, clock=clock)
        slow = Slow()
        hooks.add(slow)
        await hooks.tell(1)
        await hooks.tell(2)
        await clock.until_waiting(1)
        closing = asyncio.create_task(hooks.close(3.0))
        await clock.until_waiting(2)
        clock.advance(3.0)
        await closing
        assert (slow.begun, hooks.dropped, hooks.failed) == ([1], 1, 1)
        await hooks.close()

    asyncio.run(main())
    assert any("had not returned at the end of the program" in text for text in _lines(caplog))


def test_what_is_no_function_and_too_many_functions_are_refused() -> None:
    hooks: ProgramHooks[int] = ProgramHooks("on_test")
    with pytest.raises(ConfigurationError, match="is a function"):
        hooks.add(7)  # type: ignore[arg-type]
    for _ in range(FUNCTIONS_MAX):
        hooks.add(print)
    with pytest.raises(ConfigurationError, match="100 functions already"):
        hooks.add(print)
