"""Features that sequences may use beside the plain protocol: a switch for each."""

from __future__ import annotations

from enum import StrEnum


class Feature(StrEnum):
    """A feature that RabbitMQ 3.10.8 has, and that the sequences know how to use."""

    TX = "tx"
    QUEUE_TYPE = "x-queue-type"
    PUBLISH_CHECKS = "the order in which a publish is checked"
    POLICIES = "policies and operator policies"
    PERMISSIONS = "a user whose permissions change"
    REPLY_TO = "amq.rabbitmq.reply-to"
    EXPIRES = "x-expires"


ALL = frozenset(Feature)

PRESENT: frozenset[Feature] = ALL
"""The features that the reference broker has, all of them by now: a new one goes in here when it is
there."""
