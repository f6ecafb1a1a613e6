"""Parts of a definitions file that this broker does not support: shovels, federation and the like.
Pure.

An import takes what is the same here anyway, and refuses the rest by name: nothing is left out
without a word.
"""

from __future__ import annotations

from reference_broker.http.definitions.access import SECTIONS as ACCESS_SECTIONS
from reference_broker.http.definitions.file import CLASSIC, Faults, Steps, shown
from reference_broker.http.definitions.policies import SECTIONS as POLICY_SECTIONS
from reference_broker.http.request.answer import Row

READ_ELSEWHERE = ("exchanges", "queues", "bindings", *ACCESS_SECTIONS, *POLICY_SECTIONS)

_DEFAULT_QUEUE_TYPES = (None, "", "undefined", CLASSIC)


def unsupported_items(body: Row, faults: Faults) -> Steps:
    """Adds a text to ``faults`` for everything in a file that this broker does not support."""
    for section, value in body.items():
        if section in READ_ELSEWHERE:
            continue
        if section == "metadata":
            faults += _faults_of_metadata(section, value)
        elif isinstance(value, list | dict) and value:
            yield from _refused(section, value, faults)


def _faults_of_metadata(section: str, value: object) -> Faults:
    """Faults of a virtual host's metadata. A description and tags are labels; the default queue
    type is what queues will be."""
    queue_type = _object(value).get("default_queue_type")
    if queue_type in _DEFAULT_QUEUE_TYPES:
        return []
    return [f"{section}: this broker has classic queues only, not {shown(queue_type)} by default"]


def _object(value: object) -> Row:
    return value if isinstance(value, dict) else {}


def _refused(section: str, value: list[object] | Row, faults: Faults) -> Steps:
    """A fault for everything in an unsupported section."""
    for number, item in enumerate(value, 1):
        name = _object(item).get("name", _object(item).get("user", item))
        label = shown(name) if isinstance(name, str) else f"item {number}"
        faults.append(f"{section}, {label}: this broker has no {section.replace('_', ' ')}")
        yield
