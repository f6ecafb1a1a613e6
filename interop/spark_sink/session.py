"""The Spark session of a driver program. Its environment is that of
:func:`interop.spark_sink.driver.environment`."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from interop.spark_cluster import WORKER_MEMORY
from interop.spark_sink.rows import ROWS_OF_BATCH

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ATTEMPTS_MAX = 8
"""All workers that publish are killed, so that a task may fail some times."""
LOCAL = f"local[2,{ATTEMPTS_MAX}]"


def session(master: str, *, speculates: bool = False) -> SparkSession:
    """In local mode with two cores; a cluster has its own."""
    from pyspark.sql import SparkSession

    builder = (
        SparkSession.builder.master(master)
        .appName("mqkit interop")
        .config("spark.ui.enabled", "false")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.executor.memory", WORKER_MEMORY)
        .config("spark.executorEnv.PYTHONPATH", os.environ["PYTHONPATH"])
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.sql.execution.arrow.maxRecordsPerBatch", str(ROWS_OF_BATCH))
    )
    if speculates:
        # Without a look at how many records a task has done: a task that waits has done most.
        builder = (
            builder.config("spark.speculation", "true")
            .config("spark.speculation.interval", "100ms")
            .config("spark.speculation.quantile", "0.5")
            .config("spark.speculation.multiplier", "1.1")
            .config("spark.speculation.efficiency.enabled", "false")
        )
    found = builder.getOrCreate()
    found.sparkContext.setLogLevel("ERROR")
    return found
