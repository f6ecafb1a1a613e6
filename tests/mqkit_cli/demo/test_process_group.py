"""Ending a process with its children, also one that does not want to."""

from __future__ import annotations

import asyncio
import os
import signal
import sys

import pytest

from mqkit_cli.demo.process_group import end_group

pytestmark = pytest.mark.anyio

STUBBORN = """
import os, signal
signal.signal(signal.SIGTERM, signal.SIG_IGN)
child = os.fork()
if child:
    print(child, flush=True)
signal.pause()
"""


async def start(code: str) -> asyncio.subprocess.Process:
    return await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", code), stdout=asyncio.subprocess.PIPE, start_new_session=True
    )


async def first_line(process: asyncio.subprocess.Process) -> bytes:
    assert process.stdout is not None
    return await process.stdout.readline()


async def test_sigterm_is_enough_for_most() -> None:
    process = await start("import signal; print(1, flush=True); signal.pause()")
    await first_line(process)
    await end_group(process, 30)
    assert process.returncode == -signal.SIGTERM


async def test_who_ignores_it_is_killed_with_the_children() -> None:
    process = await start(STUBBORN)
    await first_line(process)
    await end_group(process, 0.01)
    assert process.returncode == -signal.SIGKILL
    assert process.stdout is not None
    # The pipe ends when nobody holds its other end any more: the child is gone too.
    assert await asyncio.wait_for(process.stdout.read(), 30) == b""


async def test_one_that_is_gone_is_fine() -> None:
    process = await start("pass")
    await process.wait()
    await end_group(process, 1)
    await end_group(process, 1)
    with pytest.raises(ProcessLookupError):
        os.killpg(process.pid, 0)
