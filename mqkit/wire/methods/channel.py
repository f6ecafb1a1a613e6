"""Methods of the channel class.

Fields stand in wire order: the layout is compiled from them (:mod:`mqkit.wire.method_codec`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from mqkit.wire.domain import Bit, LongStr, Short, ShortStr
from mqkit.wire.methods.method import Method
from mqkit.wire.spec import ClassId


class ChannelMethod(Method):
    """A method of the channel class."""

    __slots__ = ()

    CLASS_ID = ClassId.CHANNEL


@dataclass(slots=True)
class ChannelOpen(ChannelMethod):
    """Client: open the channel that the frame's number names."""

    METHOD_ID = 10
    NAME = "channel.open"

    reserved_1: ClassVar[ShortStr] = ""


@dataclass(slots=True)
class ChannelOpenOk(ChannelMethod):
    """Server: the channel is open."""

    METHOD_ID = 11
    NAME = "channel.open-ok"

    reserved_1: ClassVar[LongStr] = b""


@dataclass(slots=True)
class ChannelFlow(ChannelMethod):
    """Either: send content (``active``), or stop sending it."""

    METHOD_ID = 20
    NAME = "channel.flow"

    active: Bit = True


@dataclass(slots=True)
class ChannelFlowOk(ChannelMethod):
    """Either: channel.flow was heeded."""

    METHOD_ID = 21
    NAME = "channel.flow-ok"

    active: Bit = True


@dataclass(slots=True)
class ChannelClose(ChannelMethod):
    """Either: the channel ends. The ids name the method at fault, 0 if there is none."""

    METHOD_ID = 40
    NAME = "channel.close"

    reply_code: Short = 200
    reply_text: ShortStr = ""
    class_id: Short = 0
    method_id: Short = 0


@dataclass(slots=True)
class ChannelCloseOk(ChannelMethod):
    """Either: agreed; the channel's number is free."""

    METHOD_ID = 41
    NAME = "channel.close-ok"
