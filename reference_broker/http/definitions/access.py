"""Virtual hosts, users, permissions and limits of a definitions file: read, checked, then made.

As with the rest of a file, everything is checked before anything is done. What is there already
gets what the file says, as in RabbitMQ; what the file does not name stays as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial

from reference_broker.core.access.passwords import PasswordHash
from reference_broker.core.access.permission import Action, Permission, TopicPermission
from reference_broker.core.base.ids import Ids
from reference_broker.core.base.pattern import BadPattern
from reference_broker.core.base.vhost_info import VHOST_LIMITS, VHostInfo
from reference_broker.core.broker import Broker
from reference_broker.core.journal.journal import MemoryJournal
from reference_broker.core.vhost.vhost import VHost, VHostParts
from reference_broker.core.work.task import agreed, at_once
from reference_broker.http.access.user_request import UserRequest, checked_name, permission_of
from reference_broker.http.access.vhost_request import vhost_info
from reference_broker.http.definitions.file import (
    MADE_AT_ONCE,
    Faults,
    ItemFault,
    Making,
    Steps,
    rows,
    shown,
    text_of,
)
from reference_broker.http.request.answer import ApiError, Row
from reference_broker.http.request.limit_value import limits_of

SECTIONS = ("users", "vhosts", "permissions", "topic_permissions")
"""The sections of a whole broker's file; a file for a single virtual host has nothing to do with
them."""

LIMITS_COMPONENT = "vhost-limits"
"""The component of a virtual host's limits among RabbitMQ's ``parameters``; ``limits`` is their
name."""

LIMITS_NAME = "limits"


@dataclass(slots=True)
class AccessDefinitions:
    """Virtual hosts, users, permissions and limits that a file wants. Take the steps of
    :meth:`read`, and ask for ``faults``; if there are none, take those of :meth:`apply` in inputs
    of the core."""

    faults: Faults = field(default_factory=list)
    _broker: Broker = field(kw_only=True)
    _vhosts: dict[str, VHostInfo] = field(default_factory=dict)
    users: dict[str, UserRequest] = field(default_factory=dict)
    _permissions: list[tuple[str, str, Permission]] = field(default_factory=list)
    _topics: list[tuple[str, str, str, TopicPermission]] = field(default_factory=list)

    def read(self, body: Row, vhost: str | None) -> Steps:
        """Read the sections of a file. With ``vhost`` the file is for that virtual host: of all
        this only its limits count."""
        if vhost is None:
            yield from self._each(body, "vhosts", "name", self._take_vhost)
            yield from self._each(body, "users", "name", self._take_user)
            yield from self._each(body, "permissions", "user", self._take_permission)
            yield from self._each(body, "topic_permissions", "user", self._take_topic_permission)
        yield from self._each(
            body, "parameters", "component", lambda row: self._take_limits(row, vhost)
        )

    @property
    def vhost_names(self) -> Iterable[str]:
        """The virtual hosts that would be made, or get other properties."""
        return self._vhosts

    def new_vhosts(self) -> Iterator[VHost]:
        """An empty stand-in for each virtual host that the file would make."""
        for name in self._vhosts:
            if name not in self._broker.vhosts:
                yield VHost(name, VHostParts(MemoryJournal(), Ids(0)))

    def apply(self, hashes: Mapping[str, PasswordHash]) -> Making:
        """Make everything: virtual hosts, users, then what speaks of both. ``hashes`` are those of
        the ``users`` with a password in plain text."""
        for stage in (
            (self._make_vhost(*each) for each in self._vhosts.items()),
            (self._make_user(*each, hashes) for each in self.users.items()),
            (self._permit(*each) for each in self._permissions),
            (self._permit_topic(*each) for each in self._topics),
        ):
            yield from at_once(stage, MADE_AT_ONCE)

    def _make_vhost(self, name: str, info: VHostInfo) -> Making:
        existing = self._broker.vhosts.get(name)
        if existing is None or existing.info != info:
            yield from agreed(partial(self._broker.add_vhost, name, info))
        yield None

    def _make_user(
        self, name: str, user: UserRequest, hashes: Mapping[str, PasswordHash]
    ) -> Making:
        known = self._broker.users.get(name)
        hashed = hashes[name] if user.password is not None else user.hashed
        wanted = (hashed, user.tags, dict(user.limits))
        if known is None or (known.password, known.tags, dict(known.limits)) != wanted:
            yield from agreed(partial(self._broker.access.put_user, name, *wanted))
        yield None

    def _permit(self, user: str, vhost: str, permission: Permission) -> Making:
        access = self._broker.access
        held = access.permission(user, vhost)
        if self._has(user, vhost) and (held is None or held.texts() != permission.texts()):
            yield from agreed(partial(access.set_permission, user, vhost, permission))
        yield None

    def _permit_topic(self, user: str, vhost: str, exchange: str, topic: TopicPermission) -> Making:
        access = self._broker.access
        held = access.topic_permission(user, vhost, exchange)
        if self._has(user, vhost) and held != topic:
            wanted = partial(access.set_topic_permission, user, vhost, exchange, topic)
            yield from agreed(wanted)
        yield None

    def _has(self, user: str, vhost: str) -> bool:
        """False for what somebody has deleted between two steps."""
        return user in self._broker.users and vhost in self._broker.vhosts

    # Reading

    def _each(self, body: Row, section: str, name: str, take: Callable[[Row], None]) -> Steps:
        for number, row in rows(body, section, self.faults):
            yield
            if row is None:
                continue
            label = shown(row[name]) if isinstance(row.get(name), str) else f"item {number}"
            try:
                with _as_faults():
                    take(row)
            except ItemFault as fault:
                self.faults.append(f"{section}, {label}: {fault}")

    def _take_vhost(self, row: Row) -> None:
        name = checked_name(text_of(row, "name"), "vhost")
        existing = self._broker.vhosts.get(name)
        metadata = row.get("metadata")
        labels = {**(metadata if isinstance(metadata, dict) else {}), **row}
        if existing is not None:  # 3.10 writes the name alone, and that takes nothing away
            labels = {
                "description": existing.info.description,
                "tags": list(existing.info.tags),
                "tracing": existing.info.tracing,
                **labels,
            }
        info = vhost_info(labels, None if existing is None else existing.info)
        limits = limits_of(row.get("limits", {}), VHOST_LIMITS, "limits")
        self._vhosts[name] = replace(info, limits=limits) if limits else info

    def _take_user(self, row: Row) -> None:
        name = checked_name(text_of(row, "name"), "user")
        self.users[name] = UserRequest.parse(row)

    def _take_permission(self, row: Row) -> None:
        user, vhost = self._user_and_vhost(row)
        self._permissions.append((user, vhost, permission_of(row)))

    def _take_topic_permission(self, row: Row) -> None:
        user, vhost = self._user_and_vhost(row)
        exchange = text_of(row, "exchange")
        topic = TopicPermission(text_of(row, "write"), text_of(row, "read"))
        for action in (Action.WRITE, Action.READ):
            topic.pattern(action, user, vhost)
        self._topics.append((user, vhost, exchange, topic))

    def _take_limits(self, row: Row, vhost: str | None) -> None:
        if row.get("component") != LIMITS_COMPONENT:
            return
        name = text_of(row, "vhost") if vhost is None else vhost
        if name in self._vhosts:
            info = self._vhosts[name]
        elif name in self._broker.vhosts:
            info = self._broker.vhosts[name].info
        else:
            raise ItemFault(f"there is no vhost {name!r}")
        limits = limits_of(row.get("value"), VHOST_LIMITS, "limits")
        self._vhosts[name] = replace(info, limits=limits)

    def _user_and_vhost(self, row: Row) -> tuple[str, str]:
        user, vhost = text_of(row, "user"), text_of(row, "vhost")
        if user not in self.users and user not in self._broker.users:
            raise ItemFault(f"there is no user {user!r}, here or in the file")
        if vhost not in self._vhosts and vhost not in self._broker.vhosts:
            raise ItemFault(f"there is no vhost {vhost!r}, here or in the file")
        return user, vhost


def has_passwords(body: Row) -> bool:
    """True if a user's password stands in the file in plain text. False also where ``users`` is no
    list of users: :meth:`AccessDefinitions.read` says what is wrong with it."""
    users = body.get("users")
    return isinstance(users, list) and any(
        isinstance(row, dict) and row.get("password") for row in users
    )


@contextmanager
def _as_faults() -> Iterator[None]:
    """Turn the error that HTTP would answer for a value into a fault of the item."""
    try:
        yield
    except ApiError as error:
        reason = error.reason if isinstance(error.reason, str) else ": ".join(error.reason)
        raise ItemFault(reason) from error
    except BadPattern as error:
        raise ItemFault(str(error)) from error
