"""`--trace`: what the commands publish stays in the trace that its message was created in."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pika
import pytest
from sqlalchemy import create_engine
from sqlalchemy.orm import Session

from mqkit import outbox
from mqkit.retry.headers import PARKED_AT, QUEUE

Commands = Callable[..., list[str]]

CREATED = "0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331"
"""Trace and span that the message was created in."""
TRACEPARENT = f"00-{CREATED}-01"

COMMANDS = """
import shlex, sys
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import ConsoleSpanExporter, SimpleSpanProcessor
from mqkit_cli.app import app

provider = TracerProvider()
ids = lambda c: f"{c.trace_id:032x}-{c.span_id:016x}"
under = lambda s: ids(s.parent) if s.parent else "nothing"
links = lambda s: "".join(f" linked to {ids(link.context)}" for link in s.links)
line = lambda s: f"{s.name} {s.kind.name} under {under(s)}{links(s)}\\n"
exporter = ConsoleSpanExporter(out=sys.stderr, formatter=line)
provider.add_span_processor(SimpleSpanProcessor(exporter))
trace.set_tracer_provider(provider)
for command in sys.argv[1:]:
    app(shlex.split(command), prog_name="mqkit", standalone_mode=False)
"""
"""Commands under a provider, as ``opentelemetry-instrument`` starts one; their spans are lines."""


@pytest.fixture
def spans_of(broker: Any, clean_environment: dict[str, str], tmp_path: Path) -> Commands:
    """Run commands in one process, and give the lines of their spans."""

    def run(*commands: str) -> list[str]:
        ran = subprocess.run(
            [sys.executable, "-c", COMMANDS, *commands],
            cwd=tmp_path,
            env={**clean_environment, "MQKIT_URL": broker.url},
            capture_output=True,
            text=True,
        )
        assert ran.returncode == 0, ran.stderr
        return [line for line in ran.stderr.splitlines() if line.startswith("send ")]

    return run


@pytest.fixture
def queue(broker: Any, unique: Callable[[str], str]) -> str:
    """A queue, and its lot with one message that was parked long ago."""
    name, lot = unique("orders"), unique("orders.parked")
    headers = {
        "traceparent": TRACEPARENT,
        PARKED_AT: (datetime.now(UTC) - timedelta(hours=2)).isoformat(),
        QUEUE: name,
    }
    with pika.BlockingConnection(pika.URLParameters(broker.url)) as connection:
        channel = connection.channel()
        for each in (name, lot):
            channel.queue_declare(each, durable=True)
        channel.confirm_delivery()
        channel.basic_publish("", lot, b"7", pika.BasicProperties(headers=headers))
    return name


def test_a_message_stays_in_its_trace_out_of_a_lot_into_a_file_and_back(
    spans_of: Commands, queue: str, tmp_path: Path
) -> None:
    (tmp_path / "lots.yaml").write_text(
        f"queues: {{{queue}: {{retry: {{after: [10ms]}}}}}}\n"
        f"lots: {{{queue}.parked: {{replay: {{every: 1h, at_most: 3}}}}}}"
    )
    lot = f"{queue}.parked"
    assert spans_of(
        "lots run -f lots.yaml --once --trace",
        f"dlq move {queue} {lot} --lot {queue} --trace",
        f"dlq archive {lot} --to there.jsonl.gz",
        "dlq restore there.jsonl.gz --trace",
        f"dlq replay {lot} --to {queue} --trace",
    ) == [
        f"send {to} CLIENT under {CREATED} linked to {CREATED}" for to in (queue, lot, lot, queue)
    ]


def test_what_is_published_is_in_the_trace_that_its_header_or_row_has(
    spans_of: Commands, queue: str, tmp_path: Path
) -> None:
    database = f"sqlite:///{tmp_path / 'shop.db'}"
    engine = create_engine(database)
    outbox.metadata.create_all(engine)
    with Session(engine) as session, session.begin():
        outbox.publish(session, "", queue, b"7", headers={"traceparent": TRACEPARENT})
    engine.dispose()
    assert spans_of(
        f"outbox run --once --database {database} --trace",
        f"publish '' {queue} 7 --header traceparent={TRACEPARENT} --trace",
    ) == [
        f"send {queue} CLIENT under {CREATED} linked to {CREATED}",
        f"send {queue} CLIENT under nothing linked to {CREATED}",  # as a batch is
    ]
