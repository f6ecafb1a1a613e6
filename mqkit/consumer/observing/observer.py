"""``ConsumerObserver``, who is told of a consumer's changes."""

from __future__ import annotations

from typing import Protocol

from mqkit.consumer.breaker.states import State as CircuitState
from mqkit.consumer.consumer_states import State


class ConsumerObserver(Protocol):
    """Told of each change as it is made, on the event loop. Must not block or raise."""

    def state_changed(self, before: State, after: State, why: str) -> None:
        """The subscription has another state; ``why`` may be empty."""
        ...

    def circuit_changed(self, before: CircuitState, after: CircuitState, why: str) -> None:
        """The circuit of ``Unavailable`` has another state."""
        ...
