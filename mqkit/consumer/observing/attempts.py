"""``AroundAttempts``, which puts something around a consumer's attempts."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Sequence
from typing import Any, Protocol, TypeVar

from mqkit.consumer.observing.failures import Failures
from mqkit.consumer.settlement_steps import Arrival

ArrivalT = TypeVar("ArrivalT", bound=Arrival)
ResultT = TypeVar("ResultT")


class AroundAttempts(Protocol):
    """Puts something around the attempts of one consumer. An attempt is a message decoded, handled
    and settled, or a batch; it runs in one task from its begin to its end."""

    def message(
        self, attempt: Callable[[ArrivalT], Coroutine[Any, Any, ResultT]]
    ) -> Callable[[ArrivalT], Coroutine[Any, Any, ResultT]]:
        """``attempt`` at one message, with what is around it."""
        ...

    def batch(
        self, attempt: Callable[[Sequence[Arrival]], Coroutine[Any, Any, ResultT]]
    ) -> Callable[[Sequence[Arrival]], Coroutine[Any, Any, ResultT]]:
        """``attempt`` at a batch, with what is around it."""
        ...

    def failures(self, failures: Failures, *, of_batches: bool) -> Failures:
        """In place of ``failures``, whom it tells all that it is told: about attempts at one
        message, or at batches."""
        ...
