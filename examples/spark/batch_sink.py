"""A DataFrame into a queue: flight records, each confirmed by the broker.

MQKIT_URL=amqp://guest:guest@127.0.0.1:5672/ python examples/spark/batch_sink.py
"""

from pathlib import Path

from pyspark.sql import SparkSession

HERE = Path(__file__).resolve().parent
FLIGHTS = HERE.parent / "flights" / "flights-20k.json"

spark = SparkSession.builder.master("local[2]").getOrCreate()
flights = spark.read.json(str(FLIGHTS)).limit(1000)

(
    flights.selectExpr(
        "to_json(struct(*)) as body",
        "concat(origin, '.', destination) as routing_key",
        "sha2(to_json(struct(*)), 256) as message_id",
    )
    .write.format("amqp")
    .mode("append")
    .option("urlEnv", "MQKIT_URL")  # the URL has a password: it stays out of Spark's plans
    .option("topology", str(HERE / "topology.yaml"))
    .option("exchange", "spark-flights")
    .option("contentType", "application/json")
    .save()
)
