"""pyspark_mqkit: Spark finds the format by itself, and a broken install breaks nothing else."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def run(code: str, environment: Mapping[str, str] | None = None) -> str:
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=environment, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_the_shim_has_the_data_source() -> None:
    pytest.importorskip("pyspark")
    code = "import pyspark_mqkit; print(pyspark_mqkit.DefaultSource.name())"
    assert run(code) == "amqp"


def test_the_shim_does_not_raise_where_nothing_else_can_be_imported() -> None:
    code = (
        "import sys; sys.modules['mqkit_spark'] = None\n"
        "import pyspark_mqkit; print(hasattr(pyspark_mqkit, 'DefaultSource'))"
    )
    assert run(code) == "False"


def test_the_shim_tells_why_it_has_no_data_source(
    without: Callable[..., dict[str, str]],
) -> None:
    code = (
        "import pyspark_mqkit; print(hasattr(pyspark_mqkit, 'DefaultSource'))\n"
        "try:\n    pyspark_mqkit.DefaultSource\nexcept AttributeError as error: print(error)"
    )
    assert run(code, without("pyspark")).splitlines() == [
        "False",
        "module 'pyspark_mqkit' has no attribute 'DefaultSource' (mqkit_spark: pyspark is not"
        " installed; run: pip install 'mqkit[spark]')",
    ]


def test_importing_opens_nothing_and_needs_neither_cli_nor_broker() -> None:
    pytest.importorskip("pyspark")
    code = (
        "import sys, threading, mqkit_spark\n"
        "print(threading.active_count(), *sorted({'reference_broker', 'typer', 'rich',"
        " 'starlette', 'aio_pika'} & set(sys.modules)))"
    )
    assert run(code) == "1"


@pytest.mark.spark
@pytest.mark.slow
def test_spark_finds_the_format_without_being_told(
    spark: SparkSession, broker_url: str, target: Any
) -> None:
    fresh = spark.newSession()  # nothing is registered there
    df = fresh.sql("select 'found' as body")
    write = df.write.format("amqp").mode("append").option("url", broker_url)
    write.option("routingKey", target.name).save()
    assert [body for _, body, _ in target.consume_all()] == [b"found"]
