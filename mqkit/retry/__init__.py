"""Retries: a policy, the queues it compiles to, the headers it writes, and the parking lot's tools.

A handler raises :class:`RetryLater`, :class:`Park` or :class:`Drop`, or anything else;
:meth:`RetryPolicy.decide` says what becomes of the message.
"""

from typing import TYPE_CHECKING

from mqkit.lazy_names import lazy_names
from mqkit.retry.compile import compile_parking_lot, compile_policy, compile_tier
from mqkit.retry.duration import format_duration, parse_duration
from mqkit.retry.error_rule import ErrorRule, rule_for, unknown_names
from mqkit.retry.growth import Growth
from mqkit.retry.headers import (
    Failure,
    failures_of,
    first_failure_of,
    to_parking_lot,
    to_replay,
    to_tier,
)
from mqkit.retry.names import (
    RetryNames,
    is_parking_lot,
    owner_of_parking_lot,
    owner_of_tier,
    parking_lot_name,
    tier_name,
)
from mqkit.retry.policy import (
    Action,
    DiscardAction,
    ParkAction,
    RetryAction,
    RetryPolicy,
)
from mqkit.retry.signals import Drop, Park, RetryLater, Signal, Unavailable
from mqkit.retry.then import Then

if TYPE_CHECKING:
    from mqkit.retry.parked import ParkedMessage, Selection

__all__ = [
    "Action",
    "DiscardAction",
    "Drop",
    "ErrorRule",
    "Failure",
    "Growth",
    "Park",
    "ParkAction",
    "ParkedMessage",
    "RetryAction",
    "RetryLater",
    "RetryNames",
    "RetryPolicy",
    "Selection",
    "Signal",
    "Then",
    "Unavailable",
    "compile_parking_lot",
    "compile_policy",
    "compile_tier",
    "failures_of",
    "first_failure_of",
    "format_duration",
    "is_parking_lot",
    "owner_of_parking_lot",
    "owner_of_tier",
    "parking_lot_name",
    "parse_duration",
    "rule_for",
    "tier_name",
    "to_parking_lot",
    "to_replay",
    "to_tier",
    "unknown_names",
]

__getattr__ = lazy_names(
    __name__,
    {
        "mqkit.retry.parked": ("ParkedMessage", "Selection"),
    },
)
