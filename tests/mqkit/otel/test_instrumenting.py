"""Switching spans on: once, before the app runs, and with one line where the extra is missing."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest
from sqlalchemy import create_engine
from sqlalchemy.orm import Session

from mqkit import App, ConfigurationError, otel, outbox
from mqkit.lots import LotLink
from mqkit.url import parse


def test_an_app_is_instrumented_once() -> None:
    app = App("amqp://127.0.0.1/")
    otel.instrument(app)
    with pytest.raises(ConfigurationError, match="traced already"):
        otel.instrument(app)


def test_an_outbox_is_instrumented_once_until_it_is_undone(spans: Any) -> None:
    engine = create_engine("sqlite://")
    outbox.metadata.create_all(engine)
    undo = otel.instrument_outbox(tracer_provider=spans.provider, propagator=spans.propagator)
    try:
        with pytest.raises(ConfigurationError, match="traced already"):
            otel.instrument_outbox()
        with Session(engine) as session:
            row = outbox.publish(session, "orders", "placed", "7")
            session.commit()
            assert "traceparent" in row.headers
    finally:
        undo()
    with Session(engine) as session:
        assert "traceparent" not in outbox.publish(session, "orders", "placed", "7").headers
    assert len(spans.ended) == 1
    otel.instrument_outbox()()


def test_a_link_to_lots_is_another_one_that_is_traced() -> None:
    link = LotLink(parse("amqp://127.0.0.1/"))
    traced = otel.traced(link)
    assert traced.publish_over is not link.publish_over
    assert traced.endpoint == link.endpoint


def test_where_the_extra_is_missing_one_line_says_so(
    without: Callable[..., dict[str, str]],
) -> None:
    ran = subprocess.run(
        [sys.executable, "-c", "from mqkit import otel; otel.instrument"],
        env=without("opentelemetry"),
        capture_output=True,
        text=True,
    )
    line = "opentelemetry is not installed; run: pip install 'mqkit[otel]'"
    assert ran.stderr.splitlines()[-1] == f"ModuleNotFoundError: {line}"


def test_spans_load_neither_a_database_nor_the_sdk_nor_the_work_by_the_clock() -> None:
    heavy = ("sqlalchemy", "opentelemetry.sdk", "mqkit.lots.clock.run")
    program = (
        "import mqkit.otel; mqkit.otel.instrument_outbox(); mqkit.otel.instrument(mqkit.App());"
        f"import sys; print(*(m for m in sys.modules if m in {heavy}))"
    )
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (ran.stdout.strip(), ran.stderr) == ("", "")


def test_an_app_that_is_not_instrumented_loads_no_opentelemetry() -> None:
    program = (
        "import mqkit, mqkit.outbox.writing; mqkit.App(); import sys;"
        "print(*(m for m in sys.modules if m.startswith(('opentelemetry', 'mqkit.otel'))))"
    )
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (ran.stdout.strip(), ran.stderr) == ("", "")
