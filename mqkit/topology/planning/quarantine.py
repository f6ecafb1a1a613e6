"""An object that the broker refused, put aside with the reason, so that the rest can go on.

One refused queue must not take down every channel of an application (a 406 closes its channel; a
library that recovers by re-declaring everything then loops). The differences are read from the
broker's own words, since no management API is at hand where an application declares.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from mqkit.declaration import Declaration
from mqkit.errors import BrokerError
from mqkit.topology.planning.diff import Difference
from mqkit.topology.planning.plan import describe, name_of
from mqkit.topology.retrying.per_message_ttl import hint

DECLARATION_REFUSED = frozenset((502, 503, 530, 540))
"""Connection errors that a declaration causes (an unknown exchange type is 503 on RabbitMQ 3.10):
syntax-error, command-invalid, not-allowed, not-implemented. The others (320, 541 ...) are not its
fault."""

_INEQUIVALENT = re.compile(
    r"inequivalent arg '(?P<field>.+?)' for (?:queue|exchange) '.*' in vhost '.*':"
    r" received (?:the value )?(?P<wanted>.+) but current is (?:the value )?(?P<actual>.+)$",
    re.DOTALL,
)
_VALUE = re.compile(r"'(?P<value>.*?)'(?: of type '\w+')?", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Quarantined:
    """A refused object, the broker's error, and what is different, as far as the broker said."""

    declaration: Declaration
    error: BrokerError
    differences: tuple[Difference, ...] = ()

    @classmethod
    def of(cls, declaration: Declaration, error: BrokerError) -> Quarantined:
        """``declaration`` was answered with ``error``."""
        return cls(declaration, error, differences_in(error.reply_text))

    @property
    def hint(self) -> str:
        """The way out, where one is known: of a queue that can't be a retry tier. Else empty."""
        return hint(self.declaration, {it.field: it.actual for it in self.differences})

    def to_dict(self) -> dict[str, Any]:
        """The refusal as plain values, for ``--json`` and logs."""
        return {
            **describe(self.declaration),
            "reply_code": self.error.reply_code,
            "reply_text": self.error.reply_text,
            "differences": [difference.to_dict() for difference in self.differences],
        }


def name_in_words(refused: Quarantined) -> str:
    """The object's name with its kind: "queue orders"."""
    return f"{type(refused.declaration).__name__.lower()} {name_of(refused.declaration)}"


def differences_in(reply_text: str) -> tuple[Difference, ...]:
    """The difference that a 406 names, as text (RabbitMQ names the first one only)."""
    match = _INEQUIVALENT.search(reply_text)
    if match is None:
        return ()
    return (Difference(match["field"], _value(match["wanted"]), _value(match["actual"])),)


def _value(words: str) -> str | None:
    if words in ("none", "undefined"):
        return None
    match = _VALUE.fullmatch(words)
    return match["value"] if match else words
