"""The options of everything that reads a queue."""

from __future__ import annotations

from dataclasses import dataclass

from mqkit.errors import ConfigurationError
from mqkit.transport.blocking_choice import BlockingChoice
from mqkit_spark.columns.headers import HeadersFormat
from mqkit_spark.options import checks
from mqkit_spark.options.connection import CONNECTION_READERS, ConnectionOptions
from mqkit_spark.options.table import Reader
from mqkit_spark.options.values import text


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueOptions(ConnectionOptions):
    """The queue that is read, and the form in which headers are given.

    Raises :exc:`~mqkit.errors.ConfigurationError` for values that can't be.
    """

    queue: str = ""
    headers_format: HeadersFormat = HeadersFormat.MAP

    def __post_init__(self) -> None:
        # super() without arguments knows nothing of the class that slots=True makes anew.
        ConnectionOptions.__post_init__(self)
        if not self.queue:
            raise ConfigurationError(
                'option queue is missing (example: .option("queue", "orders"))'
            )
        checks.short_strings(self, ("queue",))
        checks.choices(self, {"headers_format": HeadersFormat})
        if self.transport is BlockingChoice.PIKA:
            raise ConfigurationError(
                "option transport: a source reads over native, for pika loses the types of headers"
            )


QUEUE_READERS: dict[str, Reader] = {**CONNECTION_READERS, "queue": text, "headers_format": text}
