"""A policy as a value: of a file, or of a live broker."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any


class ApplyTo(StrEnum):
    """``apply-to``. The three queue types are RabbitMQ's from 3.12 on."""

    ALL = "all"
    QUEUES = "queues"
    CLASSIC_QUEUES = "classic_queues"
    QUORUM_QUEUES = "quorum_queues"
    STREAMS = "streams"
    EXCHANGES = "exchanges"


@dataclass(frozen=True, slots=True)
class PolicyModel:
    """A policy. ``pattern`` is a regular expression that is searched for in names; ``definition``
    has the broker's keys (``max-length``, not ``max_length``)."""

    name: str
    pattern: str
    apply_to: ApplyTo = ApplyTo.ALL
    priority: float = 0
    definition: Mapping[str, Any] = field(default_factory=dict)
    line: int = field(default=0, compare=False)
    key_lines: Mapping[str, int] = field(default_factory=dict, compare=False, repr=False)

    def line_of(self, *keys: str) -> int:
        """The line of the first of ``keys`` that the file has, else the policy's own."""
        return next((self.key_lines[key] for key in keys if key in self.key_lines), self.line)
