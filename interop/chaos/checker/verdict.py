"""A law's verdict: what was looked at, what offends, what is counted out and why."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Offence:
    """Something that breaks a law. ``mark`` is in the facts' lines that tell of it."""

    text: str
    mark: str = ""


@dataclass(slots=True)
class Verdict:
    """The verdict of ``law``. What is counted out is counted by its reason."""

    law: str
    judged: int = 0
    offences: list[Offence] = field(default_factory=list)
    counted_out: Counter[str] = field(default_factory=Counter)

    def offend(self, text: str, mark: str = "") -> None:
        self.offences.append(Offence(text, mark))


def mark_of_message(message_id: str) -> str:
    """The mark of a message in the facts."""
    return f'"id":"{message_id}"'


def mark_of_call(number: int) -> str:
    """The mark of a call and of its question in the facts."""
    return f'"number":{number},'
