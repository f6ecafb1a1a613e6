"""Ending a child process and everything that it started."""

from __future__ import annotations

import asyncio
import os
import signal


async def end_group(process: asyncio.subprocess.Process, timeout_s: float) -> None:
    """SIGTERM to the group that ``process`` leads, then SIGKILL after ``timeout_s`` seconds.

    Returns when the process is gone. It must have been started with ``start_new_session``: so the
    group is its own, and has its grandchildren (Spark's JVM, its Python workers) in it.
    """
    try:
        if process.returncode is None:
            _signal(process.pid, signal.SIGTERM)
            async with asyncio.timeout(timeout_s):
                await process.wait()
    except TimeoutError:
        pass
    finally:
        # Even where the leader went by itself: it may have left somebody behind.
        _signal(process.pid, signal.SIGKILL)
        await process.wait()


def _signal(group: int, number: signal.Signals) -> None:
    try:
        os.killpg(group, number)
    except ProcessLookupError:
        pass
