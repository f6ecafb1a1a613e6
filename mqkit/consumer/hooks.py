"""The hooks of a queue: functions that are told what becomes of a message that failed, before it
does, so that a database can say "failed" in one place.

A hook that raises has the delivery given back to its queue after a pause: it may be told twice, and
never not at all.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias

from mqkit.consumer.handler import Handler
from mqkit.consumer.observing.log_fields import log_fields
from mqkit.consumer.settlement import (
    DeadLetter,
    Destination,
    Discard,
    Hold,
    Republish,
    Requeue,
    Settlement,
)
from mqkit.errors import ConfigurationError
from mqkit.message import Delivery

HookFunction: TypeAlias = Callable[[Delivery, BaseException], object]
"""``async def told(delivery, error)``, or a plain function, which runs in a worker thread."""

_LOG = logging.getLogger(__name__)


class Fate(StrEnum):
    """The fate of a message that failed, as hooks are told of it."""

    RETRY = "on_retry"
    """It is delivered again: out of a retry tier, or out of its queue, which has no policy."""
    PARK = "on_park"
    """It goes to the parking lot, or to the queue's own dead-letter exchange."""
    DROP = "on_drop"
    """It is acked, and gone."""


def fate_of(settlement: Settlement) -> Fate | None:
    """The fate that ``settlement`` is; ``None`` for a message that was handled."""
    match settlement:
        case Republish(to=Destination.TIER) | Requeue() | Hold():
            return Fate.RETRY
        case Republish() | DeadLetter():
            return Fate.PARK
        case Discard():
            return Fate.DROP
    return None


@dataclass(frozen=True, slots=True)
class Told:
    """A hook's reason for giving a delivery back."""

    hook: Fate
    error: Exception

    def __str__(self) -> str:
        return f"{self.hook} raised {type(self.error).__name__}"


class Hooks:
    """At most one function for each fate of the messages of ``queue``."""

    def __init__(self, queue: str) -> None:
        self._queue = queue
        self._functions: dict[Fate, Handler] = {}

    def set(self, fate: Fate, function: HookFunction) -> None:
        """Have ``function`` told. Raises :exc:`~mqkit.errors.ConfigurationError` for a second
        function, and for one that can't be called."""
        if fate in self._functions:
            raise ConfigurationError(f"the queue has a function for {fate} already")
        self._functions[fate] = Handler(function)

    async def tell(
        self, delivery: Delivery, raised: BaseException, settlement: Settlement
    ) -> Settlement:
        """Await the hook of what is to become of ``delivery``. Returns what is to become of it
        now: ``settlement``, or a requeue where the hook raised."""
        fate = fate_of(settlement)
        function = None if fate is None else self._functions.get(fate)
        if fate is None or function is None:
            return settlement
        try:
            await function(delivery, raised)
        except Exception as error:  # noqa: BLE001 - a hook is other people's code
            told = Told(fate, error)
            _LOG.warning(
                "message %s is given back: %s",
                delivery.message_id,
                told,
                exc_info=error,
                extra=log_fields(delivery, self._queue),
            )
            return Requeue(str(told))
        return settlement
