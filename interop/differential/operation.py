"""The operations of a sequence. An operation names things; it holds no tag that a broker has
chosen.

A place is a channel: places 1 and 2 are channels of one connection, place 3 is on another one, and
place 4 on one of a user whose permissions a sequence may change.
"""

from __future__ import annotations

from dataclasses import MISSING, dataclass, fields
from enum import StrEnum
from typing import Any

from interop.differential.administration import Administrative
from mqkit.transport.seam import Credentials
from mqkit.wire import Properties, methods

PLACES = {1: (0, 1), 2: (0, 2), 3: (1, 1), 4: (2, 1)}
"""Place to connection and channel number."""

USERS_CONNECTION = PLACES[4][0]
USER = Credentials("narrow", "narrow")
"""The user at the last place, whose permissions a sequence may change; everybody else is the
broker's own user."""

TOKEN = "<token>"
"""A routing key that stands for the reply address in the newest request. The broker chose that."""

QUEUES = ("q0", "q1", "q2")
EXCHANGES = ("x0", "x1")
"""All names of queues and exchanges that sequences make. They are deleted after each one."""


class Outcome(StrEnum):
    """The ways to settle a delivery."""

    ACK = "ack"
    NACK = "nack"
    REJECT = "reject"


@dataclass(frozen=True, slots=True)
class Call:
    """A method as it is."""

    place: int
    method: methods.Method


@dataclass(frozen=True, slots=True)
class Publish:
    """``count`` messages. Their bodies say which they are, filled up to ``size`` octets."""

    place: int
    method: methods.BasicPublish
    properties: Properties
    size: int = 0
    count: int = 1


@dataclass(frozen=True, slots=True)
class Settle:
    """The ``nth`` of the deliveries that the place holds, counted round; nothing if it has none."""

    place: int
    outcome: Outcome
    nth: int = 0
    multiple: bool = False
    requeue: bool = False


@dataclass(frozen=True, slots=True)
class CloseChannel:
    """The client closes a channel; the next operation there opens it again."""

    place: int


@dataclass(frozen=True, slots=True)
class CloseConnection:
    """The client closes the place's connection."""

    place: int


@dataclass(frozen=True, slots=True)
class Rest:
    """A pause in which something is to expire."""

    seconds: float


Operation = Call | Publish | Settle | CloseChannel | CloseConnection | Rest | Administrative


@dataclass(frozen=True, slots=True)
class Sequence:
    """Operations, and how long to wait after each that may start a time to live."""

    operations: tuple[Operation, ...]
    pause_s: float = 0.0

    def __str__(self) -> str:
        lines = [f"{number:3} {shown(operation)}" for number, operation in enumerate(self)]
        return "\n".join(lines)

    def __iter__(self) -> Any:
        return iter(self.operations)


def shown(value: object) -> str:
    """``value`` as Python source, without default values."""
    if not hasattr(value, "__dataclass_fields__"):
        return str(value) if isinstance(value, Outcome) else repr(value)
    told = []
    for part in fields(value):  # type: ignore[arg-type]
        found = getattr(value, part.name)
        default = part.default_factory() if part.default_factory is not MISSING else part.default
        if found != default:
            told.append(f"{part.name}={shown(found)}")
    return f"{type(value).__name__}({', '.join(told)})"
