"""Exchanges, queues and bindings as values: what is declared, compared, planned and cached.

All are frozen; two are the same declaration exactly when they are equal. ``arguments`` keeps the
broker's own names (``x-message-ttl`` ...) and values of plain Python types.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias


@dataclass(frozen=True, slots=True)
class Exchange:
    """An exchange as ``exchange.declare`` takes it. The name must not be empty."""

    name: str
    type: str = "direct"
    durable: bool = True
    auto_delete: bool = False
    internal: bool = False
    arguments: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Queue:
    """A queue as ``queue.declare`` takes it. An empty name asks the broker for one."""

    name: str
    durable: bool = True
    exclusive: bool = False
    auto_delete: bool = False
    arguments: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Binding:
    """A binding from the exchange ``source`` to a queue, or to an exchange when ``to_exchange``."""

    source: str
    destination: str
    key: str = ""
    to_exchange: bool = False
    arguments: Mapping[str, Any] = field(default_factory=dict)


Declaration: TypeAlias = Exchange | Queue | Binding
"""Anything that can be declared."""


@dataclass(frozen=True, slots=True)
class QueueState:
    """A broker's answer to ``queue.declare``: the real name, ready messages, consumers."""

    name: str
    message_count: int
    consumer_count: int
