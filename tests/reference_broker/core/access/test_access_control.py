"""Users and permissions: what is changed is in the journal, and comes back from it."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from reference_broker.core.access.access_control import AccessControl
from reference_broker.core.access.passwords import ARGON2ID, PasswordHash, hash_password
from reference_broker.core.access.permission import Permission, TopicPermission
from reference_broker.core.access.users import User, UserStore
from reference_broker.core.base.pattern import BadPattern
from reference_broker.core.journal.definition_store import JournalDefinitions
from reference_broker.core.journal.journal import MemoryJournal
from reference_broker.errors import Corrupt

HASH = PasswordHash(ARGON2ID, b"$argon2id$v=19$m=1,t=1,p=1$c2FsdA$x")


class KeepingJournal(MemoryJournal):
    """Has what was defined."""

    def __init__(self) -> None:
        super().__init__()
        self.kept: dict[str, bytes] = {}

    def define(self, key: str, value: bytes | None) -> None:
        super().define(key, value)
        self.kept.pop(key, None)
        if value is not None:
            self.kept[key] = value


class Rig:
    def __init__(self) -> None:
        self.journal = KeepingJournal()
        self.changes = 0
        self.changed_in: list[str] = []
        self.control = AccessControl(UserStore(), JournalDefinitions(self.journal), self._changed)

    def _changed(self, vhost: str) -> None:
        self.changes += 1
        self.changed_in.append(vhost)

    def again(self, definitions: Mapping[str, bytes] | None = None) -> AccessControl:
        """After a restart."""
        control = AccessControl(
            UserStore(), JournalDefinitions(MemoryJournal()), lambda vhost: None
        )
        control.restore(self.journal.kept if definitions is None else definitions)
        return control


@pytest.fixture
def rig() -> Rig:
    rig = Rig()
    rig.control.put_user("ann/ä", HASH, ("management", "x"), {"max-channels": 3})
    rig.control.set_permission("ann/ä", "v/1", Permission.of("^a", "", ".*"))
    rig.control.set_topic_permission("ann/ä", "v/1", "x/y", TopicPermission("^w", "^{username}"))
    return rig


def test_all_of_it_comes_back(rig: Rig) -> None:
    again = rig.again()
    assert again.users.all() == [
        User("ann/ä", HASH, ("management", "x"), False, {"max-channels": 3})
    ]
    permission = again.permission("ann/ä", "v/1")
    assert permission is not None
    assert permission.texts() == ("^a", "", ".*")
    assert again.topic_permissions() == [
        ("v/1", "ann/ä", "x/y", TopicPermission("^w", "^{username}"))
    ]


def test_a_deleted_user_leaves_nothing(rig: Rig) -> None:
    rig.control.delete_user("ann/ä")
    assert rig.journal.kept == {}
    assert (rig.control.permissions(), rig.control.topic_permissions()) == ([], [])
    assert "ann/ä" not in rig.control.users


def test_a_vhost_that_goes_takes_its_permissions(rig: Rig) -> None:
    rig.control.allow_everything("ann/ä", "other")
    rig.control.forget_vhost("v/1")
    assert [vhost for vhost, *_ in rig.control.permissions()] == ["other"]
    assert rig.control.topic_permissions() == []
    assert [vhost for vhost, *_ in rig.again().permissions()] == ["other"]


def test_every_change_of_a_permission_is_told(rig: Rig) -> None:
    before = rig.changes, rig.control.version
    rig.control.clear_permission("ann/ä", "v/1")
    rig.control.clear_topic_permission("ann/ä", "v/1", "x/y")
    rig.control.clear_permission("ann/ä", "v/1")  # nothing to clear any more
    assert (rig.changes, rig.control.version) == (before[0] + 2, before[1] + 2)


def test_a_bad_topic_pattern_changes_nothing(rig: Rig) -> None:
    kept = dict(rig.journal.kept)
    with pytest.raises(BadPattern):
        rig.control.set_topic_permission("ann/ä", "v/1", "x/y", TopicPermission("(", ""))
    assert rig.journal.kept == kept


def test_guest_stays_on_this_machine_whoever_makes_it(rig: Rig) -> None:
    rig.control.put_user("guest", hash_password(b"new", b"salt"), (), {})
    guest = rig.control.users.get("guest")
    assert guest is not None
    assert guest.loopback_only
    rig.control.limit_user("guest", {"max-connections": 1})
    again = rig.again().users.get("guest")
    assert again is not None
    assert (again.loopback_only, again.limits) == (True, {"max-connections": 1})


@pytest.mark.parametrize("value", [b"", b"\x02\x00\x00\x00\x00", b"\x01junk"])
def test_a_definition_of_another_layout_is_told(rig: Rig, value: bytes) -> None:
    with pytest.raises(Corrupt):
        rig.again({"user/ann": value})


def test_a_change_concerns_its_virtual_host_only(rig: Rig) -> None:
    rig.control.set_permission("ann/ä", "v2", Permission.of("", "", ""))
    rig.control.set_topic_permission("ann/ä", "v2", "x", TopicPermission("", ""))
    assert rig.changed_in == ["v/1", "v/1", "v2", "v2"]
    rig.control.delete_user("ann/ä")
    assert rig.changed_in[4:] == ["v/1", "v2", "v/1", "v2"]
    assert (rig.control.permissions(), rig.control.topic_permissions()) == ([], [])
    assert rig.journal.kept == {}


def test_the_permissions_of_others_stay(rig: Rig) -> None:
    rig.control.put_user("bob", HASH, (), {})
    for vhost in ("v/1", "v2"):
        rig.control.set_permission("bob", vhost, Permission.of("", "", ""))
    rig.control.delete_user("ann/ä")
    assert [row[:2] for row in rig.control.permissions()] == [("v/1", "bob"), ("v2", "bob")]
    rig.control.forget_vhost("v/1")
    assert [row[:2] for row in rig.control.permissions()] == [("v2", "bob")]
