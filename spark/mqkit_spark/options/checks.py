"""Checks of option values, after reading; each raises
:exc:`~mqkit.errors.ConfigurationError` with the option's name as Spark users write it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import StrEnum

from mqkit.errors import ConfigurationError
from mqkit_spark.options.table import option_name
from mqkit_spark.options.values import choice

SHORT_STRING_BYTES_MAX = 255
"""AMQP 0-9-1, section 4.2.5.3: names, keys and string properties have one octet of length."""

SECONDS_MAX = 366 * 24 * 3600
"""A year is as good as for ever, and every system call can wait for it."""


def choices(options: object, kinds: Mapping[str, type[StrEnum]]) -> None:
    """Make members of these fields: from Python an option may be given as its text."""
    for name, kind in kinds.items():
        value = getattr(options, name)
        if value is None:
            continue
        try:
            object.__setattr__(options, name, choice(kind, value))
        except ValueError as error:
            raise ConfigurationError(f"option {option_name(name)}: {error}") from None


def at_least(options: object, least: int, names: Iterable[str]) -> None:
    """Whole numbers from ``least`` on; ``None`` is not given."""
    for name in names:
        value = getattr(options, name)
        if value is not None and value < least:
            raise ConfigurationError(f"{option_name(name)} must be at least {least}")


def positive_seconds(options: object, names: Iterable[str]) -> None:
    """Times that can be waited for; ``None`` is not given."""
    for name in names:
        value = getattr(options, name)
        if value is not None and not 0 < value <= SECONDS_MAX:
            raise ConfigurationError(
                f"{option_name(name)} must be more than 0 seconds, and {SECONDS_MAX} at most"
            )


def short_strings(options: object, names: Iterable[str]) -> None:
    """Text that AMQP has a place for."""
    for name in names:
        value = getattr(options, name)
        if value is not None and len(value.encode()) > SHORT_STRING_BYTES_MAX:
            raise ConfigurationError(
                f"{option_name(name)} has more than {SHORT_STRING_BYTES_MAX} bytes"
            )
