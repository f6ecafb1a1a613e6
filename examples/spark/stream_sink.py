"""A stream into a queue: readings, as Spark's rate source makes them, for a few seconds.

    MQKIT_URL=amqp://guest:guest@127.0.0.1:5672/ python examples/spark/stream_sink.py FOLDER

FOLDER keeps the checkpoint: start it again, and it goes on with the next batch. A batch that it was
killed in is published again under the same ids.
"""

import sys
from pathlib import Path

from pyspark.sql import SparkSession

HERE = Path(__file__).resolve().parent
FOLDER = Path(sys.argv[1])
BATCHES = 3

spark = SparkSession.builder.master("local[2]").getOrCreate()
readings = spark.readStream.format("rate").option("rowsPerSecond", 20).load()

query = (
    readings.selectExpr(
        "to_json(struct(value, timestamp)) as body",
        "concat('sensor.', value % 3) as routing_key",
        "concat('reading-', value) as message_id",
    )
    .writeStream.format("amqp")
    .option("urlEnv", "MQKIT_URL")
    .option("topology", str(HERE / "topology.yaml"))
    .option("exchange", "spark-readings")
    .option("onUnroutable", "deadletter")
    .option("deadLetterExchange", "spark-unroutable")
    .option("reportPath", str(FOLDER / "reports.jsonl"))
    .option("checkpointLocation", str(FOLDER / "checkpoint"))
    .start()
)
first = None
while query.isActive:
    progress = query.lastProgress
    if progress is not None:
        first = progress["batchId"] if first is None else first
        if progress["batchId"] >= first + BATCHES:
            break
    query.awaitTermination(1)
query.stop()
if query.exception() is not None:
    raise SystemExit(str(query.exception()))
