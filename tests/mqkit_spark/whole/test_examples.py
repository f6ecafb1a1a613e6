"""examples/spark: each is run whole, as a newcomer runs it, against a broker."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pika
import pytest

EXAMPLES = Path(__file__).resolve().parents[3] / "examples" / "spark"
NAMES = ("spark-flights", "spark-readings", "spark-unroutable")
PYTHON_LINES_MAX = 50
DEADLINE_S = 240

RUN_EACH = """
import runpy, sys
for line in sys.stdin.read().splitlines():
    sys.argv = line.split()
    runpy.run_path(sys.argv[0], run_name="__main__")
"""
"""One Python, so one JVM, for all of them."""

pytestmark = [pytest.mark.spark, pytest.mark.slow]


@pytest.fixture
def channel(broker_url: str) -> Iterator[Any]:
    """A channel on the broker that the examples publish to; what they declare goes afterwards."""
    with pika.BlockingConnection(pika.URLParameters(broker_url)) as connection:
        opened = connection.channel()
        yield opened
        for name in NAMES:
            opened.queue_delete(name)
            opened.exchange_delete(name)


def consume_all(channel: Any, queue: str) -> list[tuple[dict[str, Any], Any]]:
    """Every message that is ready: its body, which is JSON, and its properties."""
    got = []
    while (message := channel.basic_get(queue, auto_ack=True))[0] is not None:
        got.append((json.loads(message[2]), message[1]))
    return got


@pytest.mark.timeout(DEADLINE_S + 10)
def test_each_example_publishes_what_it_says(channel: Any, broker_url: str, tmp_path: Path) -> None:
    pytest.importorskip("pyspark")
    for path in EXAMPLES.glob("*.py"):
        code = [line for line in path.read_text().splitlines() if line.strip()]
        assert len(code) <= PYTHON_LINES_MAX, path
    lines = (
        f"{EXAMPLES / 'batch_sink.py'}",
        f"{EXAMPLES / 'enrich_and_publish.py'}",
        f"{EXAMPLES / 'stream_sink.py'} {tmp_path}",
    )
    done = subprocess.run(
        [sys.executable, "-c", RUN_EACH],
        input="\n".join(lines),
        env={**os.environ, "MQKIT_URL": broker_url, "PYSPARK_PYTHON": sys.executable},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=DEADLINE_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert "published 1000 of 1000 flights" in done.stdout
    flights = consume_all(channel, "spark-flights")
    enriched = [body for body, _ in flights if "usual_delay" in body]
    assert (len(flights), len(enriched)) == (2000, 1000)
    assert {properties.content_type for _, properties in flights} == {"application/json"}

    reports = [json.loads(line) for line in (tmp_path / "reports.jsonl").read_text().splitlines()]
    count = Counter[str]()
    for report in reports:
        count.update({name: report[name] for name in ("rows", "confirmed", "dead_lettered")})
    readings = consume_all(channel, "spark-readings")
    lost = consume_all(channel, "spark-unroutable")
    # A batch that was under way at the end may have published, and has no report.
    assert len(readings) >= count["confirmed"] > 0
    assert len(lost) >= count["dead_lettered"] > 0
    assert count["rows"] == count["confirmed"] + count["dead_lettered"]
    assert {body["value"] % 3 for body, _ in readings} == {0, 1}
    assert {body["value"] % 3 for body, _ in lost} == {2}
    assert all("x-mqkit-error" in properties.headers for _, properties in lost)
