"""Methods of the confirm class: publisher confirms (RabbitMQ).

Fields stand in wire order: the layout is compiled from them (:mod:`mqkit.wire.method_codec`).
"""

from __future__ import annotations

from dataclasses import dataclass

from mqkit.wire.domain import Bit
from mqkit.wire.methods.method import Method
from mqkit.wire.spec import ClassId


class ConfirmMethod(Method):
    """A method of the confirm class."""

    __slots__ = ()

    CLASS_ID = ClassId.CONFIRM


@dataclass(slots=True)
class ConfirmSelect(ConfirmMethod):
    """Client: acknowledge what this channel publishes from now on."""

    METHOD_ID = 10
    NAME = "confirm.select"

    nowait: Bit = False


@dataclass(slots=True)
class ConfirmSelectOk(ConfirmMethod):
    """Server: it will."""

    METHOD_ID = 11
    NAME = "confirm.select-ok"
