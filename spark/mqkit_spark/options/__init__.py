"""The options of jobs, typed and checked before a row is read.

table       options by their two names, from Python and from Spark
values      the text of an option, read
checks      values that can't be
connection  the broker: URL, file or variable, library, time to reach it
queue       a queue that is read
sink        the sink's
"""

from mqkit_spark.options.connection import ConnectionOptions
from mqkit_spark.options.sink import (
    SINK_OPTIONS,
    STREAM_SINK_OPTIONS,
    MessageIds,
    OnBadRow,
    OnUnroutable,
    SinkOptions,
)
from mqkit_spark.options.table import OptionTable

__all__ = [
    "SINK_OPTIONS",
    "STREAM_SINK_OPTIONS",
    "ConnectionOptions",
    "MessageIds",
    "OnBadRow",
    "OnUnroutable",
    "OptionTable",
    "SinkOptions",
]
