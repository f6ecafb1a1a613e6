"""The names of the queues that a retry policy adds, and how to know them again.

``delays``            the queue that the application consumes
``delays.retry.5s``   one per tier: waits five seconds, then goes back to ``delays``
``delays.parked``     the parking lot of ``delays``

The duration is in the tier's name, so that a changed policy makes new queues and never collides
with the immutable TTL of an old one: what waits in an old tier still goes back to its queue.

A policy may give other names (:class:`RetryNames`): those of queues that are there already. Where a
policy is known, its names count; the form of a name is for where none is.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from mqkit.errors import ConfigurationError
from mqkit.retry.duration import format_duration, parse_duration

PARKED = ".parked"
RETRY = ".retry."

AFTER = "{after}"
"""The place of the waiting time in a pattern of tiers' names."""
MAX_NAME_BYTES = 255
"""A queue's name is an AMQP short string (AMQP 0-9-1, 4.2.5.3)."""


@dataclass(frozen=True, slots=True)
class RetryNames:
    """The names that a policy gives: ``park`` to the parking lot, ``tiers`` to the tiers, as a
    pattern like ``email-queue.wait.{after}``. What is not given has the name of old.

    Raises :exc:`~mqkit.errors.ConfigurationError` for what can be no name.
    """

    park: str | None = None
    tiers: str | None = None

    def __post_init__(self) -> None:
        if self.park is not None:
            _checked("park", self.park)
        if self.tiers is None:
            return
        if not self.tiers:
            raise ConfigurationError("'tiers' is empty (expected a pattern like 'q.wait.{after}')")
        rest = self.tiers.replace(AFTER, "", 1)
        if "{" in rest or "}" in rest:
            found = re.search(r"\{[^{}]*\}", rest)
            raise ConfigurationError(
                f"the pattern {self.tiers!r} has {found[0] if found else 'a lone brace'}: its only"
                f" placeholder is {AFTER}, the waiting time, once"
            )

    def lot(self, queue: str) -> str:
        """The parking lot of ``queue``."""
        return parking_lot_name(queue) if self.park is None else self.park

    def tier(self, queue: str, after_ms: int) -> str:
        """The queue in which a failed message of ``queue`` waits ``after_ms`` milliseconds."""
        if self.tiers is None:
            return tier_name(queue, after_ms)
        return self.tiers.replace(AFTER, format_duration(after_ms))

    def after_of(self, queue: str, name: str) -> int | None:
        """The milliseconds in the name of a tier of ``queue``; ``None`` if ``name`` is not the name
        of one, or its pattern does not say the time."""
        if self.tiers is None:
            owned = owner_of_tier(name)
            return owned[1] if owned is not None and owned[0] == queue else None
        before, found, behind = self.tiers.partition(AFTER)
        if not found:
            return None
        try:
            after_ms = parse_duration(name.removeprefix(before).removesuffix(behind))
        except ConfigurationError:
            return None
        return after_ms if self.tier(queue, after_ms) == name else None

    def check(self, tiers_ms: Sequence[int]) -> None:
        """Raises :exc:`~mqkit.errors.ConfigurationError` if the pattern has no names for these
        tiers."""
        if self.tiers is None:
            return
        if AFTER not in self.tiers and len(tiers_ms) > 1:
            shown = ", ".join(map(format_duration, tiers_ms))
            raise ConfigurationError(
                f"the pattern {self.tiers!r} has no {AFTER}, so it names one tier, and this policy"
                f" has {len(tiers_ms)} ({shown}): each waits in a queue of its own, since a queue"
                f" expires messages only at its head; write '{self.tiers}.{AFTER}'"
            )
        for after_ms in tiers_ms:
            _checked("tiers", self.tier("", after_ms))


BY_FORM = RetryNames()
"""The names of a policy that gives none."""


def _checked(key: str, name: str) -> None:
    """Raises unless ``name`` can be the name of a queue."""
    if not name:
        raise ConfigurationError(f"{key!r} is empty (expected the name of a queue)")
    if (length := len(name.encode("utf-8", "surrogatepass"))) > MAX_NAME_BYTES:
        raise ConfigurationError(
            f"{key!r} makes a name of {length} bytes ({name[:40]!r}...), over AMQP's limit of"
            f" {MAX_NAME_BYTES}"
        )
    if name.startswith("amq."):
        raise ConfigurationError(
            f"{key!r} makes the name {name!r}: what begins with 'amq.' is reserved for the broker"
        )


def tier_name(queue: str, after_ms: int) -> str:
    """The queue in which a failed message of ``queue`` waits ``after_ms`` milliseconds."""
    return f"{queue}{RETRY}{format_duration(after_ms)}"


def parking_lot_name(queue: str) -> str:
    """The parking lot of ``queue``."""
    return f"{queue}{PARKED}"


def is_parking_lot(name: str) -> bool:
    """True if ``name`` has the form of a parking lot's name."""
    return name.endswith(PARKED) and len(name) > len(PARKED)


def owner_of_parking_lot(name: str) -> str | None:
    """The queue whose parking lot ``name`` is, or ``None`` if it has not the form of one."""
    return name.removesuffix(PARKED) if is_parking_lot(name) else None


def owner_of_tier(name: str) -> tuple[str, int] | None:
    """The queue and the milliseconds of a tier's name, or ``None`` if it has not the form of
    one."""
    queue, separator, duration = name.rpartition(RETRY)
    if not separator or not queue:
        return None
    try:
        after_ms = parse_duration(duration)
    except ConfigurationError:
        return None
    return (queue, after_ms) if tier_name(queue, after_ms) == name else None
