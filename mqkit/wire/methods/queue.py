"""Methods of the queue class.

Fields stand in wire order: the layout is compiled from them (:mod:`mqkit.wire.method_codec`).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from mqkit.wire.domain import Bit, DeclaredTable, Long, Short, ShortStr, Table
from mqkit.wire.methods.method import Method
from mqkit.wire.spec import ClassId


class QueueMethod(Method):
    """A method of the queue class."""

    __slots__ = ()

    CLASS_ID = ClassId.QUEUE


@dataclass(slots=True)
class QueueDeclare(QueueMethod):
    """Client: make a queue, or check one. An empty name asks the server for one."""

    METHOD_ID = 10
    NAME = "queue.declare"

    reserved_1: ClassVar[Short] = 0
    queue: ShortStr = ""
    passive: Bit = False
    durable: Bit = False
    exclusive: Bit = False
    auto_delete: Bit = False
    nowait: Bit = False
    arguments: DeclaredTable = field(default_factory=dict)


@dataclass(slots=True)
class QueueDeclareOk(QueueMethod):
    """Server: it is there, with this many ready messages and consumers."""

    METHOD_ID = 11
    NAME = "queue.declare-ok"

    queue: ShortStr = ""
    message_count: Long = 0
    consumer_count: Long = 0


@dataclass(slots=True)
class QueueBind(QueueMethod):
    """Client: bind a queue to an exchange."""

    METHOD_ID = 20
    NAME = "queue.bind"

    reserved_1: ClassVar[Short] = 0
    queue: ShortStr = ""
    exchange: ShortStr = ""
    routing_key: ShortStr = ""
    nowait: Bit = False
    arguments: Table = field(default_factory=dict)


@dataclass(slots=True)
class QueueBindOk(QueueMethod):
    """Server: they are bound."""

    METHOD_ID = 21
    NAME = "queue.bind-ok"


@dataclass(slots=True)
class QueuePurge(QueueMethod):
    """Client: drop every ready message."""

    METHOD_ID = 30
    NAME = "queue.purge"

    reserved_1: ClassVar[Short] = 0
    queue: ShortStr = ""
    nowait: Bit = False


@dataclass(slots=True)
class QueuePurgeOk(QueueMethod):
    """Server: this many were dropped."""

    METHOD_ID = 31
    NAME = "queue.purge-ok"

    message_count: Long = 0


@dataclass(slots=True)
class QueueDelete(QueueMethod):
    """Client: delete a queue."""

    METHOD_ID = 40
    NAME = "queue.delete"

    reserved_1: ClassVar[Short] = 0
    queue: ShortStr = ""
    if_unused: Bit = False
    if_empty: Bit = False
    nowait: Bit = False


@dataclass(slots=True)
class QueueDeleteOk(QueueMethod):
    """Server: it is gone, and this many messages with it."""

    METHOD_ID = 41
    NAME = "queue.delete-ok"

    message_count: Long = 0


@dataclass(slots=True)
class QueueUnbind(QueueMethod):
    """Client: end a binding. (It has no nowait.)"""

    METHOD_ID = 50
    NAME = "queue.unbind"

    reserved_1: ClassVar[Short] = 0
    queue: ShortStr = ""
    exchange: ShortStr = ""
    routing_key: ShortStr = ""
    arguments: Table = field(default_factory=dict)


@dataclass(slots=True)
class QueueUnbindOk(QueueMethod):
    """Server: the binding is gone."""

    METHOD_ID = 51
    NAME = "queue.unbind-ok"
