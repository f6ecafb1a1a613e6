"""Limits of users and virtual hosts in JSON: names to numbers, where a negative one is no limit."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from reference_broker.core.base.field_value import erlang_term
from reference_broker.http.request.answer import ApiError, bad_request

LIMIT_MAX = (1 << 63) - 1
"""The largest integer of a field table."""


def limits_of(value: object, known: Collection[str], where: str) -> dict[str, int]:
    """All limits of one user or virtual host. Raises :exc:`ApiError` 400."""
    if value == []:  # how some versions write an empty table
        value = {}
    if not isinstance(value, dict):
        raise bad_request(["not_json_object", "limits"])
    return {name: limit_of(name, most, known, where) for name, most in value.items()}


def limit_of(name: str, value: Any, known: Collection[str], where: str) -> int:
    """One limit. Raises :exc:`ApiError` 400, in RabbitMQ's words."""
    if name not in known:
        raise bad_request(f"Unrecognised terms [{{{erlang_term(name)},{_term(value)}}}] in {where}")
    if isinstance(value, bool) or not isinstance(value, int) or abs(value) > LIMIT_MAX:
        raise bad_request(f"{name} should be a number, actually was {_term(value)}")
    return value


def validation_failed(error: ApiError) -> ApiError:
    """The refusal of a limit as RabbitMQ words it for parameters, which a virtual host's limits are
    there."""
    return bad_request(f"Validation failed\n\n{error.reason}\n")


def _term(value: object) -> str:
    return erlang_term(value) if isinstance(value, str | int | float) else str(value)
