"""The versions of PySpark that the parts of this package need."""

from __future__ import annotations

import re

import pyspark

from mqkit.errors import ConfigurationError

DATA_SOURCES_SINCE = (4, 0)
STREAMS_SINCE = (4, 2)


def without_data_sources() -> str | None:
    """The reason why ``format("amqp")`` can't be had with this PySpark; ``None`` where it can."""
    if version() >= DATA_SOURCES_SINCE:
        return None
    return (
        f"format amqp needs pyspark 4.0 or later, this is {pyspark.__version__}: use"
        " mqkit_spark.publish, or mqkit_spark.batch_publisher with foreachBatch"
    )


def require_streams() -> None:
    """Raises :exc:`~mqkit.errors.ConfigurationError` where PySpark is too old for streams of the
    data source API."""
    if version() < STREAMS_SINCE:
        raise ConfigurationError(
            f"streams of format amqp need pyspark 4.2 or later, this is {pyspark.__version__}:"
            " write with foreachBatch and mqkit_spark.batch_publisher"
        )


def version() -> tuple[int, int]:
    """Major and minor number of the PySpark that is installed."""
    major, minor, *_ = re.findall(r"\d+", pyspark.__version__)
    return int(major), int(minor)
