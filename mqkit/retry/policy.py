"""The retry policy of a queue, and the decision that it makes: a pure function of what is known.

Failures of a message on its queue have one count. The n-th waits for the n-th time of the list that
applies: that of the rule for its exception, else the policy's own. When the list is over, the
message has used up its retries. A ``RetryLater(after=...)`` chooses its tier but uses up an attempt
all the same, so that no handler can send a message round for ever. After the last retry, or at once
on ``Park``, the message is parked.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from mqkit.errors import ConfigurationError
from mqkit.retry.duration import MAX_DURATION_MS, format_duration, parse_duration
from mqkit.retry.error_rule import ErrorRule, rule_for
from mqkit.retry.growth import Growth
from mqkit.retry.names import BY_FORM, RetryNames
from mqkit.retry.signals import Drop, Park, RetryLater, Signal
from mqkit.retry.then import Then
from mqkit.retry.waiting_times import checked, parsed, shown

MAX_TIERS = 32
"""Each tier is a queue on the broker."""

Errors: TypeAlias = Mapping[Any, str | Sequence[str]]
"""Rules by exception class or its name: ``{TimeoutError: ["1s", "5s"], "InvalidAddress":
"park"}``."""


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
    ``errors`` are rules for some exceptions. ``growth`` is set if ``after`` is made by it, and
    brings the jitter. ``give_up_after_ms`` counts from a message's first failure: no retry ends
    later. ``names`` are those of its queues. Raises :exc:`~mqkit.errors.ConfigurationError` when it
    can't be kept.
    """

    after: tuple[int, ...]
    then: Then = Then.PARK
    errors: tuple[ErrorRule, ...] = ()
    growth: Growth | None = None
    give_up_after_ms: int | None = None
    names: RetryNames = BY_FORM

    def __post_init__(self) -> None:
        checked(self.after)
        if self.growth is not None and self.growth.after != self.after:
            raise ConfigurationError("'after' and growth are two ways to say one thing: give one")
        if (count := len(self.tiers)) > MAX_TIERS:
            jitter = " (jitter makes up to three of each waiting time)" if self._has_jitter else ""
            raise ConfigurationError(
                f"a queue has at most {MAX_TIERS} retry tiers, and these rules make {count}"
                f"{jitter}: use some waiting times in several lists, or fewer of them"
            )
        if self.give_up_after_ms is not None and self.give_up_after_ms < self.tiers[0]:
            raise ConfigurationError(
                f"give_up_after: {format_duration(self.give_up_after_ms)} is shorter than the"
                f" shortest waiting time, {format_duration(self.tiers[0])}: nothing would be tried"
                " again"
            )
        self.names.check(self.tiers)
        if self.names.park is not None and not self.parks:
            raise ConfigurationError(
                f"'park: {self.names.park}' beside 'then: drop': what has used up its retries is"
                " dropped, and nothing is ever parked; leave one of the two out"
            )

    @classmethod
    def of(
        cls,
        *after: str,
        then: Then = Then.PARK,
        errors: Errors | None = None,
        give_up_after: str | None = None,
        park: str | None = None,
        tiers: str | None = None,
    ) -> RetryPolicy:
        """``RetryPolicy.of("1s", "5s")``: the waiting times as text.

        ``errors`` has exception classes or their names as keys; a value is ``"park"``, ``"drop"``
        or a list of waiting times. ``park`` is the name of the parking lot, ``tiers`` the pattern
        of the tiers' names: ``park="email-dlq", tiers="email-queue.wait.{after}"``.
        """
        names = RetryNames(park, tiers)
        return cls(parsed(after), then)._with(errors, give_up_after, names)

    @classmethod
    def growing(
        cls,
        first: str,
        *,
        times: int,
        factor: float = 2,
        most: str | None = None,
        jitter: float = 0,
        then: Then = Then.PARK,
        errors: Errors | None = None,
        give_up_after: str | None = None,
        park: str | None = None,
        tiers: str | None = None,
    ) -> RetryPolicy:
        """``RetryPolicy.growing("1s", times=8, most="5m")``: see :class:`Growth`; ``park`` and
        ``tiers`` as in :meth:`of`."""
        most_ms = MAX_DURATION_MS if most is None else parse_duration(most)
        growth = Growth(parse_duration(first), times, factor, most_ms, jitter)
        names = RetryNames(park, tiers)
        return cls(growth.after, then, growth=growth)._with(errors, give_up_after, names)

    @property
    def parks(self) -> bool:
        """True if the queue has a parking lot: the policy, or one of its rules, ends there."""
        return Then.PARK in (self.then, *(rule.response for rule in self.errors))

    @property
    def tiers(self) -> tuple[int, ...]:
        """The different waiting times in milliseconds, shortest first: one queue for each."""
        times = {after_ms for rule in self.errors for after_ms in rule.after}
        for after_ms in self.after:
            times.update(self._choices(after_ms))
        return tuple(sorted(times))

    def tier_for(self, after_ms: int) -> int:
        """The shortest tier not shorter than ``after_ms``.

        Raises :exc:`~mqkit.errors.ConfigurationError`, naming the tiers, when every tier is
        shorter.
        """
        tiers = self.tiers
        for tier_ms in tiers:
            if tier_ms >= after_ms:
                return tier_ms
        raise ConfigurationError(
            f"RetryLater(after={format_duration(after_ms)!r}) is longer than the last retry tier"
            f" (the tiers are {shown(tiers)})"
        )

    def decide(
        self,
        failures: int,
        raised: BaseException,
        *,
        elapsed_ms: int = 0,
        rng: Callable[[], float] = random.random,
    ) -> Action:
        """The action after a handler raised ``raised``; ``failures`` counts the earlier ones.

        ``elapsed_ms`` has passed since the first of them; ``rng`` gives numbers from 0 to 1, and
        draws where there is jitter. Raises :exc:`~mqkit.errors.ConfigurationError` for a
        ``RetryLater`` longer than the last tier: the handler is wrong, so the caller parks the
        message (:meth:`give_up`) and says so.
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
        rule = None if isinstance(raised, Signal) else rule_for(self.errors, type(raised))
        if rule is not None and isinstance(rule.response, Then):
            return _end(rule.response, f"the rule of {rule.name} says {rule.response}", "")
        after = self.after if rule is None else rule.after
        if failures >= len(after):
            return self._over(f"still failing after {failures} retries")
        if asked_ms is not None:
            choices: tuple[int, ...] = (asked_ms,)
        else:
            choices = self._choices(after[failures]) if rule is None else (after[failures],)
        return self._retry(choices, elapsed_ms, rng)

    def give_up(self, reason: str) -> ParkAction | DiscardAction:
        """The end that a handler asked for: the parking lot, or nothing where the queue has
        none."""
        return _end(Then.PARK if self.parks else Then.DROP, reason)

    def _over(self, reason: str) -> ParkAction | DiscardAction:
        """The end of a message that has used up its retries."""
        return _end(self.then, reason)

    def _retry(self, choices: tuple[int, ...], elapsed_ms: int, rng: Callable[[], float]) -> Action:
        """One of ``choices`` that ends in time."""
        limit_ms = self.give_up_after_ms
        if limit_ms is not None:
            in_time = tuple(wait_ms for wait_ms in choices if elapsed_ms + wait_ms <= limit_ms)
            if not in_time:
                return self._over(
                    f"given up after {format_duration(limit_ms)} (it first failed"
                    f" {elapsed_ms // 1000} s ago, and the next retry would wait"
                    f" {format_duration(choices[0])})"
                )
            choices = in_time
        drawn = int(rng() * len(choices)) if len(choices) > 1 else 0
        return RetryAction(choices[min(drawn, len(choices) - 1)])

    def _choices(self, after_ms: int) -> tuple[int, ...]:
        """The tiers that a waiting time of the policy's own list may be."""
        return (after_ms,) if self.growth is None else self.growth.neighbours(after_ms)

    @property
    def _has_jitter(self) -> bool:
        return self.growth is not None and self.growth.jitter > 0

    def _with(
        self, errors: Errors | None, give_up_after: str | None, names: RetryNames
    ) -> RetryPolicy:
        return replace(
            self,
            names=names,
            errors=tuple(ErrorRule.of(error, said) for error, said in (errors or {}).items()),
            give_up_after_ms=None if give_up_after is None else parse_duration(give_up_after),
        )


def _end(
    then: Then, reason: str, why_dropped: str = " (the policy says then: drop)"
) -> ParkAction | DiscardAction:
    return ParkAction(reason) if then is Then.PARK else DiscardAction(f"{reason}{why_dropped}")
