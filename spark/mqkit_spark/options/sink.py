"""The options of the ``amqp`` sink, typed and checked before a job starts."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum

from mqkit.errors import ConfigurationError
from mqkit.transport.window_size import DEFAULT_WINDOW_BYTES, DEFAULT_WINDOW_MESSAGES, WindowSize
from mqkit_spark.options import checks
from mqkit_spark.options.connection import CONNECTION_READERS, ConnectionOptions
from mqkit_spark.options.table import OptionTable, Reader
from mqkit_spark.options.values import boolean, number, seconds, text, whole_number

MESSAGE_BYTES_MAX_DEFAULT = 16 * 1024 * 1024
"""RabbitMQ 4's own default for ``max_message_size``; older ones allow more."""


JOB_ID_BYTES_MAX = 200
"""A message id has 255 bytes: the rest is for the numbers of batch, partition and row."""


class OnUnroutable(StrEnum):
    """The treatment of a message that no queue takes."""

    FAIL = "fail"
    DROP = "drop"
    DEADLETTER = "deadletter"
    """Publish it to ``dead_letter_exchange`` instead."""


class OnBadRow(StrEnum):
    """The treatment of a row that can't be made a message."""

    FAIL = "fail"
    DROP = "drop"
    DEADLETTER = "deadletter"
    """Publish what there is of it to ``dead_letter_exchange``."""


class MessageIds(StrEnum):
    """The source of message ids."""

    AUTO = "auto"
    """``{job}/{partition}/{row}``: the same in every attempt of a task."""
    COLUMN = "column"
    """The column ``message_id``: a business key, stable over submissions too."""
    NONE = "none"


@dataclass(frozen=True, slots=True, kw_only=True)
class SinkOptions(ConnectionOptions):
    """The options of a job. Raises :exc:`~mqkit.errors.ConfigurationError` for values that can't
    be.

    A value given here wins over the column of the same meaning. ``message_ids`` of ``None`` means
    the column where there is one, else ``auto``; ``persistent`` of ``None`` the column, else true.
    ``dedup`` says that the queue drops a message whose id it has seen, ``deterministic`` that the
    plan gives a partition the same rows in the same order whenever it is computed. ``max_rate`` is
    in messages a second of each task. The two timeouts count time without any progress;
    time during which the broker has blocked the connection counts against ``blocked_timeout_s``
    only.
    """

    exchange: str | None = None
    routing_key: str | None = None
    content_type: str | None = None
    persistent: bool | None = None
    message_ids: MessageIds | None = None
    job_id: str | None = None
    on_unroutable: OnUnroutable = OnUnroutable.FAIL
    on_bad_row: OnBadRow = OnBadRow.FAIL
    dead_letter_exchange: str | None = None
    dead_letter_routing_key: str | None = None
    dedup: bool = False
    deterministic: bool = False
    max_rate: float | None = None
    topology: str | None = None
    report_path: str | None = None
    max_message_bytes: int = MESSAGE_BYTES_MAX_DEFAULT
    max_in_flight: int = DEFAULT_WINDOW_MESSAGES
    max_in_flight_bytes: int = DEFAULT_WINDOW_BYTES
    publish_retries: int = 3
    confirm_timeout_s: float = 60.0
    blocked_timeout_s: float = 300.0

    def __post_init__(self) -> None:
        # super() without arguments knows nothing of the class that slots=True makes anew.
        ConnectionOptions.__post_init__(self)
        checks.choices(
            self,
            {
                "message_ids": MessageIds,
                "on_unroutable": OnUnroutable,
                "on_bad_row": OnBadRow,
            },
        )
        checks.at_least(self, 1, ("max_message_bytes", "max_in_flight", "max_in_flight_bytes"))
        checks.at_least(self, 0, ("publish_retries",))
        checks.positive_seconds(self, ("confirm_timeout_s", "blocked_timeout_s"))
        checks.short_strings(self, ("exchange", "routing_key", "content_type"))
        checks.short_strings(self, ("dead_letter_exchange", "dead_letter_routing_key"))
        if self.job_id is not None and len(self.job_id.encode()) > JOB_ID_BYTES_MAX:
            raise ConfigurationError(f"jobId has more than {JOB_ID_BYTES_MAX} bytes")
        if self.max_rate is not None and not 0 < self.max_rate < math.inf:
            raise ConfigurationError("maxRate must be more than 0 messages a second")
        self._check_dead_letters()

    def _check_dead_letters(self) -> None:
        dead_letters = (
            self.on_unroutable is OnUnroutable.DEADLETTER or self.on_bad_row is OnBadRow.DEADLETTER
        )
        if not dead_letters:
            if self.dead_letter_exchange is not None or self.dead_letter_routing_key is not None:
                raise ConfigurationError(
                    "deadLetterExchange and deadLetterRoutingKey are for onUnroutable=deadletter"
                    " and onBadRow=deadletter; neither is given"
                )
        elif self.dead_letter_exchange is None:
            raise ConfigurationError("deadletter needs option deadLetterExchange")
        elif self.dead_letter_exchange == "" and not self.dead_letter_routing_key:
            raise ConfigurationError(
                "deadLetterExchange is the default exchange, which routes by queue name: give"
                " option deadLetterRoutingKey too"
            )

    @property
    def window(self) -> WindowSize:
        """The bound on what a task has unconfirmed."""
        return WindowSize(self.max_in_flight, self.max_in_flight_bytes)


_READERS: dict[str, Reader] = {
    **CONNECTION_READERS,
    "exchange": text,
    "routing_key": text,
    "content_type": text,
    "persistent": boolean,
    "message_ids": text,
    "job_id": text,
    "on_unroutable": text,
    "on_bad_row": text,
    "dead_letter_exchange": text,
    "dead_letter_routing_key": text,
    "dedup": boolean,
    "deterministic": boolean,
    "max_rate": number,
    "topology": text,
    "report_path": text,
    "max_message_bytes": whole_number,
    "max_in_flight": whole_number,
    "max_in_flight_bytes": whole_number,
    "publish_retries": whole_number,
    "confirm_timeout_s": seconds,
    "blocked_timeout_s": seconds,
}

SINK_OPTIONS = OptionTable(SinkOptions, _READERS)

STREAM_SINK_OPTIONS = OptionTable(
    SinkOptions, _READERS, ignored=("checkpointlocation", "queryname")
)
"""Of a streaming write, at which Spark hands its own options over too."""
