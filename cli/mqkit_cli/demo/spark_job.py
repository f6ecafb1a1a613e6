"""The demo's Spark job: ``python -m mqkit_cli.demo.spark_job RECORDS QUEUE``, the URL in MQKIT_URL.

Reads lines of ``{"message_id": ..., "body": ...}`` into a DataFrame, publishes it to the queue with
:func:`mqkit_spark.publish`, and prints the report as one line of JSON, the last on stdout.
"""

from __future__ import annotations

import json
import os
import sys
from dataclasses import asdict
from pathlib import Path

CORES = 2


def run(records: Path, queue: str, url: str) -> str:
    """The report of the job, as JSON. Raises Spark's own error when the job fails."""
    # Without these a worker may be another python3 from PATH, which has no pyarrow.
    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    from pyspark.sql import SparkSession

    import mqkit_spark

    spark = (
        SparkSession.builder.master(f"local[{CORES}]")
        .appName("mqkit demo")
        .config("spark.ui.enabled", "false")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.sql.warehouse.dir", str(records.parent / "spark-warehouse"))
        .config("spark.local.dir", str(records.parent / "spark-local"))
        .getOrCreate()
    )
    try:
        df = spark.read.schema("message_id string, body string").json(str(records))
        report = mqkit_spark.publish(
            df.repartition(CORES),
            url,
            exchange="",
            routing_key=queue,
            content_type="application/json",
            job_id="mqkit-demo",
        )
    finally:
        spark.stop()
    return json.dumps(asdict(report))


if __name__ == "__main__":
    print(run(Path(sys.argv[1]), sys.argv[2], os.environ["MQKIT_URL"]))
