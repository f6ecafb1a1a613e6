"""The options of a read before it is known whether it is a batch or a stream: Spark asks for the
schema first, and does not say."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from mqkit.errors import ConfigurationError
from mqkit_spark.options.batch_read import BATCH_READ_OPTIONS
from mqkit_spark.options.queue import QueueOptions
from mqkit_spark.options.stream_read import STREAM_READ_OPTIONS
from mqkit_spark.options.table import OptionTable

READ_TABLES: tuple[OptionTable[Any], ...] = (BATCH_READ_OPTIONS, STREAM_READ_OPTIONS)
"""The kinds of reads; each has :class:`~mqkit_spark.options.queue.QueueOptions`."""


def read_options(
    options: Mapping[str, str], tables: Sequence[OptionTable[Any]] = READ_TABLES
) -> QueueOptions:
    """The options as the first kind of read has them that accepts them.

    Raises :exc:`~mqkit.errors.ConfigurationError` in the words of the kind that knows most of
    their names.
    """
    errors: list[tuple[int, ConfigurationError]] = []
    for table in tables:
        try:
            accepted: QueueOptions = table.from_spark(options)
        except ConfigurationError as error:
            errors.append((sum(map(table.knows, options)), error))
        else:
            return accepted
    raise max(errors, key=lambda each: each[0])[1]
