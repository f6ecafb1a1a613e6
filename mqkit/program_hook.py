"""Hooks of the program: functions that are told what happens to an app (a drift, an alert), beside
its work and never in its way.

    hooks: ProgramHooks[Drift] = ProgramHooks("on_drift")

    @hooks                               # or hooks.add(page_somebody)
    async def page_somebody(drift: Drift) -> None: ...   # a plain function: in a worker thread

    await hooks.tell(drift)              # returns at once, and never raises
    await hooks.close()                  # at the end: what waits is told, as far as time allows

Each function is told one event at a time, in order. A slow one holds up neither the teller nor the
other functions; what it is too slow for is counted, and said.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable
from typing import Any, Generic, TypeAlias, TypeVar

from mqkit.consumer.handler import Handler, HandlerExit
from mqkit.errors import ConfigurationError, MqkitError
from mqkit.timing.clock import SYSTEM_CLOCK, Clock
from mqkit.timing.token_bucket import TokenBucket

EventT = TypeVar("EventT")
FunctionT = TypeVar("FunctionT", bound=Callable[..., object])

HookFunction: TypeAlias = Callable[[EventT], object]
"""``async def told(event)``, or a plain function."""

FUNCTIONS_MAX = 100
"""Functions of one kind of event: more are a loop that registers one again and again."""

TIME_LIMIT_S = 10.0
"""The time for telling one function one event: enough for a webhook with its retries."""

WAITING_MAX = 1000
"""Events that wait for one function: a look that finds everything changed, some hundred KB."""

TRACEBACK_EVERY_S = 60.0
DROPPED_EVERY_S = 60.0

ERROR_TEXT_MAX = 300
"""Characters of an error's text in a line."""

_LOG = logging.getLogger(__name__)


class ProgramHooks(Generic[EventT]):
    """The functions for one kind of event; ``name`` is what they are called in logs: "on_drift".

    Belongs to one event loop from the first :meth:`tell` to :meth:`close`; after that, to another.
    """

    def __init__(
        self,
        name: str,
        *,
        time_limit_s: float = TIME_LIMIT_S,
        waiting_max: int = WAITING_MAX,
        clock: Clock = SYSTEM_CLOCK,
    ) -> None:
        self.name = name
        self._time_limit_s = time_limit_s
        self._waiting_max = waiting_max
        self._clock = clock
        self._hooks: list[_Hook[EventT]] = []

    def add(self, function: HookFunction[EventT]) -> None:
        """Have ``function`` told from now on.

        Raises :exc:`~mqkit.errors.ConfigurationError` for what can't be called, and for more than
        :data:`FUNCTIONS_MAX`.
        """
        if len(self._hooks) >= FUNCTIONS_MAX:
            raise ConfigurationError(f"{self.name} has {FUNCTIONS_MAX} functions already")
        limits = (self._time_limit_s, self._waiting_max)
        self._hooks.append(_Hook(self.name, Handler(function), *limits, self._clock))

    def __call__(self, function: FunctionT) -> FunctionT:
        """:meth:`add` as a decorator; the function stays as it is."""
        self.add(function)
        return function

    @property
    def is_empty(self) -> bool:
        """True if there is nobody to be told."""
        return not self._hooks

    @property
    def dropped(self) -> int:
        """Events that a function was not told, because too many waited for it."""
        return sum(hook.dropped for hook in self._hooks)

    @property
    def failed(self) -> int:
        """Calls that raised, that took too long, or that had not returned at :meth:`close`."""
        return sum(hook.failed for hook in self._hooks)

    async def tell(self, event: EventT) -> None:
        """Have every function told ``event``, each by a task of its own. Returns at once, and never
        raises: a function that does is logged."""
        self.put(event)

    def put(self, event: EventT) -> None:
        """:meth:`tell`, for a teller that can't wait. Call it on the event loop."""
        for hook in self._hooks:
            hook.put(event)

    async def close(self, timeout_s: float = TIME_LIMIT_S) -> None:
        """Return when all that waits is told, or after ``timeout_s`` seconds: the rest is dropped.
        Idempotent; functions stay registered."""
        telling = [task for hook in self._hooks if (task := hook.telling) and not task.done()]
        try:
            async with self._clock.timeout(timeout_s):
                await asyncio.gather(*telling)
        except TimeoutError:
            pass
        finally:
            for hook in self._hooks:
                hook.abandon()
            await asyncio.gather(*telling, return_exceptions=True)


class _Hook(Generic[EventT]):
    """One function, the events that wait for it, and the task that tells it while there are any."""

    def __init__(
        self, event_name: str, handler: Handler, time_limit_s: float, waiting_max: int, clock: Clock
    ) -> None:
        self._name = f"{event_name} function {handler.name}"
        self._handler = handler
        self._time_limit_s = time_limit_s
        self._waiting_max = waiting_max
        self._clock = clock
        self._waiting: deque[EventT] = deque()
        self._tracebacks = TokenBucket(1, TRACEBACK_EVERY_S, clock)
        self._drops_told = TokenBucket(1, DROPPED_EVERY_S, clock)
        self.telling: asyncio.Task[None] | None = None
        self.dropped = 0
        self.failed = 0

    def put(self, event: EventT) -> None:
        if len(self._waiting) >= self._waiting_max:
            self._drop(1)
            return
        self._waiting.append(event)
        if self.telling is None or self.telling.done():
            self.telling = asyncio.create_task(self._tell_all())

    def abandon(self) -> None:
        """Tell no more; what waits is dropped."""
        if self.telling is not None:
            self.telling.cancel()
        if self._waiting:
            self._drop(len(self._waiting))
            self._waiting.clear()

    async def _tell_all(self) -> None:
        while self._waiting:
            await self._tell(self._waiting.popleft())

    async def _tell(self, event: EventT) -> None:
        try:
            async with self._clock.timeout(self._time_limit_s):
                await self._handler(event)
        except TimeoutError as error:
            # The function's own TimeoutError has words of its own, or is as good as ours.
            self._failed(error, str(error) or f"took longer than {self._time_limit_s:g} s")
        except asyncio.CancelledError:
            self.failed += 1
            _LOG.warning("the %s failed: it had not returned at the end of the program", self._name)
            raise
        except (Exception, HandlerExit) as error:  # noqa: BLE001 - a hook is other people's code
            raised: BaseException = error
            if isinstance(error, HandlerExit) and error.__cause__ is not None:
                raised = error.__cause__
            text = " ".join(str(raised).split())[:ERROR_TEXT_MAX]
            self._failed(raised, f"{type(raised).__name__}: {text}")

    def _failed(self, raised: BaseException, what: str) -> None:
        self.failed += 1
        # An error of mqkit's own says all that there is to say.
        shows = not isinstance(raised, MqkitError) and self._tracebacks.take()
        trace: Any = raised if shows else None
        _LOG.warning("the %s failed: %s", self._name, what, exc_info=trace)

    def _drop(self, number: int) -> None:
        self.dropped += number
        if self._drops_told.take():
            _LOG.warning("the %s is too slow: %d events dropped so far", self._name, self.dropped)
