"""The numbers of AMQP 0-9-1: frame types, sizes, class ids and reply codes. No behaviour.

Sources: amqp0-9-1.xml and its extended version at RabbitMQ (confirm, basic.nack, exchange.bind,
connection.blocked, connection.update-secret); section 4.2 of the specification for frames.
"""

from __future__ import annotations

from enum import IntEnum

PROTOCOL_HEADER = b"AMQP\x00\x00\x09\x01"
"""The first octets of a client; a server's answer to a client that began with others."""

FRAME_END = 0xCE
"""The octet after every frame's payload."""

FRAME_HEADER_SIZE = 7
"""Type, channel and size: what comes before a frame's payload."""

FRAME_OVERHEAD = FRAME_HEADER_SIZE + 1
"""The octets that a frame adds to its payload; so a body is split at ``frame_max -
FRAME_OVERHEAD``."""

FRAME_MIN_SIZE = 4096
"""Every peer must take frames of this size, and none may be larger before tune-ok (4.2.3)."""

MAX_SHORTSTR_SIZE = 255
"""A short string's length is one octet."""


class FrameType(IntEnum):
    """The frame types (spec section 4.2.3)."""

    METHOD = 1
    HEADER = 2
    BODY = 3
    HEARTBEAT = 8


class ClassId(IntEnum):
    """The classes of methods. Only ``basic`` has content."""

    CONNECTION = 10
    CHANNEL = 20
    ACCESS = 30
    EXCHANGE = 40
    QUEUE = 50
    BASIC = 60
    CONFIRM = 85
    TX = 90


class ReplyCode(IntEnum):
    """Reply codes (spec section 1.2)."""

    REPLY_SUCCESS = 200
    CONTENT_TOO_LARGE = 311
    NO_ROUTE = 312
    NO_CONSUMERS = 313
    CONNECTION_FORCED = 320
    INVALID_PATH = 402
    ACCESS_REFUSED = 403
    NOT_FOUND = 404
    RESOURCE_LOCKED = 405
    PRECONDITION_FAILED = 406
    FRAME_ERROR = 501
    SYNTAX_ERROR = 502
    COMMAND_INVALID = 503
    CHANNEL_ERROR = 504
    UNEXPECTED_FRAME = 505
    RESOURCE_ERROR = 506
    NOT_ALLOWED = 530
    NOT_IMPLEMENTED = 540
    INTERNAL_ERROR = 541
