"""Description, tags and default queue type of a virtual host in JSON: ``PUT /api/vhosts/NAME``, a
definitions file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from reference_broker.core.base.vhost_info import UNDEFINED, VHostInfo
from reference_broker.http.access.user_request import tags_of, text_in
from reference_broker.http.request.answer import bad_request

_QUEUE_TYPE_NAMES = ("default_queue_type", "defaultqueuetype")
"""The key of the default queue type: RabbitMQ 4's, and 3.10's."""


def vhost_info(body: Mapping[str, Any], existing: VHostInfo | None) -> VHostInfo:
    """The virtual host's properties that a JSON object describes. A description and tags that are
    not given are set to empty; limits stay, and so does a default queue type. Raises
    :exc:`ApiError` 400."""
    queue_type = UNDEFINED if existing is None else existing.default_queue_type
    for name in _QUEUE_TYPE_NAMES:
        if body.get(name):
            queue_type = text_in(body, name)
    return VHostInfo(
        description=text_in(body, "description") if "description" in body else "",
        tags=tags_of(body.get("tags", [])),
        tracing=_boolean(body.get("tracing", False)),
        default_queue_type=queue_type,
        limits={} if existing is None else existing.limits,
    )


def _boolean(value: object) -> bool:
    if value in (True, "true"):
        return True
    if value in (False, "false"):
        return False
    raise bad_request(["not_boolean", str(value)])
