"""The retry policy of a queue, and the decision that it makes: a pure function of what is known.

A message has as many retries as the policy has tiers. The n-th failure waits in the n-th tier; a
``RetryLater(after=...)`` chooses its tier but uses up an attempt all the same, so that no handler
can send a message round for ever. After the last retry, or at once on ``Park``, the message is
parked.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias

from mqkit.errors import ConfigurationError
from mqkit.retry.duration import format_duration, parse_duration
from mqkit.retry.signals import Drop, Park, RetryLater

MAX_TIERS = 32
"""Each tier may be a queue on the broker; more than a month of doublings needs no more."""


class Then(StrEnum):
    """The end of a message that has used up its retries."""

    PARK = "park"
    DROP = "drop"


@dataclass(frozen=True, slots=True)
class RetryAction:
    """Publish the message to the tier of ``after_ms``, wait for the confirm, then ack it."""

    after_ms: int


@dataclass(frozen=True, slots=True)
class ParkAction:
    """Publish the message to the parking lot, wait for the confirm, then ack it."""

    reason: str


@dataclass(frozen=True, slots=True)
class DiscardAction:
    """Ack the message: nobody wants it. ``reason`` belongs into the log."""

    reason: str


Action: TypeAlias = RetryAction | ParkAction | DiscardAction
"""The consumer's action on a message whose handler raised."""


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """``after``: the waiting time before each retry, in milliseconds, never falling.

    The same time may come more than once (``[1s, 1s, 5s]`` is three retries in two tiers).
    Raises :exc:`~mqkit.errors.ConfigurationError` when it can't be kept.
    """

    after: tuple[int, ...]
    then: Then = Then.PARK

    def __post_init__(self) -> None:
        if not 1 <= len(self.after) <= MAX_TIERS:
            raise ConfigurationError(
                f"a retry policy has 1 to {MAX_TIERS} waiting times, this one {len(self.after)}"
            )
        if self.after[0] < 1:
            raise ConfigurationError("a retry waits at least 1ms")
        for earlier, later in zip(self.after, self.after[1:], strict=False):
            if later < earlier:
                raise ConfigurationError(
                    f"waiting times must not fall: {format_duration(later)} comes after"
                    f" {format_duration(earlier)}"
                )

    @classmethod
    def of(cls, *after: str, then: Then = Then.PARK) -> RetryPolicy:
        """``RetryPolicy.of("1s", "5s")``: the waiting times as text."""
        return cls(tuple(parse_duration(text) for text in after), then)

    @property
    def parks(self) -> bool:
        """True if the policy ends in a parking lot."""
        return self.then is Then.PARK

    @property
    def tiers(self) -> tuple[int, ...]:
        """The different waiting times in milliseconds, shortest first: one queue for each."""
        return tuple(dict.fromkeys(self.after))

    def tier_for(self, after_ms: int) -> int:
        """The shortest tier not shorter than ``after_ms``.

        Raises :exc:`~mqkit.errors.ConfigurationError`, naming the tiers, when every tier is
        shorter.
        """
        for tier_ms in self.tiers:
            if tier_ms >= after_ms:
                return tier_ms
        tiers = ", ".join(format_duration(tier_ms) for tier_ms in self.tiers)
        raise ConfigurationError(
            f"RetryLater(after={format_duration(after_ms)!r}) is longer than the last retry tier"
            f" (the tiers are {tiers})"
        )

    def decide(self, failures: int, raised: BaseException) -> Action:
        """The action after a handler raised ``raised``; ``failures`` counts the earlier ones.

        Raises :exc:`~mqkit.errors.ConfigurationError` for a ``RetryLater`` longer than the last
        tier: the handler is wrong, so the caller parks the message (:meth:`give_up`) and says so.
        """
        if isinstance(raised, Drop):
            return DiscardAction(raised.reason or "the handler dropped it")
        if isinstance(raised, Park):
            return self.give_up(raised.reason or "the handler parked it")
        # Asked before the budget is looked at: a wrong handler shows at its first message.
        asked_ms = (
            self.tier_for(raised.after_ms)
            if isinstance(raised, RetryLater) and raised.after_ms is not None
            else None
        )
        if failures >= len(self.after):
            return self.give_up(f"still failing after {len(self.after)} retries")
        return RetryAction(self.after[failures] if asked_ms is None else asked_ms)

    def give_up(self, reason: str) -> ParkAction | DiscardAction:
        """The end of the road: the parking lot, or nothing where the policy says ``then: drop``."""
        if self.parks:
            return ParkAction(reason)
        return DiscardAction(f"{reason} (the policy says then: drop)")
