"""The package itself, where PySpark is not installed."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable

import pytest

LINE = "ImportError: mqkit_spark: {} is not installed; run: pip install 'mqkit[spark]'"


@pytest.mark.parametrize("missing", ["pyspark", "pyarrow"])
def test_without_its_packages_one_line_names_the_extra(
    without: Callable[..., dict[str, str]], missing: str
) -> None:
    for module in ("mqkit_spark", "mqkit_spark.sink.report"):
        done = subprocess.run(
            [sys.executable, "-c", f"import {module}"],
            capture_output=True,
            text=True,
            env=without(missing),
            check=False,
        )
        assert done.returncode == 1
        assert done.stderr.count("Traceback") == 1  # no error before it
        assert done.stderr.splitlines()[-1] == LINE.format(missing)


def test_a_missing_module_of_ours_is_a_defect() -> None:
    pytest.importorskip("pyspark")
    code = "import sys; sys.modules['mqkit_spark.columns.rows'] = None; import mqkit_spark"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "ModuleNotFoundError: import of mqkit_spark.columns.rows halted" in done.stderr
    assert "pip install" not in done.stderr
