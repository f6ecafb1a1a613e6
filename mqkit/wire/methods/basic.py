"""Methods of the basic class: publishing, consuming, settling.

Fields stand in wire order: the layout is compiled from them (:mod:`mqkit.wire.method_codec`).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from mqkit.wire.domain import Bit, Key, Long, LongLong, Short, ShortStr, Table
from mqkit.wire.methods.method import Method
from mqkit.wire.spec import ClassId


class BasicMethod(Method):
    """A method of the basic class."""

    __slots__ = ()

    CLASS_ID = ClassId.BASIC


@dataclass(slots=True)
class BasicQos(BasicMethod):
    """Client: how much may be unacknowledged.

    RabbitMQ: ``global_`` False is per consumer, True is for the channel as a whole.
    """

    METHOD_ID = 10
    NAME = "basic.qos"

    prefetch_size: Long = 0
    prefetch_count: Short = 0
    global_: Bit = False


@dataclass(slots=True)
class BasicQosOk(BasicMethod):
    """Server: the limit holds."""

    METHOD_ID = 11
    NAME = "basic.qos-ok"


@dataclass(slots=True)
class BasicConsume(BasicMethod):
    """Client: start a consumer. An empty tag asks the server for one."""

    METHOD_ID = 20
    NAME = "basic.consume"

    reserved_1: ClassVar[Short] = 0
    queue: ShortStr = ""
    consumer_tag: ShortStr = ""
    no_local: Bit = False
    no_ack: Bit = False
    exclusive: Bit = False
    nowait: Bit = False
    arguments: Table = field(default_factory=dict)


@dataclass(slots=True)
class BasicConsumeOk(BasicMethod):
    """Server: the consumer's tag."""

    METHOD_ID = 21
    NAME = "basic.consume-ok"

    consumer_tag: ShortStr = ""


@dataclass(slots=True)
class BasicCancel(BasicMethod):
    """Client: end a consumer. Server: it ended, the queue is gone (RabbitMQ)."""

    METHOD_ID = 30
    NAME = "basic.cancel"

    consumer_tag: ShortStr = ""
    nowait: Bit = False


@dataclass(slots=True)
class BasicCancelOk(BasicMethod):
    """Either: it ended."""

    METHOD_ID = 31
    NAME = "basic.cancel-ok"

    consumer_tag: ShortStr = ""


@dataclass(slots=True)
class BasicPublish(BasicMethod):
    """Client: a message. Content follows."""

    METHOD_ID = 40
    NAME = "basic.publish"
    HAS_CONTENT = True

    reserved_1: ClassVar[Short] = 0
    exchange: Key = ""
    routing_key: Key = ""
    mandatory: Bit = False
    immediate: Bit = False


@dataclass(slots=True)
class BasicReturn(BasicMethod):
    """Server: a mandatory message that no queue took. Content follows."""

    METHOD_ID = 50
    NAME = "basic.return"
    HAS_CONTENT = True

    reply_code: Short = 312
    reply_text: ShortStr = ""
    exchange: ShortStr = ""
    routing_key: Key = ""


@dataclass(slots=True)
class BasicDeliver(BasicMethod):
    """Server: a message for a consumer. Content follows."""

    METHOD_ID = 60
    NAME = "basic.deliver"
    HAS_CONTENT = True

    consumer_tag: ShortStr = ""
    delivery_tag: LongLong = 0
    redelivered: Bit = False
    exchange: ShortStr = ""
    routing_key: Key = ""


@dataclass(slots=True)
class BasicGet(BasicMethod):
    """Client: one message, if there is one."""

    METHOD_ID = 70
    NAME = "basic.get"

    reserved_1: ClassVar[Short] = 0
    queue: ShortStr = ""
    no_ack: Bit = False


@dataclass(slots=True)
class BasicGetOk(BasicMethod):
    """Server: here it is, and this many are left. Content follows."""

    METHOD_ID = 71
    NAME = "basic.get-ok"
    HAS_CONTENT = True

    delivery_tag: LongLong = 0
    redelivered: Bit = False
    exchange: ShortStr = ""
    routing_key: Key = ""
    message_count: Long = 0


@dataclass(slots=True)
class BasicGetEmpty(BasicMethod):
    """Server: there is none."""

    METHOD_ID = 72
    NAME = "basic.get-empty"

    reserved_1: ClassVar[ShortStr] = ""


@dataclass(slots=True)
class BasicAck(BasicMethod):
    """Client: handled. Server: published (RabbitMQ's confirms)."""

    METHOD_ID = 80
    NAME = "basic.ack"

    delivery_tag: LongLong = 0
    multiple: Bit = False


@dataclass(slots=True)
class BasicReject(BasicMethod):
    """Client: not handled."""

    METHOD_ID = 90
    NAME = "basic.reject"

    delivery_tag: LongLong = 0
    requeue: Bit = True


@dataclass(slots=True)
class BasicRecoverAsync(BasicMethod):
    """Client: redeliver what is unacknowledged; no answer (deprecated)."""

    METHOD_ID = 100
    NAME = "basic.recover-async"

    requeue: Bit = False


@dataclass(slots=True)
class BasicRecover(BasicMethod):
    """Client: redeliver what is unacknowledged."""

    METHOD_ID = 110
    NAME = "basic.recover"

    requeue: Bit = False


@dataclass(slots=True)
class BasicRecoverOk(BasicMethod):
    """Server: it was requeued."""

    METHOD_ID = 111
    NAME = "basic.recover-ok"


@dataclass(slots=True)
class BasicNack(BasicMethod):
    """Client: not handled, maybe many. Server: not published (RabbitMQ)."""

    METHOD_ID = 120
    NAME = "basic.nack"

    delivery_tag: LongLong = 0
    multiple: Bit = False
    requeue: Bit = True
