"""A definitions file's virtual hosts, users, permissions and limits: checked, then made."""

from __future__ import annotations

from typing import Any

import pytest

from reference_broker.core.access.passwords import PasswordHash, hash_password
from reference_broker.core.access.users import User, UserStore
from reference_broker.core.broker import Broker
from reference_broker.core.journal.journal import MemoryJournal
from reference_broker.http.definitions.access import AccessDefinitions, has_passwords

HASH = "kI3GCqW5JLMJa4iX1lo7X4D6XbYqlLgxIs30+P6tENUV2POR"
PERMISSION = {"user": "ann", "vhost": "shop", "configure": "^a", "write": "", "read": ".*"}
FILE: dict[str, Any] = {
    "vhosts": [{"name": "shop"}],
    "users": [
        {
            "name": "ann",
            "password_hash": HASH,
            "hashing_algorithm": "rabbit_password_hashing_sha256",
            "tags": ["management"],
            "limits": {"max-channels": 3},
        }
    ],
    "permissions": [PERMISSION],
    "topic_permissions": [
        {"user": "ann", "vhost": "shop", "exchange": "x", "write": "^w", "read": "^r"}
    ],
    "parameters": [
        {
            "component": "vhost-limits",
            "name": "limits",
            "vhost": "shop",
            "value": {"max-queues": 7},
        }
    ],
}


@pytest.fixture
def broker() -> Broker:
    users = UserStore()
    users.add(User("guest", hash_password(b"guest", b"salt"), ("administrator",)))
    return Broker(MemoryJournal(), users)


def taken(broker: Broker, body: dict[str, Any], vhost: str | None = None) -> list[str]:
    """The faults; without any it is applied."""
    found = read(body, broker, vhost)
    if not found.faults:
        list(found.apply({name: user.hashed for name, user in found.users.items()}))
    return found.faults


def read(body: dict[str, Any], broker: Broker, vhost: str | None = None) -> AccessDefinitions:
    found = AccessDefinitions(_broker=broker)
    list(found.read(body, vhost))
    return found


def test_everything_is_made_and_twice_is_once(broker: Broker) -> None:
    assert taken(broker, FILE) == []
    ann = broker.users.get("ann")
    assert ann is not None
    assert ann.password.in_base64() == HASH
    assert (ann.tags, ann.limits) == (("management",), {"max-channels": 3})
    permission = broker.access.permission("ann", "shop")
    assert permission is not None
    assert permission.texts() == ("^a", "", ".*")
    assert broker.access.topic_permission("ann", "shop", "x") == ("^w", "^r")
    assert broker.vhosts["shop"].info.limits == {"max-queues": 7}
    tail = broker.journal.tail
    assert taken(broker, FILE) == []
    assert broker.journal.tail == tail


@pytest.mark.parametrize(
    ("users", "has"),
    [
        ([{"name": "ann", "password": "secret"}], True),
        ([{"name": "ann", "password": ""}, {"name": "bob", "password_hash": HASH}], False),
        ([["password"], "password", None], False),
        ({"password": "secret"}, False),
        (None, False),
    ],
)
def test_only_new_passwords_have_to_be_hashed(users: object, has: bool) -> None:
    assert has_passwords({"users": users}) is has
    assert not has_passwords({})


def test_hashes_of_new_passwords_and_those_of_the_file(broker: Broker) -> None:
    users = [*FILE["users"], {"name": "bob", "password": "secret", "tags": []}]
    made = hash_password(b"secret", b"salt")
    list(read({**FILE, "users": users}, broker).apply({"bob": made}))
    ann, bob = (broker.users.get(name) for name in ("ann", "bob"))
    assert ann is not None
    assert bob is not None
    assert (ann.password.in_base64(), bob.password) == (HASH, made)


def test_a_file_of_later_versions(broker: Broker) -> None:
    metadata = {"description": "all", "tags": ["x"], "default_queue_type": "quorum"}
    body = {
        "users": [{"name": "old", "tags": "administrator,monitoring", "limits": []}],
        "vhosts": [{"name": "shop", "limits": {"max-queues": 5}, "metadata": metadata}],
    }
    assert taken(broker, body) == []
    info = broker.vhosts["shop"].info
    assert (info.description, info.tags, info.default_queue_type) == ("all", ("x",), "quorum")
    assert info.limits == {"max-queues": 5}
    old = broker.users.get("old")
    assert old is not None
    assert (old.tags, old.password) == (
        ("administrator", "monitoring"),
        PasswordHash("rabbit_password_hashing_sha256", b""),
    )


def test_a_name_alone_takes_nothing_away(broker: Broker) -> None:
    full = {"name": "shop", "description": "d", "tags": ["t"], "limits": {"max-queues": 5}}
    taken(broker, {"vhosts": [full]})
    before = broker.vhosts["shop"].info
    assert taken(broker, {"vhosts": [{"name": "shop"}]}) == []
    assert broker.vhosts["shop"].info == before


def test_a_file_for_one_vhost_has_its_limits_only(broker: Broker) -> None:
    assert taken(broker, FILE, "/") == []
    assert broker.vhosts["/"].info.limits == {"max-queues": 7}
    assert list(broker.vhosts) == ["/"]
    assert "ann" not in broker.users


@pytest.mark.parametrize(
    ("body", "fault"),
    [
        ({"users": [{"tags": []}]}, "users, item 1: name is missing"),
        ({"users": ["app"]}, "users, item 1: 'app' is not an object"),
        ({"users": {}}, "users: {} is not a list"),
        ({"users": [{"name": "ann"}]}, "users, 'ann': tags_not_present"),
        ({"users": [{"name": "ann", "tags": 5}]}, "users, 'ann': not_string: tags"),
        (
            {"users": [{"name": "a", "tags": [], "limits": {"max-foo": 1}}]},
            "users, 'a': Unrecognised terms",
        ),
        ({"vhosts": [{"name": ""}]}, "vhosts, '': vhost name should have 1 to 255 bytes"),
        ({"permissions": [PERMISSION]}, "permissions, 'ann': there is no user 'ann', here or in"),
        (
            {**FILE, "vhosts": [], "parameters": [], "topic_permissions": []},
            "permissions, 'ann': there is no vhost 'shop', here or in the file",
        ),
        (
            {**FILE, "permissions": [{**PERMISSION, "write": "("}]},
            "permissions, 'ann': invalid_regexp: (",
        ),
        (
            {"parameters": [{"component": "vhost-limits", "vhost": "nope", "value": {}}]},
            "parameters, 'vhost-limits': there is no vhost 'nope'",
        ),
    ],
)
def test_a_fault_is_named_and_nothing_is_done(
    broker: Broker, body: dict[str, Any], fault: str
) -> None:
    tail = broker.journal.tail
    found = taken(broker, body)
    assert len(found) == 1
    assert found[0].startswith(fault)
    assert broker.journal.tail == tail


def test_a_new_vhost_has_a_stand_in(broker: Broker) -> None:
    assert [vhost.name for vhost in read(FILE, broker).new_vhosts()] == ["shop"]
    assert "shop" not in broker.vhosts
