"""Listening sockets whose certificate runs out soon. The units and the texts are RabbitMQ's; it
looks only at AMQP's sockets, and here those of the management API count as well."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from reference_broker.http.request.answer import Row, bad_request
from reference_broker.http.request.host import Listening, Node

_DAYS = {"days": 1.0, "weeks": 7.0, "months": 365 / 12, "years": 365.0}

DIGITS_MAX = 9
"""Digits of a number in the path: Python takes its time to read thousands of them."""


def horizon(within: str, unit: str, wall_ms: int) -> datetime:
    """The time that a certificate should outlive. Raises :exc:`ApiError` 400."""
    days = _DAYS.get(unit)
    if days is None:
        raise bad_request(f"Time unit not recognised. Supported units: {', '.join(_DAYS)}.")
    digits = within.removeprefix("-")
    if not (digits.isascii() and digits.isdigit()) or len(digits) > DIGITS_MAX:
        raise bad_request("Invalid expiration value.")
    now = datetime.fromtimestamp(wall_ms / 1000, UTC)
    try:
        return now + timedelta(days=days * int(within))
    except OverflowError:
        raise bad_request("Invalid expiration value.") from None


def expiring(node: Node, before: datetime) -> list[Row]:
    """The sockets with a certificate, or an authority's, that is not valid at ``before`` any
    more."""
    return [
        _row(node.name, listening)
        for listening in node.listening
        if listening.tls is not None
        and any(
            expiry < before
            for expiry in (
                *listening.tls.certificate_expiries,
                *listening.tls.authority_expiries,
            )
        )
    ]


def _row(node: str, listening: Listening) -> Row:
    tls = listening.tls
    assert tls is not None
    return {
        "node": node,
        "protocol": listening.protocol,
        "interface": listening.host,
        "port": listening.port,
        "certfile": str(tls.certificate),
        "certfile_expires_on": _shown(tls.certificate_expiries),
        "cacertfile": "" if tls.authority is None else str(tls.authority),
        "cacertfile_expires_on": _shown(tls.authority_expiries),
    }


def _shown(expiries: Sequence[datetime]) -> list[str]:
    return [f"{expiry:%Y-%m-%d %H:%M:%S}" for expiry in expiries]
