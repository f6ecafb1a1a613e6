"""Answers and news, as later inputs of the core."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

Step = Callable[[], None]


class Inputs:
    """Runs steps as inputs of the core, in their order, and never within the call that hands them
    in. ``as_input`` is the shell's: it runs one step as an input. None is run after
    :meth:`close`."""

    def __init__(self, loop: asyncio.AbstractEventLoop, as_input: Callable[[Step], None]) -> None:
        self._loop = loop
        self._as_input = as_input
        self._closed = False

    def give(self, step: Step) -> None:
        """Run ``step`` in the next turn of the loop. For the loop's thread."""
        self._loop.call_soon(self._run, step)

    def give_from_thread(self, step: Step) -> None:
        """Run ``step`` in a later turn of the loop. For any thread."""
        try:
            self._loop.call_soon_threadsafe(self._run, step)
        except RuntimeError:
            pass  # the loop is closed: nobody is left to be told

    def close(self) -> None:
        """Run none any more. Idempotent."""
        self._closed = True

    def _run(self, step: Step) -> None:
        if not self._closed:
            self._as_input(step)
