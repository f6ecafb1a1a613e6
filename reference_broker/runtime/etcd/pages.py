"""Pages of rows, between the port's values and the JSON of ``/v3/kv/range``."""

from __future__ import annotations

from typing import Any

from reference_broker.cluster.coordinator import PAGE_ROWS_MAX, Page, Row
from reference_broker.runtime.etcd.fields import (
    Message,
    header_revision,
    integer,
    key,
    octets,
    parts,
    range_fields,
)


def page_request(prefix: str, after: str, revision: int) -> dict[str, Any]:
    """The request for one page: linearizable, which is etcd's default, or at ``revision``."""
    return {
        **range_fields(prefix, after),
        "limit": str(PAGE_ROWS_MAX),
        "revision": str(revision),
    }


def revision_request(prefix: str) -> dict[str, Any]:
    """The cheapest linearizable request that tells the revision, to whoever may read below
    ``prefix``: one for that key alone, which need not be there."""
    return {"key": range_fields(prefix)["key"]}


def page_of(answer: Message, revision: int, ahead_s: float = 0.0) -> Page:
    """The page that etcd answers; ``revision`` is the one that was asked for, and its clock is so
    far ahead. Raises :exc:`~fields.BadAnswer`."""
    now = header_revision(answer)
    rows = tuple(_row(each) for each in parts(answer, "kvs"))
    return Page(rows, revision or now, answer.get("more") is True, ahead_s)


def _row(message: Message) -> Row:
    return Row(
        key(message, "key"),
        octets(message, "value"),
        integer(message, "mod_revision"),
        integer(message, "lease"),
        integer(message, "create_revision"),
    )
