"""A command behind a proxy that breaks its link to the broker, for a while or until it ends."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from asyncio.subprocess import Process
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

from mqkit.testing.chaos.plan import Fault, Step, plan
from mqkit.testing.proxy import FaultyProxy
from mqkit.timing.clock import SYSTEM_CLOCK, Clock

URL_VARIABLES = ("MQKIT_URL", "MQKIT_URLS")
"""Variables in which programs of mqkit's find their broker; the command has the first one."""

STOP_TIMEOUT_S = 30.0
"""A command that has not gone this long after SIGTERM is killed."""


@dataclass(frozen=True, slots=True)
class Options:
    """``seconds`` of faults, then ``quiet_s`` without any, in which the command gets its work done;
    one that runs then is ended by SIGTERM."""

    url: str
    seed: int
    seconds: float
    quiet_s: float


Tell = Callable[[str], None]


async def run(
    command: Sequence[str], options: Options, tell: Tell, clock: Clock = SYSTEM_CLOCK
) -> int:
    """Returns the exit code of the command, negative for the signal that ended it."""
    async with FaultyProxy.before(options.url) as proxy:
        process = await asyncio.create_subprocess_exec(
            *command, env=_environment(os.environ, proxy.url)
        )
        ended = asyncio.create_task(process.wait())
        try:
            breaking = asyncio.create_task(_break(proxy, options, tell, clock))
            await asyncio.wait((ended, breaking), return_when=asyncio.FIRST_COMPLETED)
            breaking.cancel()
            await asyncio.gather(breaking, return_exceptions=True)
            if not ended.done():
                tell("the end: SIGTERM")
        finally:
            await _end(process, ended)
        return ended.result()


def _environment(environ: Mapping[str, str], url: str) -> dict[str, str]:
    kept = {name: value for name, value in environ.items() if name not in URL_VARIABLES}
    return kept | {URL_VARIABLES[0]: url}


async def _break(proxy: FaultyProxy, options: Options, tell: Tell, clock: Clock) -> None:
    """Have the faults of the seed, and then none."""
    begin_s = clock.monotonic_s()
    for step in plan(options.seed):
        left_s = begin_s + options.seconds - clock.monotonic_s()
        await clock.sleep(min(step.after_s, left_s))
        now_s = clock.monotonic_s() - begin_s
        if now_s >= options.seconds:
            break
        lasts = f" for {step.length_s:.1f} s" if step.length_s else ""
        tell(f"{now_s:6.1f} s  {step.fault}{lasts}")
        await _strike(proxy, step, clock)
    proxy.cut_before_confirm(after=sys.maxsize)  # one that has met no confirm so far
    tell(f"{clock.monotonic_s() - begin_s:6.1f} s  no more faults, for {options.quiet_s:g} s")
    await clock.sleep(options.quiet_s)


async def _strike(proxy: FaultyProxy, step: Step, clock: Clock) -> None:
    match step.fault:
        case Fault.CUT:
            proxy.cut()
        case Fault.LOST_CONFIRM:
            proxy.cut_before_confirm()
        case Fault.STALL:
            proxy.stall()
            await clock.sleep(step.length_s)
            proxy.resume()
        case Fault.REFUSE:
            proxy.refuse()
            proxy.cut()
            await clock.sleep(step.length_s)
            proxy.accept()
        case Fault.BLOCK:
            proxy.block()
            await clock.sleep(step.length_s)
            proxy.unblock()


async def _end(process: Process, ended: asyncio.Task[int]) -> None:
    """The command does not outlive this call."""
    if not ended.done():
        send_signal(process, signal.SIGTERM)
        try:
            async with asyncio.timeout(STOP_TIMEOUT_S):
                await asyncio.shield(ended)
        except TimeoutError:
            send_signal(process, signal.SIGKILL)
    await ended


def send_signal(process: Process, number: signal.Signals) -> None:
    """Send a signal to a process that may have ended. asyncio's own way looks first whether it has,
    and takes its exit code from whoever waits for it: that one gets 255 then."""
    with suppress(ProcessLookupError):
        os.kill(process.pid, number)
