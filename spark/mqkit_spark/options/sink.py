"""The options of the ``amqp`` sink, typed and checked before a job starts."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from mqkit.transport.window_size import DEFAULT_WINDOW_BYTES, DEFAULT_WINDOW_MESSAGES
from mqkit_spark.options import checks
from mqkit_spark.options.connection import CONNECTION_READERS, ConnectionOptions
from mqkit_spark.options.table import OptionTable
from mqkit_spark.options.values import boolean, seconds, text, whole_number

MESSAGE_BYTES_MAX_DEFAULT = 16 * 1024 * 1024
"""RabbitMQ 4's own default for ``max_message_size``; older ones allow more."""


class OnUnroutable(StrEnum):
    """The treatment of a message that no queue takes."""

    FAIL = "fail"
    DROP = "drop"


class OnBadRow(StrEnum):
    """The treatment of a row that can't be made a message."""

    FAIL = "fail"
    DROP = "drop"


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
    The two timeouts count time without any progress;
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


SINK_OPTIONS = OptionTable(
    SinkOptions,
    {
        **CONNECTION_READERS,
        "exchange": text,
        "routing_key": text,
        "content_type": text,
        "persistent": boolean,
        "message_ids": text,
        "job_id": text,
        "on_unroutable": text,
        "on_bad_row": text,
        "max_message_bytes": whole_number,
        "max_in_flight": whole_number,
        "max_in_flight_bytes": whole_number,
        "publish_retries": whole_number,
        "confirm_timeout_s": seconds,
        "blocked_timeout_s": seconds,
    },
)
