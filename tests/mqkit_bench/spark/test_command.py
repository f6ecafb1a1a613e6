"""mqkit_bench.spark: who competes where, and runs of the commands with few rows."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import typer

from mqkit_bench.spark.command import brokers, check_can_run, chosen
from mqkit_bench.spark.contestant import CONTESTANTS


def test_contestants_and_brokers_by_name() -> None:
    assert chosen([]) == list(CONTESTANTS)
    assert [each.name for each in chosen(["raw", "mqkit: df"])] == [
        'mqkit: df.write.format("amqp")',
        "raw sockets, pre-encoded, no Spark",
    ]
    with pytest.raises(typer.BadParameter, match="no contestant 'kombu', but these: mqkit"):
        chosen(["raw", "kombu"])
    assert brokers([]) == ["reference", "rabbitmq"]
    assert brokers(["rabbitmq"]) == ["rabbitmq"]
    with pytest.raises(typer.BadParameter, match="no broker 'lavin', but these: reference, rabb"):
        brokers(["lavin"])


def test_rows_that_are_not_there_are_asked_for(tmp_path: Path) -> None:
    with pytest.raises(typer.BadParameter, match="give another with --path"):
        check_can_run(tmp_path / "none.parquet")


def bench(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "mqkit_cli", "bench", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=280, check=False)


@pytest.fixture
def rows(tmp_path: Path) -> Path:
    path = tmp_path / "few.parquet"
    pq.write_table(pa.table({"delay": list(range(500)), "origin": ["DTW"] * 500}), path)
    return path


@pytest.mark.spark
@pytest.mark.slow
@pytest.mark.timeout(300)
def test_all_contestants_play_on_the_reference_broker(tmp_path: Path, rows: Path) -> None:
    file = tmp_path / "figures.json"
    result = bench(
        *("spark", "--path", str(rows), "--rows", "400", "--rounds", "1", "--seconds", "1"),
        *("--broker", "reference", "--json", str(file)),
    )
    assert result.returncode == 0, result.stderr
    assert result.stdout.startswith("400 rows of few.parquet as JSON")
    standings = json.loads(file.read_text())
    assert [each["name"] for each in standings] == [each.name for each in CONTESTANTS]
    moved = {each["name"]: each["rounds"][0]["rows"] for each in standings}
    assert all(moved[each.name] == 400 for each in CONTESTANTS if each.plays_all)
    assert all(0 < each <= 400 for each in moved.values())


@pytest.mark.spark
@pytest.mark.slow
@pytest.mark.timeout(300)
def test_the_memory_of_a_worker_is_printed_for_both_ways(tmp_path: Path, rows: Path) -> None:
    file = tmp_path / "figures.json"
    result = bench("spark-memory", "--path", str(rows), "--rows", "500", "--json", str(file))
    assert result.returncode == 0, result.stderr
    peaks = json.loads(file.read_text())
    assert [(each["direction"], each["rows"]) for each in peaks] == [
        *(("sink", 50), ("sink", 500), ("source", 50), ("source", 500)),
    ]
    assert all(each["peak_rss_mib"] > 10 for each in peaks)
    assert "| source | 500 |" in result.stdout
