"""Messages as a failed test tells of them: one line each, bounded."""

from __future__ import annotations

from collections.abc import Sequence

from mqkit.message import Delivery

SHOWN_MAX = 10
"""Messages that are told of one by one."""

BODY_CHARACTERS_MAX = 80
"""Of a body."""


def shown(deliveries: Sequence[Delivery]) -> str:
    """A colon and a line for each message; nothing where there is none."""
    lines = [f"\n  {line_of(each)}" for each in deliveries[:SHOWN_MAX]]
    if len(deliveries) > SHOWN_MAX:
        lines.append(f"\n  and {len(deliveries) - SHOWN_MAX} more")
    return f":{''.join(lines)}" if lines else ""


def line_of(delivery: Delivery) -> str:
    """A message in one line: where it was published to, its id, its failures, its body."""
    said = [f"{delivery.original_exchange!r} {delivery.original_routing_key!r}"]
    if delivery.message_id is not None:
        said.append(f"id {delivery.message_id}")
    if delivery.attempt > 1:
        said.append(f"failed {delivery.attempt - 1} times")
    body = repr(delivery.body)
    if len(body) > BODY_CHARACTERS_MAX:
        body = f"{body[:BODY_CHARACTERS_MAX]}... ({len(delivery.body)} octets)"
    return ", ".join([*said, body])
