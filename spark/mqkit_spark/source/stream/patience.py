"""The patience of a source with a broker that is away."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeVar

from mqkit.errors import (
    ChannelError,
    Closed,
    ConfigurationError,
    ConnectionRefused,
    DeadlineExceeded,
    MqkitError,
    TransportError,
)
from mqkit.wire import ReplyCode

FIRST_PAUSE_S = 0.1
PAUSE_MAX_S = 5.0
PAUSES_TOTAL_S = 120.0
"""A broker that is restarted is back well within this time; Spark runs the task again after it."""

_T = TypeVar("_T")


def patiently(
    queue: str, act: Callable[[], _T], lost: Callable[[], None], pause: Callable[[float], None]
) -> _T:
    """Do it, and again after a ``pause`` where another connection may help; ``lost`` is called
    before. The last failure is raised.

    Raises :exc:`~mqkit.errors.ConfigurationError` where the broker has no such queue, or it is
    another connection's alone.
    """
    failures = pauses()
    while True:
        try:
            return act()
        except ChannelError as error:
            raise ConfigurationError(f"queue {queue!r}: {error}") from None
        except MqkitError as error:
            seconds = next(failures, None)
            if seconds is None or not may_pass(error):
                raise
            lost()
            pause(seconds)


def may_pass(error: MqkitError) -> bool:
    """True for what another connection may not meet: the network, a broker that was ended."""
    if isinstance(error, ConnectionRefused):
        return error.reply_code in (ReplyCode.CONNECTION_FORCED, ReplyCode.INTERNAL_ERROR)
    return isinstance(error, TransportError | DeadlineExceeded | Closed)


def pauses() -> Iterator[float]:
    """The seconds to wait after each failure in a row; at the end, the failure is for good."""
    waited, pause = 0.0, FIRST_PAUSE_S
    while waited < PAUSES_TOTAL_S:
        yield pause
        waited += pause
        pause = min(2 * pause, PAUSE_MAX_S)
