"""One run: broker, proxy, app, faults, the end, and the checker over what was written down."""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from interop.chaos import broker as brokers
from interop.chaos.app_process import AppProcess
from interop.chaos.facts import RUN, FactsFile
from interop.chaos.injector import Injector
from interop.chaos.plan import PAUSE_S, Fault, Kind, faults
from interop.chaos.proxy import Proxy

WARM_UP_S = 2.0
"""Before the first fault: every publisher and every queue has been at work."""
ENDS_WITHIN_S = 3.0


@dataclass(frozen=True, slots=True)
class Options:
    """A run's choices; ``folder`` is there and empty."""

    broker: str
    transport: str
    seconds: float
    seed: int
    kinds: tuple[Kind, ...]
    folder: Path


def run(options: Options) -> int:
    """Returns the checker's exit code: 1 where a law is broken. Raises what keeps a run from being
    one: a broker or an app that doesn't start."""
    with brokers.started(options.broker) as broker, FactsFile(options.folder / RUN) as facts:
        asyncio.run(_run(options, broker, facts))
        facts.flush()
        return asyncio.run(_check(options.folder, broker.url))


async def _run(options: Options, broker: brokers.Broker, facts: FactsFile) -> None:
    proxy = Proxy(broker.address, facts)
    await proxy.start()
    app = AppProcess(proxy.url, options.transport, options.folder, options.seed)
    try:
        await app.start()
        await _inject_all(options, Injector(broker, proxy, facts), app)
        ended = await app.end()
        # The app's process is still there: what stays open now was left open.
        await _wait_for_ends(proxy)
        facts.write("app ended", in_time=ended, links_left=len(proxy.links))
        facts.write("app exited", code=await app.exit())
    finally:
        if app.runs:
            await app.kill()
        await proxy.stop()


async def _wait_for_ends(proxy: Proxy) -> None:
    """The broker answers the end of each connection, and the proxy forwards that."""
    try:
        async with asyncio.timeout(ENDS_WITHIN_S):
            await proxy.without_links.wait()
    except TimeoutError:
        return


async def _inject_all(options: Options, injector: Injector, app: AppProcess) -> None:
    """Faults until the time is over; the last one is over a pause before that."""
    until = time.monotonic() + options.seconds
    plan: Iterator[Fault] = faults(options.seed, options.kinds)
    await asyncio.sleep(WARM_UP_S)
    for number, fault in enumerate(plan):
        needs_s = fault.lasts_s + PAUSE_S[0]
        if time.monotonic() + needs_s > until or not app.runs:
            break
        print(f"fault {number}: {fault.kind} {fault.queue}", file=sys.stderr, flush=True)
        await injector.inject(number, fault)
        await asyncio.sleep(fault.pause_s)
    await asyncio.sleep(max(0.0, until - time.monotonic()))


async def _check(folder: Path, url: str) -> int:
    checker = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "interop.chaos.checker", str(folder), "--url", url)
    )
    return await checker.wait()
