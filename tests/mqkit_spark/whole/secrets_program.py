"""A job that does all that is done with a broker's URL, well and badly, with all that Spark writes
down about it turned on. Run by test_secrets.py in a process of its own:

    secrets_program.py classic|connect OPTION VALUE QUEUE FOLDER UI_PORT [ENVIRONMENT_NAME]

Its output has Spark's log, the plans and the errors; in FOLDER are the event log, and the pages and
answers of the UI.
"""

from __future__ import annotations

import sys
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def session(kind: str, folder: Path, ui_port: str, name: str | None, value: str) -> SparkSession:
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.appName("secrets")
    builder = builder.remote("local[1]") if kind == "connect" else builder.master("local[1]")
    settings = {
        "spark.log.level": "INFO",
        "spark.driver.host": "127.0.0.1",
        "spark.ui.enabled": "true",
        "spark.ui.port": ui_port,
        "spark.eventLog.enabled": "true",
        "spark.eventLog.compress": "false",
        "spark.eventLog.dir": folder.as_uri(),
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
    }
    if name is not None:
        settings[f"spark.executorEnv.{name}"] = value
    for key, setting in settings.items():
        builder = builder.config(key, setting)
    return builder.getOrCreate()


def attempt(name: str, action: Callable[[], Any]) -> None:
    print(f"\n#### {name}", flush=True)
    try:
        print(action())
    except Exception as error:  # noqa: BLE001 - its words are what is looked at
        print(f"failed: {error}", flush=True)


def jobs(spark: SparkSession, option: str, value: str, queue: str, folder: Path) -> None:
    """Writes, reads and streams that succeed, and that fail in each place where they can."""
    import mqkit_spark

    mqkit_spark.register(spark)
    here = {option: value}
    keyword = {"url": "url", "urlFile": "url_file", "urlEnv": "url_env"}[option]
    place: dict[str, Any] = {keyword: value}
    rows = spark.range(10).selectExpr("cast(id as string) as body")

    def save(**options: str) -> None:
        rows.write.format("amqp").mode("append").options(**here, **options).save()

    def load(**options: str) -> Any:
        return spark.read.format("amqp").options(**here, **options).load()

    def sql(kind: str, name: str) -> Any:
        pairs = f"{option} '{value}', queue '{queue}'"
        spark.sql(f"CREATE {kind} {name} USING amqp OPTIONS ({pairs})")
        count = spark.table(name).count()
        if kind == "TABLE":
            spark.sql(f"DESCRIBE EXTENDED {name}").show(100, False)
            spark.sql(f"SHOW CREATE TABLE {name}").show(100, False)
        return count

    attempt("save", lambda: save(routingKey=queue))
    attempt("save, a task fails", lambda: save(routingKey="no-such-queue"))
    attempt("save, refused", lambda: save(routingKei=queue))
    attempt("publish", lambda: mqkit_spark.publish(rows, routing_key=queue, **place))
    attempt("load", lambda: load(queue=queue).count())
    attempt("load, plans", lambda: load(queue=queue).where("priority = 1").explain(True))
    attempt("load, no queue", lambda: load(queue="no-such-queue").count())
    attempt("table", lambda: sql("TABLE", "of_amqp"))
    attempt("view", lambda: sql("TEMPORARY VIEW", "seen"))

    def stream(name: str, **options: str) -> str:
        spool = (folder / f"spool-{name}").as_uri()
        reader = spark.readStream.format("amqp").options(**here, queue=queue, spoolLocation=spool)
        writer = reader.load().select("body").writeStream
        writer = writer.option("checkpointLocation", str(folder / f"checkpoint-{name}"))
        if options:
            writer = writer.format("amqp").options(**here, **options)
        else:
            # Over Connect its tasks are not told of which query they are.
            publish = mqkit_spark.batch_publisher(routing_key=queue, job_id=name, **place)
            writer = writer.foreachBatch(publish)
        query = writer.trigger(availableNow=True).start()
        query.awaitTermination()
        return f"{load(queue=queue).count()} rows are back"

    # What a stream has taken is in its spool folder: those that fail come last.
    attempt("start", lambda: stream("sink", routingKey=queue))
    attempt("start, for each batch", lambda: stream("function"))
    attempt("start, a task fails", lambda: stream("failing", routingKey="no-such-queue"))
    attempt("start, refused", lambda: stream("refused", routingKei=queue))


def look(spark: SparkSession, kind: str, folder: Path, ui_port: str) -> None:
    """Keep what the UI shows, by its pages and by its REST interface."""
    base = f"http://127.0.0.1:{ui_port}"
    with urllib.request.urlopen(f"{base}/api/v1/applications") as answer:
        text = answer.read().decode()
    application = text.partition('"id" : "')[2].partition('"')[0]
    api = f"/api/v1/applications/{application}"
    places = ["/environment/", "/jobs/", "/stages/", "/executors/", "/SQL/", "/storage/"]
    places += [f"{api}/{name}" for name in ("environment", "jobs", "stages", "allexecutors")]
    places += [f"{api}/sql?details=true&planDescription=true&length=100"]
    places += [f"/SQL/execution/?id={number}" for number in range(25)]
    places += [f"/jobs/job/?id={number}" for number in range(25)]
    if kind == "connect":
        places.append("/connect/")
    for number, place in enumerate(places):
        try:
            with urllib.request.urlopen(base + place) as answer:
                page = f"{place}\n{answer.read().decode()}"
        except urllib.error.HTTPError as error:
            page = f"{place}\n{error.code}"
        (folder / f"page-{number}").write_text(page)


def main(
    kind: str,
    option: str,
    value: str,
    queue: str,
    folder: str,
    ui_port: str,
    name: str | None = None,
    environment: str = "",
) -> None:
    place = Path(folder)
    spark = session(kind, place, ui_port, name, environment)
    jobs(spark, option, value, queue, place)
    look(spark, kind, place, ui_port)
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
