"""Labels and limits of a virtual host."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

MAX_CONNECTIONS = "max-connections"
MAX_QUEUES = "max-queues"
VHOST_LIMITS = (MAX_CONNECTIONS, MAX_QUEUES)

UNDEFINED = "undefined"
"""The default queue type of a virtual host that names none, as RabbitMQ's HTTP API shows it."""


@dataclass(frozen=True, slots=True)
class VHostInfo:
    """``limits`` are by RabbitMQ's names (:data:`VHOST_LIMITS`); a negative one is none."""

    description: str = ""
    tags: tuple[str, ...] = ()
    tracing: bool = False
    default_queue_type: str = UNDEFINED
    limits: Mapping[str, int] = field(default_factory=dict)

    def limit(self, name: str) -> int | None:
        """The limit of that ``name``; ``None`` for no limit."""
        most = self.limits.get(name, -1)
        return None if most < 0 else most
