"""The protocol of middleware of a synchronous app.

@app.around_publish
def traced(message: Message, publish: PublishNext) -> Outcome:
    return publish(message.with_headers({"trace": current_trace()}))
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, TypeAlias

from mqkit.errors import ConfigurationError
from mqkit.message import Message
from mqkit.outcome import Confirmed, Outcome, Rejected, Unknown

PublishNext: TypeAlias = Callable[[Message], Outcome]
"""Publishes a message: the next middleware, or mqkit."""


class PublishMiddleware(Protocol):
    """Around each publish, in the thread that publishes. It may change the message, look at the
    outcome, publish again, or answer with an outcome of its own. What it raises, the caller of the
    publish gets."""

    def __call__(self, message: Message, publish: PublishNext, /) -> Outcome: ...


def surrounding(publish: PublishNext, middleware: PublishMiddleware) -> PublishNext:
    """``middleware`` around ``publish``. Raises :exc:`~mqkit.errors.ConfigurationError` where it
    gives back no outcome."""

    def step(message: Message) -> Outcome:
        outcome = middleware(message, publish)
        if not isinstance(outcome, (Confirmed, Rejected, Unknown)):
            name = getattr(middleware, "__qualname__", type(middleware).__qualname__)
            raise ConfigurationError(
                f"the middleware {name} returned {outcome!r:.80} and not an outcome (the message"
                " may have been published): return publish(message)"
            )
        return outcome

    return step
