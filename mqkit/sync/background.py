"""The consumers of a synchronous app in an event loop of another thread."""

from __future__ import annotations

import anyio
from anyio.abc import TaskStatus

from mqkit.app import App


async def run_until(app: App, ready_s: float, *, task_status: TaskStatus[anyio.Event]) -> None:
    """Run ``app`` until the event is set with which the task says that it has started: when
    topology and consumers are set up.

    Raises :exc:`~mqkit.errors.DeadlineExceeded` where they are not within ``ready_s`` seconds, and
    what ended the app.
    """
    stop = anyio.Event()
    async with app:
        await app.wait_ready(ready_s)
        task_status.started(stop)
        await stop.wait()
