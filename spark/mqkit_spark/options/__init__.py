"""The options of jobs, typed and checked before a row is read.

table       options by their two names, from Python and from Spark
values      the text of an option, read
checks      values that can't be
connection  the broker: URL, file or variable, library, time to reach it
queue       a queue that is read
batch_read  a batch read's
stream_read a stream's
reads       those of a read, which may be a batch or a stream
sink        the sink's
"""

from mqkit_spark.options.batch_read import BATCH_READ_OPTIONS, AckMode, BatchReadOptions, Until
from mqkit_spark.options.connection import ConnectionOptions
from mqkit_spark.options.sink import (
    SINK_OPTIONS,
    STREAM_SINK_OPTIONS,
    MessageIds,
    OnBadRow,
    OnUnroutable,
    SinkOptions,
)
from mqkit_spark.options.stream_read import STREAM_READ_OPTIONS, StreamMode, StreamReadOptions
from mqkit_spark.options.table import OptionTable

__all__ = [
    "BATCH_READ_OPTIONS",
    "SINK_OPTIONS",
    "STREAM_READ_OPTIONS",
    "STREAM_SINK_OPTIONS",
    "AckMode",
    "BatchReadOptions",
    "ConnectionOptions",
    "MessageIds",
    "OnBadRow",
    "OnUnroutable",
    "OptionTable",
    "SinkOptions",
    "StreamMode",
    "StreamReadOptions",
    "Until",
]
