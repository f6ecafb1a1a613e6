"""Log records as JSON, one object a line, for whatever collects logs. Standard library only.

    handler = logging.StreamHandler()
    handler.setFormatter(mqkit.json_log.JsonFormatter())
    logging.basicConfig(level=logging.INFO, handlers=[handler])

Fields that are given by ``extra=`` are fields of the object; mqkit gives ``queue``, ``message_id``,
``attempt`` and ``trace_id`` with each record about a message. Nothing of mqkit's puts a body there,
and of what a program gives only text, numbers and truth values are shown: a delivery or a model
would bring its contents along.
"""

from __future__ import annotations

import json
import logging
import math
from datetime import UTC, datetime

TEXT_MAX = 8192
"""Characters of one text: a message, a field, a traceback. A collector cuts long lines anyway, and
then they are no JSON."""

FIELDS_MAX = 50
"""Fields of ``extra`` that are shown."""

_OWN = frozenset({*vars(logging.makeLogRecord({})), "message", "asctime", "taskName"})
"""The attributes of every record."""

_NAMES = ("time", "level", "logger", "message", "error")


class JsonFormatter(logging.Formatter):
    """Give it to a handler's ``setFormatter``; it takes no format."""

    def __init__(self) -> None:
        super().__init__()

    def format(self, record: logging.LogRecord) -> str:
        """The record as one line. A field without a value is left out."""
        shown: dict[str, object] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname,
            "logger": record.name,
            "message": _text(record.getMessage()),
        }
        given = (name for name in vars(record) if name not in _OWN and name not in _NAMES)
        for _, name in zip(range(FIELDS_MAX), given, strict=False):
            if (value := _shown(getattr(record, name))) is not None:
                shown[name] = value
        if record.exc_info:
            shown["error"] = _end_of(self.formatException(record.exc_info))
        return json.dumps(shown)


def _shown(value: object) -> object:
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int | float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, str):
        return _text(value)
    return f"<{type(value).__qualname__}>"


def _text(text: str) -> str:
    return text if len(text) <= TEXT_MAX else text[: TEXT_MAX - 3] + "..."


def _end_of(trace: str) -> str:
    """A traceback ends in its error, so the beginning is what is cut off."""
    return trace if len(trace) <= TEXT_MAX else "..." + trace[3 - TEXT_MAX :]
