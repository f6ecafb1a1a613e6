"""Users and their permissions, durable: what is changed here is in the journal when it returns.

The answer to whoever asked for it waits for the disk (law 3), which is the caller's part. A change
takes effect at the next method of every connection: nothing that was granted is remembered over it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, TypeVar

from reference_broker.core.access import access_definition as definition
from reference_broker.core.access.passwords import PasswordHash
from reference_broker.core.access.permission import (
    ALL_PERMISSIONS,
    Action,
    Permission,
    TopicPermission,
)
from reference_broker.core.access.users import User, UserStore
from reference_broker.core.journal.definition_store import Change, DefinitionStore

Key = TypeVar("Key")

LOOPBACK_USERS = frozenset(("guest",))
"""Who may come from this machine only, unless the configuration says otherwise (RabbitMQ's
``loopback_users``)."""


class AccessControl:
    """Users and their permissions. ``version`` rises with each change of a permission; then
    ``changed`` is called with the name of the virtual host. Read ``users`` as you like, and change
    them by the methods here."""

    def __init__(
        self, users: UserStore, definitions: DefinitionStore, changed: Callable[[str], None]
    ) -> None:
        self.users = users
        self.version = 0
        self.loopback_users: frozenset[str] = LOOPBACK_USERS
        self._definitions = definitions
        self._changed = changed
        self._permissions: dict[str, dict[str, Permission]] = {}
        """By user and virtual host. Nobody has none at all."""
        self._topics: dict[str, dict[tuple[str, str], TopicPermission]] = {}
        """By user, and virtual host and exchange; as above."""

    @property
    def _is_agreed(self) -> bool:
        """True where all that is here is defined. A broker on its own may have been handed users,
        and assumes what they are allowed."""
        return self._definitions.shared

    # Reading

    def permission(self, user: str, vhost: str) -> Permission | None:
        """The user's permission in a virtual host; ``None`` for one who may not even enter."""
        held = self._permissions.get(user)
        return None if held is None else held.get(vhost)

    def permissions(self) -> list[tuple[str, str, Permission]]:
        """(virtual host, user, permission), in order of the names."""
        found = (
            (vhost, user, permission)
            for user, held in self._permissions.items()
            for vhost, permission in held.items()
        )
        return sorted(found, key=lambda row: row[:2])

    def topic_permission(self, user: str, vhost: str, exchange: str) -> TopicPermission | None:
        """``None``: any key is allowed."""
        held = self._topics.get(user)
        return None if held is None else held.get((vhost, exchange))

    def topic_permissions(self) -> list[tuple[str, str, str, TopicPermission]]:
        """(virtual host, user, exchange, permission), in order of the names."""
        found = (
            (vhost, user, exchange, permission)
            for user, held in self._topics.items()
            for (vhost, exchange), permission in held.items()
        )
        return sorted(found, key=lambda row: row[:3])

    # Users

    def put_user(
        self, name: str, password: PasswordHash, tags: tuple[str, ...], limits: Mapping[str, int]
    ) -> None:
        """Make the user, or change all that is given here. Connections that are open stay so."""
        existing = self.users.get(name)
        loopback_only = name in self.loopback_users if existing is None else existing.loopback_only
        self.store_user(User(name, password, tags, loopback_only, dict(limits)))

    def limit_user(self, name: str, limits: Mapping[str, int]) -> None:
        """Give the user, who must be there, these limits and no others. They hold for what is
        opened from now on."""
        user = self.users.get(name)
        assert user is not None
        self.store_user(replace(user, limits=dict(limits)))

    def store_user(self, user: User) -> None:
        """Keep the user as given."""
        if self._is_agreed and self.users.get(user.name) == user:
            return
        key = definition.key_of(definition.USER, user.name)
        self._definitions.agree((Change(key, definition.encode_user(user)),))
        self.users.add(user)

    def delete_user(self, name: str) -> None:
        """Remove the user and all permissions; fine where there is none. What to do with open
        connections is the caller's business."""
        if self.users.get(name) is None:
            return
        changes = [] if self._definitions.shared else [Change(key, None) for key in self._of(name)]
        changes.append(Change(definition.key_of(definition.USER, name), None))
        self._definitions.agree(changes)
        self.drop_user(name)

    def drop_user(self, name: str) -> None:
        """Have the user be gone, with all permissions, as was agreed."""
        if self._definitions.shared:
            for key in self._of(name):
                self._definitions.forget(key)
        places = sorted(self._permissions.pop(name, ()))
        places += [vhost for vhost, _ in sorted(self._topics.pop(name, ()))]
        self.users.remove(name)
        for vhost in places:
            self._note_change(vhost)

    def _of(self, user: str) -> list[str]:
        """The keys of the user's permissions."""
        kept, topics = self._permissions.get(user, {}), self._topics.get(user, {})
        keys = [definition.key_of(definition.PERMISSION, vhost, user) for vhost in sorted(kept)]
        return keys + [
            definition.key_of(definition.TOPIC_PERMISSION, vhost, user, exchange)
            for vhost, exchange in sorted(topics)
        ]

    # Permissions

    def set_permission(self, user: str, vhost: str, permission: Permission) -> None:
        """Give the user these patterns there, in place of any earlier ones."""
        before = self.permission(user, vhost)
        if self._is_agreed and before is not None and before.texts() == permission.texts():
            return
        key = definition.key_of(definition.PERMISSION, vhost, user)
        value = definition.encode_permission(permission)
        self._definitions.agree((Change(key, value, _speaks_of(user, vhost)),))
        self.put_permission(user, vhost, permission)

    def put_permission(self, user: str, vhost: str, permission: Permission | None) -> None:
        """Have the permission be there, or with ``None`` be gone, as was agreed."""
        if permission is not None:
            self._permissions.setdefault(user, {})[vhost] = permission
        elif not _taken(self._permissions, user, vhost):
            return
        self._note_change(vhost)

    def allow_everything(self, user: str, vhost: str) -> None:
        """``.*`` for all three."""
        self.set_permission(user, vhost, ALL_PERMISSIONS)

    def clear_permission(self, user: str, vhost: str) -> None:
        """The user may no longer enter. Fine where there is no permission."""
        if self.permission(user, vhost) is not None:
            key = definition.key_of(definition.PERMISSION, vhost, user)
            self._definitions.agree((Change(key, None),))
            self.put_permission(user, vhost, None)

    def set_topic_permission(
        self, user: str, vhost: str, exchange: str, permission: TopicPermission
    ) -> None:
        """As :meth:`set_permission`, for one exchange. Raises :exc:`BadPattern`; then nothing has
        changed."""
        for action in (Action.WRITE, Action.READ):
            permission.pattern(action, user, vhost)
        if self._is_agreed and self.topic_permission(user, vhost, exchange) == permission:
            return
        key = definition.key_of(definition.TOPIC_PERMISSION, vhost, user, exchange)
        value = definition.encode_topic_permission(permission)
        self._definitions.agree((Change(key, value, _speaks_of(user, vhost)),))
        self.put_topic_permission(user, vhost, exchange, permission)

    def put_topic_permission(
        self, user: str, vhost: str, exchange: str, permission: TopicPermission | None
    ) -> None:
        """As :meth:`put_permission`, for one exchange."""
        if permission is not None:
            self._topics.setdefault(user, {})[vhost, exchange] = permission
        elif not _taken(self._topics, user, (vhost, exchange)):
            return
        self._note_change(vhost)

    def clear_topic_permission(self, user: str, vhost: str, exchange: str) -> None:
        """Any key is allowed again. Fine where there is no topic permission."""
        if self.topic_permission(user, vhost, exchange) is not None:
            key = definition.key_of(definition.TOPIC_PERMISSION, vhost, user, exchange)
            self._definitions.agree((Change(key, None),))
            self.put_topic_permission(user, vhost, exchange, None)

    def forget_vhost(self, vhost: str) -> None:
        """The virtual host goes: so do all permissions in it."""
        for user in sorted(name for name, held in self._permissions.items() if vhost in held):
            self._definitions.forget(definition.key_of(definition.PERMISSION, vhost, user))
            self.put_permission(user, vhost, None)
        topics = [
            (user, exchange)
            for user, held in self._topics.items()
            for place, exchange in held
            if place == vhost
        ]
        for user, exchange in sorted(topics):
            key = definition.key_of(definition.TOPIC_PERMISSION, vhost, user, exchange)
            self._definitions.forget(key)
            self.put_topic_permission(user, vhost, exchange, None)

    def _note_change(self, vhost: str) -> None:
        self.version += 1
        self._changed(vhost)

    # At the start

    def assume(self, vhost: str) -> None:
        """Let every user do everything in ``vhost``, as long as the process lives: for a broker
        that was handed its users and restores none."""
        for user in self.users.all():
            self._permissions.setdefault(user.name, {})[vhost] = ALL_PERMISSIONS

    def restore(self, definitions: Mapping[str, bytes]) -> None:
        """Take up what the journal holds, in place of what was here, before anybody is connected.
        Raises :exc:`Corrupt`."""
        self.users.clear()
        self._permissions.clear()
        self._topics.clear()
        for (name,), fields in definition.stored(definitions, definition.USER):
            self.users.add(definition.decode_user(name, fields))
        for (vhost, user), fields in definition.stored(definitions, definition.PERMISSION):
            held = self._permissions.setdefault(user, {})
            held[vhost] = definition.decode_permission(fields)
        for names, fields in definition.stored(definitions, definition.TOPIC_PERMISSION):
            vhost, user, exchange = names
            topics = self._topics.setdefault(user, {})
            topics[vhost, exchange] = definition.decode_topic_permission(fields)
        self.version += 1


def _speaks_of(user: str, vhost: str) -> tuple[str, str]:
    """The keys that a permission's definition speaks of."""
    return definition.key_of(definition.USER, user), definition.key_of(definition.VHOST, vhost)


def _taken(held: dict[str, dict[Key, Any]], user: str, key: Key) -> bool:
    """Take one of the user's away, and say whether it was there."""
    own = held.get(user, {})
    if own.pop(key, None) is None:
        return False
    if not own:
        del held[user]
    return True
