"""What a definitions file holds besides exchanges, queues, bindings and policies. Pure.

Users come from this broker's configuration, and it has no permissions. So an import takes what is
the same here anyway, and refuses the rest by name: nothing is left out without a word, and nobody
believes in a limit that nothing enforces.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable

from reference_broker.core.users import User
from reference_broker.http.answer import Row
from reference_broker.http.definitions_file import CLASSIC, Faults, ItemFault, rows, shown, text_of
from reference_broker.http.definitions_policies import SECTIONS

READ_ELSEWHERE = ("exchanges", "queues", "bindings", *SECTIONS)
EVERYTHING = ".*"
"""The pattern that allows every name."""

_DEFAULT_QUEUE_TYPES = (None, "", "undefined", CLASSIC)


class Surroundings:
    """What this broker is: the names of its ``vhosts``, and its ``users``."""

    def __init__(self, vhosts: Collection[str], users: Iterable[User]) -> None:
        self._vhosts = vhosts
        self._users = {user.name: user for user in users}
        self._checks: dict[str, tuple[str, Callable[[Row], None]]] = {
            "vhosts": ("name", self._check_vhost),
            "users": ("name", self._check_user),
            "permissions": ("user", self._check_permission),
        }

    def faults_of(self, body: Row) -> Faults:
        """A text for everything in a file that this broker does not have, or has otherwise."""
        faults: Faults = []
        for section, value in body.items():
            if section in READ_ELSEWHERE:
                continue
            if section in self._checks:
                self._check_section(body, section, faults)
            elif section == "metadata":
                faults += _faults_of_metadata(section, value)
            elif isinstance(value, list | dict) and value:
                faults += _refused(section, value)
        return faults

    def _check_section(self, body: Row, section: str, faults: Faults) -> None:
        name, check = self._checks[section]
        for number, row in rows(body, section, faults):
            label = shown(row[name]) if isinstance(row.get(name), str) else f"item {number}"
            try:
                check(row)
            except ItemFault as fault:
                faults.append(f"{section}, {label}: {fault}")

    def _check_vhost(self, row: Row) -> None:
        if text_of(row, "name") not in self._vhosts:
            raise ItemFault("this broker has no such virtual host, and can't make one")
        if row.get("limits"):
            raise ItemFault(f"this broker has no limits of virtual hosts: {shown(row['limits'])}")
        faults = _faults_of_metadata("metadata", {**row, **_object(row.get("metadata"))})
        if faults:
            raise ItemFault(faults[0])

    def _check_user(self, row: Row) -> None:
        user = self._user(text_of(row, "name"))
        if row.get("limits"):
            raise ItemFault(f"this broker has no limits of users: {shown(row['limits'])}")
        tags = row.get("tags", [])
        if isinstance(tags, str):  # RabbitMQ before 3.9
            tags = [tag.strip() for tag in tags.split(",") if tag.strip()]
        if not isinstance(tags, list) or sorted(map(str, tags)) != sorted(user.tags):
            raise ItemFault(
                f"has the tags {list(user.tags)} here and {shown(tags)} in the file"
                " (they come from the broker's configuration)"
            )

    def _check_permission(self, row: Row) -> None:
        self._user(text_of(row, "user"))
        vhost = text_of(row, "vhost")
        if vhost not in self._vhosts:
            raise ItemFault(f"this broker has no virtual host {vhost!r}")
        for action in ("configure", "write", "read"):
            if row.get(action) != EVERYTHING:
                raise ItemFault(
                    f"{action} is {shown(row.get(action))}, and this broker can't hold anybody to"
                    f" it: every user has {EVERYTHING!r}"
                )

    def _user(self, name: str) -> User:
        user = self._users.get(name)
        if user is None:
            raise ItemFault(
                "this broker has no such user (add it to `users` in the broker's configuration)"
            )
        return user


def _faults_of_metadata(section: str, value: object) -> Faults:
    """A description and tags are labels; the default queue type is what queues will be."""
    queue_type = _object(value).get("default_queue_type")
    if queue_type in _DEFAULT_QUEUE_TYPES:
        return []
    return [f"{section}: this broker has classic queues only, not {shown(queue_type)} by default"]


def _object(value: object) -> Row:
    return value if isinstance(value, dict) else {}


def _refused(section: str, value: list[object] | Row) -> Faults:
    """Everything in a section of which this broker has nothing."""
    faults = []
    for number, item in enumerate(value, 1):
        name = _object(item).get("name", _object(item).get("user", item))
        label = shown(name) if isinstance(name, str) else f"item {number}"
        faults.append(f"{section}, {label}: this broker has no {section.replace('_', ' ')}")
    return faults
