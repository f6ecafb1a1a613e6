"""A value that is given as JSON on the command line."""

from __future__ import annotations

import json
from typing import Any

from mqkit_cli.ctl.exits import DATA_ERROR, CtlError


def parsed(text: str) -> Any:
    """Raises :exc:`CtlError` (65) for what is no JSON."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise CtlError(DATA_ERROR, f"JSON decoding error. {error}") from None


def parsed_object(text: str) -> dict[str, Any]:
    """A JSON object given on the command line."""
    value = parsed(text)
    if not isinstance(value, dict):
        raise CtlError(DATA_ERROR, f"expected a JSON object, and got {text}")
    return value
