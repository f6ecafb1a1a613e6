"""Read records, add what is known of their airports, and publish the result, with counts.

MQKIT_URL=amqp://guest:guest@127.0.0.1:5672/ python examples/spark/enrich_and_publish.py
"""

import os
from pathlib import Path

from pyspark.sql import SparkSession

import mqkit_spark

HERE = Path(__file__).resolve().parent
FLIGHTS = HERE.parent / "flights" / "flights-20k.json"

spark = SparkSession.builder.master("local[2]").getOrCreate()
flights = spark.read.json(str(FLIGHTS)).limit(1000)
delays = flights.groupBy("origin").avg("delay").withColumnRenamed("avg(delay)", "usual_delay")

messages = flights.join(delays, "origin").selectExpr(
    "to_json(struct(*)) as body",
    "concat(origin, '.', destination) as routing_key",
    "sha2(to_json(struct(*)), 256) as message_id",
)

report = mqkit_spark.publish(
    messages,
    os.environ["MQKIT_URL"],
    topology=str(HERE / "topology.yaml"),
    exchange="spark-flights",
    content_type="application/json",
    max_publishers=2,
)
print(f"published {report.confirmed} of {report.rows} flights")
