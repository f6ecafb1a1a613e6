"""Workers with nothing but PySpark, pyarrow, what these two want, and mqkit's archive."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import venv
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.timeout(1800)]

HERE = Path(__file__).parent
OF_THE_CLUSTER = (
    *("pyspark", "py4j", "pyarrow", "pandas", "numpy", "numpy.libs"),
    *("dateutil", "pytz", "tzdata", "six.py"),
)
"""PySpark 4.3 wants these for its data sources, and no other."""


@pytest.fixture
def broker(reference_broker: Any) -> Any:
    """One broker is enough: what differs here is what workers can import."""
    return reference_broker


@pytest.fixture(scope="module")
def bare_python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A Python in whose packages there is that, and nothing of this repository."""
    if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
        pytest.skip("there is no Java on this machine (Spark needs 17 or later)")
    pyspark = pytest.importorskip("pyspark")
    pytest.importorskip("pandas")
    folder = tmp_path_factory.mktemp("bare")
    venv.create(folder, symlinks=True)
    (packages,) = folder.glob("lib/python*/site-packages")
    installed = Path(pyspark.__file__).parent.parent
    for name in OF_THE_CLUSTER:
        if (installed / name).exists():
            (packages / name).symlink_to(installed / name)
    return folder / "bin" / "python"


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from mqkit_spark.archive import package_zip

    return Path(package_zip(tmp_path_factory.mktemp("archive") / "mqkit.zip"))


def run(kind: str, python: Path, archive: Path, url: str, queue: str, folder: Path) -> Any:
    driver = python if kind == "classic" else Path(sys.executable)
    kept = {name: text for name, text in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(
        [driver, HERE / "cluster_program.py", kind, archive, url, queue],
        capture_output=True,
        text=True,
        check=False,
        cwd=folder,
        env={
            **kept,
            "SPARK_TESTING": "1",
            "PYSPARK_PYTHON": str(python),
            "PYSPARK_DRIVER_PYTHON": str(driver),
        },
    )
    assert done.returncode == 0, done.stderr[-5000:]
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.parametrize("kind", ["classic", "connect"])
def test_the_archive_is_all_that_workers_need(
    kind: str, bare_python: Path, archive: Path, broker_url: str, target: Any, tmp_path: Path
) -> None:
    if kind == "connect" and find_spec("grpc_status") is None:
        pytest.skip("Spark Connect is not installed (pip install 'pyspark[connect]')")
    found = run(kind, bare_python, archive, broker_url, target.name, tmp_path)
    assert found["confirmed"] == 100
    assert found["bodies"] == sorted([*range(100)] * 2)
    assert len(found["headers"]) >= 75
    assert '{"n":{"$amqp":"long","value":0}}' in found["headers"]
    assert found["left"] == 50
    worker = found["worker"]
    assert archive.name in worker["file"]
    assert worker["version"] == "0.1.0"
    assert worker["there"] == []
    no_queue, not_there, no_mode = found["errors"]
    assert "option queue is missing" in no_queue
    assert "404 NOT_FOUND - no queue 'no-such-queue'" in not_there
    assert "option ackMode: expected one of peek, onread, not 'x'" in no_mode
