"""The options of a batch read, ``spark.read.format("amqp")``."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from mqkit.errors import ConfigurationError
from mqkit_spark.options import checks
from mqkit_spark.options.queue import QUEUE_READERS, QueueOptions
from mqkit_spark.options.table import OptionTable
from mqkit_spark.options.values import seconds, text, whole_number

MAX_MESSAGES_DEFAULT = 10_000
"""Enough to look at what a queue holds; a read without an end would be a stream."""


class Until(StrEnum):
    """The end of a read that found fewer than ``max_messages``."""

    EMPTY = "empty"
    """The first time that the queue has nothing ready."""
    TIMEOUT = "timeout"
    """After ``timeout_s`` seconds, in which later messages are read as well."""


class AckMode(StrEnum):
    """The fate of messages that were read."""

    PEEK = "peek"
    """They go back to their places when the read ends, marked as redelivered."""
    ON_READ = "onread"
    """They leave the queue before Spark has their rows: at most once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchReadOptions(QueueOptions):
    """The options of a read. Raises :exc:`~mqkit.errors.ConfigurationError` for values that can't
    be."""

    max_messages: int = MAX_MESSAGES_DEFAULT
    until: Until = Until.EMPTY
    timeout_s: float | None = None
    ack_mode: AckMode = AckMode.PEEK

    def __post_init__(self) -> None:
        # super() without arguments knows nothing of the class that slots=True makes anew.
        QueueOptions.__post_init__(self)
        checks.at_least(self, 1, ("max_messages",))
        checks.choices(self, {"until": Until, "ack_mode": AckMode})
        checks.positive_seconds(self, ("timeout_s",))
        if (self.until is Until.TIMEOUT) != (self.timeout_s is not None):
            raise ConfigurationError(
                "options until and timeout: until=timeout goes with a timeout in seconds, and a"
                " timeout with until=timeout"
            )


_OF_STREAMS = (
    *("mode", "spoolLocation", "dedupWindow", "failOnDataLoss"),
    *("maxOffsetsPerTrigger", "minPartitions", "maxTriggerDelay"),
)
_ELSEWHERE = {
    **{name.lower(): f"option {name} belongs to spark.readStream" for name in _OF_STREAMS},
    "path": "a queue is named by option queue: load() takes no path",
}

BATCH_READ_OPTIONS = OptionTable(
    BatchReadOptions,
    {
        **QUEUE_READERS,
        "max_messages": whole_number,
        "until": text,
        "timeout_s": seconds,
        "ack_mode": text,
    },
    elsewhere=_ELSEWHERE,
)
