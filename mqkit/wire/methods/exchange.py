"""Methods of the exchange class, with RabbitMQ's exchange-to-exchange bindings.

Fields stand in wire order: the layout is compiled from them (:mod:`mqkit.wire.method_codec`).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from mqkit.wire.domain import Bit, DeclaredTable, Short, ShortStr, Table
from mqkit.wire.methods.method import Method
from mqkit.wire.spec import ClassId


class ExchangeMethod(Method):
    """A method of the exchange class."""

    __slots__ = ()

    CLASS_ID = ClassId.EXCHANGE


@dataclass(slots=True)
class ExchangeDeclare(ExchangeMethod):
    """Client: make an exchange, or check one."""

    METHOD_ID = 10
    NAME = "exchange.declare"

    reserved_1: ClassVar[Short] = 0
    exchange: ShortStr = ""
    type: ShortStr = "direct"
    passive: Bit = False
    durable: Bit = False
    auto_delete: Bit = False
    internal: Bit = False
    nowait: Bit = False
    arguments: DeclaredTable = field(default_factory=dict)


@dataclass(slots=True)
class ExchangeDeclareOk(ExchangeMethod):
    """Server: it is there."""

    METHOD_ID = 11
    NAME = "exchange.declare-ok"


@dataclass(slots=True)
class ExchangeDelete(ExchangeMethod):
    """Client: delete an exchange and its bindings."""

    METHOD_ID = 20
    NAME = "exchange.delete"

    reserved_1: ClassVar[Short] = 0
    exchange: ShortStr = ""
    if_unused: Bit = False
    nowait: Bit = False


@dataclass(slots=True)
class ExchangeDeleteOk(ExchangeMethod):
    """Server: it is gone."""

    METHOD_ID = 21
    NAME = "exchange.delete-ok"


@dataclass(slots=True)
class ExchangeBind(ExchangeMethod):
    """Client: messages of ``source`` flow on to ``destination`` (RabbitMQ)."""

    METHOD_ID = 30
    NAME = "exchange.bind"

    reserved_1: ClassVar[Short] = 0
    destination: ShortStr = ""
    source: ShortStr = ""
    routing_key: ShortStr = ""
    nowait: Bit = False
    arguments: Table = field(default_factory=dict)


@dataclass(slots=True)
class ExchangeBindOk(ExchangeMethod):
    """Server: they are bound (RabbitMQ)."""

    METHOD_ID = 31
    NAME = "exchange.bind-ok"


@dataclass(slots=True)
class ExchangeUnbind(ExchangeMethod):
    """Client: the binding ends (RabbitMQ)."""

    METHOD_ID = 40
    NAME = "exchange.unbind"

    reserved_1: ClassVar[Short] = 0
    destination: ShortStr = ""
    source: ShortStr = ""
    routing_key: ShortStr = ""
    nowait: Bit = False
    arguments: Table = field(default_factory=dict)


@dataclass(slots=True)
class ExchangeUnbindOk(ExchangeMethod):
    """Server: the binding is gone (RabbitMQ; 51 is right, not 41)."""

    METHOD_ID = 51
    NAME = "exchange.unbind-ok"
