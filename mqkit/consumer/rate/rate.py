"""A rate as people write it: ``100/s``, ``30/m``, ``2/10s``. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass

from mqkit.errors import ConfigurationError
from mqkit.retry.duration import parse_duration

EXAMPLES = '"100/s", "30/m" or "2/10s"'

BURST_S = 0.1
"""So much of a rate may come at once: timers of operating systems are no finer than milliseconds,
and a rate of thousands a second would never be reached one by one."""

_FORM = re.compile(r"([0-9]{1,9})/([0-9.]*)([a-z].*)", re.ASCII)


@dataclass(frozen=True, slots=True)
class Rate:
    """``count`` in ``per_s`` seconds, spread over them."""

    count: int
    per_s: float

    def __str__(self) -> str:
        return f"{self.count}/{'' if self.per_s == 1 else f'{self.per_s:g}'}s"

    @property
    def interval_s(self) -> float:
        """The seconds from one to the next."""
        return self.per_s / self.count

    @property
    def burst(self) -> int:
        """The number that may come at once, where none came for a while: a tenth of a second's, and
        one at least."""
        return max(1, int(BURST_S / self.interval_s))

    @classmethod
    def parse(cls, text: str) -> Rate:
        """Raises :exc:`~mqkit.errors.ConfigurationError` for what is no rate."""
        match = _FORM.fullmatch(text.replace(" ", "")) if isinstance(text, str) else None
        if match is None:
            raise ConfigurationError(f"rate={text!r}: expected something like {EXAMPLES}")
        count, number, unit = match.groups()
        try:
            per_ms = parse_duration(f"{number or 1}{unit}")
        except ConfigurationError as error:
            raise ConfigurationError(f"rate={text!r}: {error}") from None
        if not int(count) or not per_ms:
            raise ConfigurationError(
                f"rate={text!r} would let nothing through, or everything; pause() stops a queue,"
                " and without a rate there is no limit"
            )
        return cls(int(count), per_ms / 1000)
