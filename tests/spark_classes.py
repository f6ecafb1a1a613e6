"""An archive of the classes that Spark loads. Each JVM of the tests maps it, and need not load,
verify and link them one by one: a session starts with 9 s of CPU and not 15 (Java's class data
sharing, JEP 350).

    python -m tests.spark_classes ARCHIVE

A JVM passes over an archive that is not of its own build and class path, and one that is not there.
Where there is no Java, none is made. 150 MB.
"""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

QUIET = "-Xlog:disable -Xlog:all=error:stderr"
"""A JVM tells its output otherwise which classes an archive can't have."""


def make(archive: Path) -> None:
    """Run a job, and have its JVM write the archive when it ends. Raises what Spark raises."""
    part = archive.with_suffix(".part")
    part.unlink(missing_ok=True)
    options = os.environ.get("SPARK_SUBMIT_OPTS", "")
    os.environ["SPARK_SUBMIT_OPTS"] = f"{options} -XX:ArchiveClassesAtExit={part} {QUIET}"
    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master("local[2]").config("spark.driver.host", "127.0.0.1")
    spark = builder.config("spark.ui.enabled", "false").getOrCreate()
    context = spark.sparkContext
    rows = spark.range(100).selectExpr("id", "cast(id as string) as body")
    rows.mapInPandas(lambda frames: frames, rows.schema).groupBy("body").count().collect()
    gateway = context._gateway
    assert gateway is not None
    spark.stop()
    gateway.shutdown()
    gateway.proc.stdin.close()  # its JVM ends with that
    gateway.proc.wait()
    part.replace(archive)


if __name__ == "__main__":
    if shutil.which("java") is not None or "JAVA_HOME" in os.environ:
        make(Path(sys.argv[1]).resolve())
