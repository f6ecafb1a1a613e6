"""The protocol of middleware of a synchronous app::

    @app.around_publish
    def traced(message: Message, publish: PublishNext) -> Outcome:
        return publish(message.with_headers({"trace": current_trace()}))

The first one that is registered is the outermost.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, TypeAlias

from mqkit.message import Message
from mqkit.outcome import Outcome
from mqkit.publishing.checked_outcome import checked_outcome

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
        return checked_outcome(middleware, outcome, "return publish(message)")

    return step
