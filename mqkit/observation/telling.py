"""Telling the changes of one consumer as events; where nobody is told, none is made."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mqkit.consumer.breaker.states import State as CircuitState
from mqkit.consumer.consumer_states import State
from mqkit.consumer.queue_handle import AnyConsumer
from mqkit.program_hook import ProgramHooks

if TYPE_CHECKING:
    from mqkit.observation.event import Event


class ConsumerTelling:
    """A :class:`~mqkit.consumer.observing.observer.ConsumerObserver`."""

    def __init__(self, consumer: AnyConsumer, hooks: ProgramHooks[Event]) -> None:
        self._named = (consumer.queue, consumer.handler_name)
        self._hooks = hooks

    def state_changed(self, before: State, after: State, why: str) -> None:
        if not self._hooks.is_empty:
            from mqkit.observation.event import ConsumerChanged

            self._hooks.put(ConsumerChanged(*self._named, before, after, why))

    def circuit_changed(self, before: CircuitState, after: CircuitState, why: str) -> None:
        if not self._hooks.is_empty:
            from mqkit.observation.event import CircuitChanged

            self._hooks.put(CircuitChanged(*self._named, before, after, why))
