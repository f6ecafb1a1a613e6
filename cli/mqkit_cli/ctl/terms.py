"""Values of the management API as rabbitmqctl prints them: Erlang's way, on one line."""

from __future__ import annotations

from typing import Any

_ESCAPES = {ord("\n"): "\\n", ord("\r"): "\\r", ord("\t"): "\\t"}


def cell(value: Any) -> str:
    """A column of a table: text as it is (but never on two lines), nothing for null."""
    if value is None:
        return ""
    if isinstance(value, str):
        return value.translate(_ESCAPES)
    return term(value)


def term(value: Any) -> str:
    """A value inside another one."""
    if isinstance(value, bool) or value is None:
        return {True: "true", False: "false", None: "undefined"}[value]
    if isinstance(value, dict):
        pairs = (f"{{{_quoted(key)},{term(each)}}}" for key, each in value.items())
        return f"[{','.join(pairs)}]"
    if isinstance(value, list):
        return f"[{','.join(map(term, value))}]"
    return _quoted(value) if isinstance(value, str) else str(value)


def atoms(values: list[str]) -> str:
    """Tags: a list of names, without quotes."""
    return f"[{', '.join(values)}]"


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').translate(_ESCAPES)
    return f'"{escaped}"'
