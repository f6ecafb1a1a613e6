"""Log records as JSON: one object a line, with the fields of a message, and without its body."""

from __future__ import annotations

import json
import logging
import sys
from typing import Any

import pytest

from mqkit.json_log import FIELDS_MAX, TEXT_MAX, JsonFormatter
from mqkit.message import Delivery, Properties


def formatted(message: str = "hello", *arguments: object, **fields: Any) -> dict[str, Any]:
    """The record that a logger makes, formatted, and read again."""
    exc_info = fields.pop("exc_info", None)
    logger = logging.getLogger("mqkit.test")
    record = logger.makeRecord(
        logger.name, logging.WARNING, "x.py", 1, message, arguments, exc_info, extra=fields
    )
    line = JsonFormatter().format(record)
    assert "\n" not in line
    found: dict[str, Any] = json.loads(line, parse_constant=pytest.fail)
    return found


def test_a_record_is_its_time_level_logger_and_message() -> None:
    found = formatted("%d of\n%s", 2, "three")
    assert found.pop("time").endswith("+00:00")
    assert found == {"level": "WARNING", "logger": "mqkit.test", "message": "2 of\nthree"}


def test_fields_are_fields_and_those_without_a_value_are_left_out() -> None:
    found = formatted(queue="orders", message_id="m", attempt=2, trace_id=None, late=True)
    assert (found["queue"], found["message_id"], found["attempt"]) == ("orders", "m", 2)
    assert found["late"] is True
    assert "trace_id" not in found


def test_of_a_programs_own_fields_only_plain_values_are_shown() -> None:
    delivery = Delivery("", "q", b"secret", Properties(), 1, False)
    found = formatted(delivery=delivery, body=b"secret", rows=["secret"], ratio=0.5)
    assert "secret" not in json.dumps(found)
    assert (found["delivery"], found["body"], found["ratio"]) == ("<Delivery>", "<bytes>", 0.5)


def test_numbers_that_json_has_not_are_text() -> None:
    assert formatted(ratio=float("nan"), most=float("inf"))["ratio"] == "nan"


def test_a_field_does_not_take_the_place_of_the_records_own() -> None:
    assert formatted(level="fine", time="now", error="none")["level"] == "WARNING"


def test_an_exception_is_its_traceback() -> None:
    try:
        raise ValueError("no")
    except ValueError:
        found = formatted(exc_info=sys.exc_info())
    assert found["error"].startswith("Traceback")
    assert found["error"].endswith("ValueError: no")


def test_a_line_is_bounded() -> None:
    try:
        raise ValueError("x" * 3 * TEXT_MAX + " the end")
    except ValueError:
        trace = sys.exc_info()
    many = {f"field{number}": "y" * 2 * TEXT_MAX for number in range(2 * FIELDS_MAX)}
    found = formatted("z" * 2 * TEXT_MAX, exc_info=trace, **many)
    assert max(len(str(value)) for value in found.values()) == TEXT_MAX
    assert found["error"].endswith(" the end")
    assert sum(name.startswith("field") for name in found) == FIELDS_MAX


def test_text_that_is_no_unicode_is_shown() -> None:
    assert formatted(queue="\ud800")["queue"] == "\ud800"
