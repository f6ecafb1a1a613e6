"""The driver's program: the query, until SIGTERM; with ``--until-empty`` an ``AvailableNow`` one.

``python -m interop.spark_stream.query FILE`` takes the options of Spark and of the source, and the
folder of the result, from a file of JSON.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
from pathlib import Path

LOOK_AGAIN_S = 1


def main() -> None:
    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    from pyspark.sql import SparkSession

    from mqkit_spark import register

    given = json.loads(Path(sys.argv[1]).read_text())
    is_ending = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: is_ending.set())
    builder = SparkSession.builder.master(given["master"]).appName("mqkit spark stream")
    for name, value in given["spark"].items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    register(spark)
    rows = spark.readStream.format("amqp").options(**given["source"]).load()
    writer = rows.select("message_id", "body").writeStream.format("parquet")
    writer = writer.option("path", given["result"]).option(
        "checkpointLocation", given["checkpoint"]
    )
    if "--until-empty" in sys.argv:
        writer.trigger(availableNow=True).start().awaitTermination()
    else:
        query = writer.trigger(processingTime="100 milliseconds").start()
        # Raises the query's error, which ends this process with 1.
        while not is_ending.is_set() and not query.awaitTermination(LOOK_AGAIN_S):
            pass
        query.stop()
    spark.stop()


if __name__ == "__main__":
    main()
