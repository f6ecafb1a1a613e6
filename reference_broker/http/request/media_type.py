"""The media types of bodies that a path takes: RabbitMQ's table, without what only a browser sends.

RabbitMQ takes JSON under any media type on most paths (curl's ``-d`` calls it a form, and many
tools call it nothing), and is strict on a few. Two types are not taken here where it takes them:
``text/plain`` and ``multipart/form-data``. No tool sends JSON so, and a page of another origin can
(see ``origin.py``).
"""

from __future__ import annotations

import re
from enum import Enum, unique

JSON = "application/json"
FORM = "application/x-www-form-urlencoded"
MULTIPART = "multipart/form-data"

_SENT_BY_PAGES = ("text/plain", MULTIPART)

_METHODS_WITH_A_BODY = ("PUT", "POST")
"""Methods of which the media type is looked at. RabbitMQ reads no body of a DELETE."""


@unique
class Takes(Enum):
    """Media types of a path's bodies."""

    OF_TOOLS = "JSON, whatever a tool calls it"
    JSON = "JSON under its own name"
    DEFINITIONS = "JSON, or a form with a file"
    ANYTHING = "whatever it is: the path looks itself"


_STRICT = {
    "/api/operator-policies/*/*": Takes.JSON,
    "/api/vhost-limits/*/*": Takes.JSON,
    "/api/user-limits/*/*": Takes.JSON,
    "/api/feature-flags/*/enable": Takes.JSON,
    "/api/definitions": Takes.DEFINITIONS,
    "/api/definitions/*": Takes.DEFINITIONS,
    "/api/all-configuration": Takes.DEFINITIONS,
    "/api/login": Takes.ANYTHING,
}
"""The paths on which RabbitMQ is strict (3.10.8, tried one by one)."""

_TAKEN = {
    Takes.JSON: (JSON,),
    Takes.DEFINITIONS: (JSON, MULTIPART),
}


def taken_at(route: str) -> Takes:
    """The media types that a route's path takes, whose parameters are in braces."""
    return _STRICT.get(re.sub(r"\{[^}]*\}", "*", route), Takes.OF_TOOLS)


def is_taken(takes: Takes, method: str, content_type: str | None) -> bool:
    """True if a request with that ``Content-Type`` header is read; ``None`` is one without."""
    if takes is Takes.ANYTHING or method not in _METHODS_WITH_A_BODY:
        return True
    media_type = None if content_type is None else media_type_of(content_type)
    if takes is Takes.OF_TOOLS:
        return media_type is None or ("/" in media_type and media_type not in _SENT_BY_PAGES)
    return media_type in _TAKEN[takes]


def media_type_of(content_type: str) -> str:
    """The media type of a ``Content-Type`` header, without its parameters, in small letters."""
    return content_type.partition(";")[0].strip().lower()
