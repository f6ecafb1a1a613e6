"""JSON values as Erlang prints them (``~p``): how RabbitMQ's texts show what they refuse.

Long terms are cut, and stay on one line where Erlang breaks them at 80 columns.
"""

from __future__ import annotations

from typing import Any

SHOWN_CHARACTERS = 1_000
"""Of a term in a text: a request may have megabytes in one."""

_DEPTH = 8
"""Deeper values are shown as ``...``, as Erlang does it too."""

_ESCAPES = {"\n": "\\n", "\r": "\\r", "\t": "\\t", '"': '\\"', "\\": "\\\\"}


def erlang_term(value: Any) -> str:
    """A value that came out of JSON, as a term."""
    text = _term(value, _DEPTH)
    return text if len(text) <= SHOWN_CHARACTERS else f"{text[:SHOWN_CHARACTERS]}..."


def _term(value: Any, depth: int) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case int():
            return str(value)
        case float():
            return _float(value)
        case str():
            return _binary(value)
    if not depth:
        return "..."
    if isinstance(value, list):
        return f"[{','.join(_term(inner, depth - 1) for inner in value)}]"
    pairs = (f"{_binary(key)} => {_term(value[key], depth - 1)}" for key in sorted(value))
    return f"#{{{','.join(pairs)}}}"


def _float(value: float) -> str:
    mantissa, _, exponent = repr(value).partition("e")
    if not exponent:
        return mantissa
    return f"{mantissa}{'' if '.' in mantissa else '.0'}e{int(exponent)}"


def _binary(text: str) -> str:
    """Text whose octets Latin-1 can print is shown as such, all other as numbers."""
    octets = text.encode(errors="surrogatepass")
    shown = octets.decode("latin-1")
    if all(character in _ESCAPES or character.isprintable() for character in shown):
        # What looks like Latin-1 was UTF-8, and its reader takes it for UTF-8 again.
        plain = "".join(_ESCAPES.get(character, character) for character in text)
        return f'<<"{plain}">>'
    return f"<<{','.join(map(str, octets))}>>"
