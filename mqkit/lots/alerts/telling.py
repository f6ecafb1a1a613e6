"""Everybody who is told of an alert: a log, the functions of the program, a webhook, and counters.

A function or a webhook that is slow or fails holds up nobody (:mod:`mqkit.program_hook`).
"""

from __future__ import annotations

import logging
from collections import Counter

from mqkit.lots.alerts.alert import Alert
from mqkit.lots.alerts.webhook import FIRST_PAUSE_S, TIMEOUT_S, TRIES, Webhook
from mqkit.program_hook import HookFunction, ProgramHooks
from mqkit.timing.clock import Clock

POST_LIMIT_S = TRIES * TIMEOUT_S + 2**TRIES * FIRST_PAUSE_S
"""All tries of one alert, and their pauses."""
CLOSE_S = 5.0
"""At the end of a program, for alerts that are on their way."""

_LOG = logging.getLogger(__name__)


class AlertTelling:
    """Tells alerts. ``crossed`` and ``over`` count them by kind, and only ever grow."""

    def __init__(self, webhook_url: str | None, clock: Clock) -> None:
        self._functions: ProgramHooks[Alert] = ProgramHooks("on_alert", clock=clock)
        self._webhook: ProgramHooks[Alert] = ProgramHooks(
            "alert webhook", time_limit_s=POST_LIMIT_S, clock=clock
        )
        if webhook_url is not None:
            self._webhook.add(Webhook(webhook_url, clock).post)
        self.crossed: Counter[str] = Counter()
        self.over: Counter[str] = Counter()

    def add(self, function: HookFunction[Alert]) -> None:
        """See :meth:`~mqkit.program_hook.ProgramHooks.add`."""
        self._functions.add(function)

    @property
    def failed(self) -> int:
        """Alerts that a function or the webhook was not told."""
        hooks = (self._functions, self._webhook)
        return sum(hook.failed + hook.dropped for hook in hooks)

    async def tell(self, alert: Alert) -> None:
        """Returns at once, and never raises."""
        (self.over if alert.is_over else self.crossed)[str(alert.kind)] += 1
        _LOG.log(logging.INFO if alert.is_over else logging.WARNING, "alert: %s", alert)
        await self._functions.tell(alert)
        await self._webhook.tell(alert)

    async def close(self, timeout_s: float = CLOSE_S) -> None:
        """Return when all is told, or the time is over."""
        await self._functions.close(timeout_s)
        await self._webhook.close(timeout_s)
