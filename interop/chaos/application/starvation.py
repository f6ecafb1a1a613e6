"""The app's own heartbeat: the times at which its event loop did not get to run.

A machine that is busy makes everything late, mqkit or not; the checker counts this out. Beside each
time stands the CPU that the process itself had in it.
"""

from __future__ import annotations

import asyncio
import time

from interop.chaos.facts import FactsFile

INTERVAL_S = 0.02
LATE_S = 0.04
"""A turn that comes later than this is written down."""
FLUSH_INTERVAL_S = 0.5


async def watch_loop(facts: FactsFile) -> None:
    """Write a fact for each time that the loop was late, until cancelled; flush the facts."""
    flushed = time.monotonic()
    while True:
        asked, cpu = time.monotonic(), time.process_time()
        await asyncio.sleep(INTERVAL_S)
        now = time.monotonic()
        if now - asked > INTERVAL_S + LATE_S:
            own_s = round(time.process_time() - cpu, 6)
            facts.write("starved", since=round(asked, 6), own_cpu_s=own_s)
        if now - flushed > FLUSH_INTERVAL_S:
            facts.flush()
            flushed = now
