"""The driver program of batch jobs: a job for each line of JSON on standard input, answered by a
line with the job's report. It ends with its input."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import mqkit_spark
from interop.spark_sink.faults import Fault
from interop.spark_sink.plan import Ids, Kind, Way
from interop.spark_sink.rows import BODY_SQL, KEY_SQL, PARTITIONS, ROWS
from interop.spark_sink.session import session

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def main() -> None:
    master, url, kind = sys.argv[1:]
    spark = session(master, speculates=Kind(kind) is Kind.SPECULATION)
    print(json.dumps({"ready": True}), flush=True)
    for line in sys.stdin:
        print(json.dumps(_publish(spark, url, Kind(kind), json.loads(line))), flush=True)
    spark.stop()


def _publish(spark: SparkSession, url: str, kind: Kind, job: dict[str, Any]) -> dict[str, Any]:
    fault = Fault(kind, tuple(job["faulty"]), job["after"], job["folder"])
    rows = _rows(spark, job["ids"]).mapInArrow(fault.run, _schema(job["ids"]))
    if job["way"] == Way.PUBLISH:
        report = mqkit_spark.publish(
            rows,
            url,
            exchange=job["exchange"],
            job_id=job["job_id"],
            message_ids=job["ids"],
            dedup=job["window"],
            deterministic=job["window"],
        )
        return report.to_dict()
    report_path = Path(job["folder"]) / "report.jsonl"
    rows.write.format("amqp").mode("append").options(
        url=url,
        exchange=job["exchange"],
        jobId=job["job_id"],
        messageIds=job["ids"],
        dedup=job["window"],
        deterministic=job["window"],
        reportPath=str(report_path),
    ).save()
    (line,) = report_path.read_text().splitlines()
    report_of_line: dict[str, Any] = json.loads(line)
    return report_of_line


def _rows(spark: SparkSession, ids: str) -> DataFrame:
    key = [f"{KEY_SQL} as message_id"] if ids == Ids.COLUMN else []
    return spark.range(0, ROWS, 1, PARTITIONS).selectExpr(f"{BODY_SQL} as body", *key)


def _schema(ids: str) -> str:
    return "body string, message_id string" if ids == Ids.COLUMN else "body string"


if __name__ == "__main__":
    main()
