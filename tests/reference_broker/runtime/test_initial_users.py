"""Who is there at the start: made once, kept by the log, and the configuration's word holds."""

from __future__ import annotations

from pathlib import Path

import pytest

from reference_broker.core.access.passwords import ARGON2ID, SHA256, hash_password
from reference_broker.core.access.users import User
from reference_broker.runtime.config import Address, ServerConfig, UserConfig
from reference_broker.runtime.process.password_thread import is_right
from reference_broker.runtime.server import Server

pytestmark = pytest.mark.anyio

FREE = Address("127.0.0.1", 0)


async def started(folder: Path, *users: UserConfig) -> Server:
    config = ServerConfig(amqp=FREE, http=None, data_dir=folder)
    server = Server(
        ServerConfig(amqp=FREE, http=None, data_dir=folder, users=users) if users else config
    )
    await server.start()
    return server


def user(server: Server, name: str) -> User:
    found = server.broker.users.get(name)
    assert found is not None
    return found


async def test_guest_is_made_once(anyio_backend: str, tmp_path: Path) -> None:
    server = await started(tmp_path)
    guest = user(server, "guest")
    assert (guest.tags, guest.loopback_only) == (("administrator",), True)
    assert guest.password.algorithm == SHA256
    assert server.broker.access.permission("guest", "/") is not None
    server.broker.access.put_user("admin", hash_password(b"x", b"salt"), ("administrator",), {})
    server.broker.delete_user("guest")
    await server.stop()
    server = await started(tmp_path)
    assert [each.name for each in server.broker.users.all()] == ["admin"]
    await server.stop()


async def test_a_guest_with_another_password_keeps_it(anyio_backend: str, tmp_path: Path) -> None:
    server = await started(tmp_path)
    new = hash_password(b"new", b"salt")
    server.broker.access.put_user("guest", new, (), {})
    await server.stop()
    server = await started(tmp_path)
    assert user(server, "guest").password == new
    await server.stop()


async def test_the_configurations_users_are_as_it_says_at_every_start(
    anyio_backend: str, tmp_path: Path
) -> None:
    app = UserConfig("app", "secret", ("management",))
    server = await started(tmp_path, app)
    first = user(server, "app").password
    assert first.algorithm == ARGON2ID
    server.broker.access.limit_user("app", {"max-channels": 5})
    server.broker.access.clear_permission("app", "/")
    await server.stop()

    server = await started(tmp_path, app)
    assert user(server, "app").password == first  # it is still right
    assert server.broker.access.permission("app", "/") is None
    await server.stop()

    server = await started(tmp_path, UserConfig("app", "changed", ("monitoring",)))
    changed = user(server, "app")
    assert is_right(changed.password, b"changed")
    assert (changed.tags, changed.limits) == (("monitoring",), {"max-channels": 5})
    await server.stop()


async def test_a_user_that_is_new_in_the_configuration(anyio_backend: str, tmp_path: Path) -> None:
    server = await started(tmp_path)
    await server.stop()
    server = await started(tmp_path, UserConfig("app", "secret"))
    assert [each.name for each in server.broker.users.all()] == ["guest", "app"]
    assert server.broker.access.permission("app", "/") is not None
    await server.stop()


async def test_nobody_comes_back_to_a_broker_of_which_everything_was_deleted(
    anyio_backend: str, tmp_path: Path
) -> None:
    server = await started(tmp_path)
    server.broker.delete_vhost("/")
    server.broker.delete_user("guest")
    await server.stop()
    for _ in range(2):
        server = await started(tmp_path)
        assert server.broker.users.all() == []
        await server.stop()
    server = await started(tmp_path, UserConfig("admin", "secret", ("administrator",)))
    assert user(server, "admin").tags == ("administrator",)
    assert server.broker.access.permission("admin", "/") is not None
    await server.stop()
