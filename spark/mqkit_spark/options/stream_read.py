"""The options of the ``amqp`` stream source, typed and checked before a query starts."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from urllib.parse import unquote, urlsplit

from mqkit.errors import ConfigurationError
from mqkit_spark.options import checks
from mqkit_spark.options.queue import QUEUE_READERS, QueueOptions
from mqkit_spark.options.table import OptionTable
from mqkit_spark.options.values import boolean, seconds, text, whole_number

DEDUP_WINDOW_DEFAULT = 1_000_000
DEDUP_WINDOW_MAX = 100_000_000
"""16 octets each: 1.6 GB, which every partition of every batch maps and looks through."""

PARTITIONS_MAX = 10_000
"""Each has a connection and a file; a job with more tasks than this is a mistake."""

_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0, "d": 86400.0}
_DELAY = re.compile(r"([0-9.]+)\s*([a-z]*)")


class StreamMode(StrEnum):
    """The place where messages stay between the queue and the end of their batch."""

    SPOOL = "spool"
    """In files of a folder that driver and executors share: each message once in the result."""
    DRIVER = "driver"
    """In the driver's memory, unacked: a batch that is run again may have other rows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamReadOptions(QueueOptions):
    """The options of a streaming query.

    ``spool_location`` is kept as a path. ``min_offsets_per_trigger`` waits for so many messages,
    but no longer than ``max_trigger_delay_s``. Raises
    :exc:`~mqkit.errors.ConfigurationError` for values that can't be.
    """

    mode: StreamMode = StreamMode.SPOOL
    spool_location: str | None = None
    max_offsets_per_trigger: int | None = None
    min_offsets_per_trigger: int | None = None
    max_trigger_delay_s: float = 900.0
    min_partitions: int = 1
    fail_on_data_loss: bool = True
    dedup_window: int = DEDUP_WINDOW_DEFAULT

    def __post_init__(self) -> None:
        # super() without arguments knows nothing of the class that slots=True makes anew.
        QueueOptions.__post_init__(self)
        checks.choices(self, {"mode": StreamMode})
        counted = ("max_offsets_per_trigger", "min_offsets_per_trigger", "min_partitions")
        checks.at_least(self, 1, counted)
        checks.at_least(self, 0, ("dedup_window",))
        checks.positive_seconds(self, ("max_trigger_delay_s",))
        if self.dedup_window > DEDUP_WINDOW_MAX:
            raise ConfigurationError(f"dedupWindow must be at most {DEDUP_WINDOW_MAX}")
        if self.min_partitions > PARTITIONS_MAX:
            raise ConfigurationError(f"minPartitions must be at most {PARTITIONS_MAX}")
        most, least = self.max_offsets_per_trigger, self.min_offsets_per_trigger
        if most is not None and least is not None and least > most:
            raise ConfigurationError("minOffsetsPerTrigger is more than maxOffsetsPerTrigger")
        if self.mode is StreamMode.SPOOL:
            object.__setattr__(self, "spool_location", spool_path(self.spool_location))
        elif self.spool_location is not None:
            raise ConfigurationError("option spoolLocation has no meaning with mode=driver")


def spool_path(location: str | None) -> str:
    """The folder that ``spoolLocation`` names: an absolute path, or a ``file:`` URL of one.

    Raises :exc:`~mqkit.errors.ConfigurationError` for object stores and other file systems: they
    have no step that only one of two writers can win.
    """
    if not location:
        raise ConfigurationError(
            "option spoolLocation is missing: a folder that the driver and all executors share"
            ' (example: .option("spoolLocation", "/mnt/shared/spool/orders"); mode=driver needs'
            " none)"
        )
    parts = urlsplit(location)
    if parts.scheme and parts.scheme != "file":
        raise ConfigurationError(
            f"option spoolLocation: {parts.scheme}: is not supported, for it can't link a file only"
            " once; take a local or mounted folder (file:)"
        )
    if parts.scheme and parts.netloc not in ("", "localhost"):
        raise ConfigurationError(
            "option spoolLocation: a file: URL has three slashes, file:///path"
        )
    path = unquote(parts.path) if parts.scheme else location
    if not path.startswith("/"):
        raise ConfigurationError(
            f"option spoolLocation: {location!r} is not an absolute path, and executors have other"
            " working folders"
        )
    return path


def delay(given: str) -> float:
    """A time as the Kafka connector takes it (``15m``, ``30s``), or a number of seconds."""
    found = _DELAY.fullmatch(given.strip().lower())
    if found is None or (found[2] and found[2] not in _UNITS):
        raise ValueError(f"expected a time like 30s or 15m, not {given!r}")
    return seconds(found[1]) * _UNITS.get(found[2], 1.0)


STREAM_READ_OPTIONS = OptionTable(
    StreamReadOptions,
    {
        **QUEUE_READERS,
        "mode": text,
        "spool_location": text,
        "max_offsets_per_trigger": whole_number,
        "min_offsets_per_trigger": whole_number,
        "max_trigger_delay_s": delay,
        "min_partitions": whole_number,
        "fail_on_data_loss": boolean,
        "dedup_window": whole_number,
    },
)
