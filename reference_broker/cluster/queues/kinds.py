"""The kinds of messages of this room, by lane. Each message has one item of its kind or more, one
after another, to its end."""

from __future__ import annotations

from enum import IntEnum, unique

from reference_broker.cluster.link.lane import REPLY


@unique
class PublishKind(IntEnum):
    """Kinds in the lane PUBLISH."""

    PUBLISH = 0
    RUN = 1
    CONFIRMED = REPLY | 0
    REFUSED = REPLY | 1


@unique
class CommandKind(IntEnum):
    """Kinds in the lane DELIVER that go to the home."""

    ATTACH = 0
    DETACH = 1
    GRANT = 2
    SETTLE = 3
    GET = 4
    COUNT = 5
    PURGE = 6


@unique
class AnswerKind(IntEnum):
    """Kinds in the lane DELIVER that go to the origin."""

    ATTACHED = 16
    NOT_ATTACHED = 17
    DETACHED = 18
    GONE = 19
    DELIVERY = 20
    GOT = 21
    GOT_NOTHING = 22
    COUNTED = 23
    PURGED = 24
    UNANSWERED = 25
    DELIVERY_RUN = 26
