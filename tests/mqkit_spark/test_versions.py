"""mqkit_spark.versions, and the package where PySpark has no data sources."""

from __future__ import annotations

import subprocess
import sys

import pyspark
import pytest

from mqkit.errors import ConfigurationError
from mqkit_spark import versions

OLD = """
import sys, types
import pyspark
pyspark.__version__ = "3.5.9"
sys.modules["pyspark.sql.datasource"] = None
import mqkit_spark
print(mqkit_spark.publish.__name__, mqkit_spark.batch_publisher.__name__)
for use in (lambda: mqkit_spark.register(None), lambda: mqkit_spark.AmqpDataSource):
    try:
        use()
    except Exception as error:
        print(type(error).__name__, error)
"""


def test_this_pyspark_has_everything() -> None:
    assert versions.without_data_sources() is None
    versions.require_streams()


@pytest.mark.parametrize(
    ("said", "number"), [("4.2.0", (4, 2)), ("4.10.1.dev3", (4, 10)), ("3.5.9", (3, 5))]
)
def test_versions_are_numbers(
    said: str, number: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pyspark, "__version__", said)
    assert versions.version() == number


def test_streams_of_an_older_one_are_refused_in_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pyspark, "__version__", "4.1.0")
    assert versions.without_data_sources() is None
    with pytest.raises(ConfigurationError, match=r"need pyspark 4\.2 or later, this is 4\.1\.0"):
        versions.require_streams()


def test_without_data_sources_the_functions_are_there_and_the_format_says_why_not() -> None:
    done = subprocess.run([sys.executable, "-c", OLD], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    functions, register, attribute = done.stdout.splitlines()
    assert functions == "publish batch_publisher"
    why = "format amqp needs pyspark 4.0 or later, this is 3.5.9: use mqkit_spark.publish"
    assert register.startswith(f"ConfigurationError {why}")
    assert attribute.startswith("AttributeError ")
    assert why in attribute
