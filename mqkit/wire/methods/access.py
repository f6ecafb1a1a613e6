"""Methods of the access class: of AMQP 0-8 and 0-9, gone from 0-9-1, still sent by old clients.

Fields stand in wire order: the layout is compiled from them (:mod:`mqkit.wire.method_codec`).
Source: the 0-9 specification, section "access"; RabbitMQ answers as if it had every ticket.
"""

from __future__ import annotations

from dataclasses import dataclass

from mqkit.wire.domain import Bit, Short, ShortStr
from mqkit.wire.methods.method import Method
from mqkit.wire.spec import ClassId


class AccessMethod(Method):
    """A method of the access class."""

    __slots__ = ()

    CLASS_ID = ClassId.ACCESS


@dataclass(slots=True)
class AccessRequest(AccessMethod):
    """Client: may I? What it asks for plays no part: permissions belong to users now."""

    METHOD_ID = 10
    NAME = "access.request"

    realm: ShortStr = "/data"
    exclusive: Bit = False
    passive: Bit = True
    active: Bit = True
    write: Bit = True
    read: Bit = True


@dataclass(slots=True)
class AccessRequestOk(AccessMethod):
    """Server: here is a ticket, for a field that 0-9-1 calls reserved."""

    METHOD_ID = 11
    NAME = "access.request-ok"

    ticket: Short = 1
