"""The options of how a queue's messages are handled: how many at once, for how long. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from mqkit.consumer.partitions.key import PartitionBy, key_of
from mqkit.errors import ConfigurationError
from mqkit.timing.seconds import Span, seconds_or_none

PREFETCH_PER_HANDLER = 10
"""Enough on its way to keep a fast handler busy; few enough that others get their share."""
PREFETCH_MAX = 65_535
"""AMQP counts it in 16 bits."""


@dataclass(frozen=True, slots=True)
class HandlingOptions:
    """``concurrency`` handlers at once, each for ``timeout_s`` seconds at most, and up to
    ``prefetch`` messages at hand; with ``partition_by`` those of one key in order."""

    concurrency: int = 1
    prefetch: int = PREFETCH_PER_HANDLER
    timeout_s: float | None = None
    partition_by: PartitionBy | None = None

    @classmethod
    def of(
        cls,
        *,
        concurrency: int = 1,
        prefetch: int | None = None,
        timeout: Span | None = None,
        partition_by: PartitionBy | None = None,
    ) -> HandlingOptions:
        """The options that a program asks for; the prefetch is ten per handler unless said
        otherwise. Raises :exc:`~mqkit.errors.ConfigurationError` for what can't be."""
        check_between("concurrency", concurrency, 1, PREFETCH_MAX)
        if prefetch is None:
            prefetch = min(PREFETCH_MAX, PREFETCH_PER_HANDLER * concurrency)
        check_between("prefetch", prefetch, concurrency, PREFETCH_MAX)
        if partition_by is not None:
            key_of(partition_by)
        return cls(concurrency, prefetch, time_limit_s(timeout), partition_by)


def time_limit_s(timeout: Span | None) -> float | None:
    """The time that a handler has. Raises :exc:`~mqkit.errors.ConfigurationError` for none at
    all."""
    timeout_s = seconds_or_none(timeout, "timeout")
    if timeout_s == 0:
        raise ConfigurationError("timeout=0 would end every handler at once; None is no timeout")
    return timeout_s


def check_between(name: str, value: int, least: int, most: int) -> None:
    """Raises :exc:`~mqkit.errors.ConfigurationError` unless ``value`` is a whole number from
    ``least`` to ``most``."""
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise ConfigurationError(f"{name}={value!r}: expected a whole number, {least} to {most}")
