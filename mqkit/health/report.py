"""``Health``: whether an app is live, whether it is ready, and why not."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any


class Fault(StrEnum):
    """The reasons for which an app is not ready."""

    NOT_RUNNING = "not running"
    """The app is not entered, or has ended."""
    STOPPING = "stopping"
    """It finishes what was begun, and takes nothing new."""
    LOOP_BLOCKED = "event loop blocked"
    """Something holds up the event loop. The only reason for which an app is not live."""
    NOT_CONNECTED = "not connected"
    SETTING_UP = "setting up"
    """Connected; topology and consumers are on their way."""
    NOT_DECLARED = "not declared"
    """The broker refuses an exchange, a queue or a binding."""
    NOT_CONSUMING = "not consuming"
    """A consumer that nobody has paused has no subscription."""
    BLOCKED = "blocked"
    """The broker takes no publishes, and has not for too long."""
    NO_PROGRESS = "no progress"
    """A consumer has messages, and settles none, for too long."""


@dataclass(frozen=True, slots=True)
class Reason:
    """One reason. ``name`` is the object or the queue that it is about, and may be empty; ``text``
    is for people. No URL, no password and nothing of a message is in any of them."""

    fault: Fault
    text: str
    name: str = ""

    def to_dict(self) -> dict[str, Any]:
        """The reason as plain values, for JSON."""
        return {"fault": str(self.fault), "name": self.name, "text": self.text}


@dataclass(frozen=True, slots=True)
class Health:
    """``is_live``: the event loop turns; an app that is not live wants to be started again.
    ``is_ready``: all is well; one that is not ready may well be so by itself soon. ``more`` is the
    number of reasons that were left out."""

    is_live: bool
    reasons: tuple[Reason, ...] = ()
    more: int = 0

    @property
    def is_ready(self) -> bool:
        """True if there is no reason why not."""
        return not self.reasons

    def to_dict(self) -> dict[str, Any]:
        """The health as plain values, for JSON."""
        return {
            "live": self.is_live,
            "ready": self.is_ready,
            "reasons": [reason.to_dict() for reason in self.reasons],
            "more": self.more,
        }
