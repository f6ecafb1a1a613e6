"""A new password's hash is waited for, and a request that left is forgotten."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from reference_broker.core.access.passwords import ANYBODY, Asker, PasswordHash, Verdict
from reference_broker.http.access.password_hashing import hashed_for
from reference_broker.http.access.user_request import UserRequest
from reference_broker.http.request.answer import ApiError

pytestmark = pytest.mark.anyio

HASH = PasswordHash("sha256", b"hash")
NEW = PasswordHash("sha256", b"new")


class SlowPasswords:
    """Hashes when the test says so."""

    nobody = HASH

    def __init__(self) -> None:
        self.waiting: list[tuple[bytes, Callable[[PasswordHash | None], None]]] = []

    def check(
        self,
        stored: PasswordHash,
        password: bytes,
        answer: Callable[[Verdict], None],
        asker: Asker = ANYBODY,
    ) -> None:
        raise AssertionError("nobody logs in here")

    def hash(self, password: bytes, answer: Callable[[PasswordHash | None], None]) -> None:
        self.waiting.append((password, answer))


async def begun(
    passwords: SlowPasswords, password: bytes | None = b"secret"
) -> asyncio.Task[PasswordHash]:
    task = asyncio.ensure_future(hashed_for(passwords, UserRequest((), {}, {}, HASH, password)))
    await asyncio.sleep(0)
    return task


async def test_a_hash_that_was_given_is_kept_as_it_is() -> None:
    passwords = SlowPasswords()
    assert await (await begun(passwords, None)) == HASH
    assert not passwords.waiting


async def test_a_password_is_hashed() -> None:
    passwords = SlowPasswords()
    task = await begun(passwords)
    ((password, answer),) = passwords.waiting
    assert password == b"secret"
    answer(NEW)
    assert await task == NEW


async def test_with_too_many_passwords_the_request_is_refused() -> None:
    passwords = SlowPasswords()
    task = await begun(passwords)
    passwords.waiting[0][1](None)
    with pytest.raises(ApiError) as refused:
        await task
    assert refused.value.status == 503


async def test_an_answer_to_a_request_that_left_is_harmless() -> None:
    passwords = SlowPasswords()
    task = await begun(passwords)
    task.cancel()
    await asyncio.sleep(0)
    passwords.waiting[0][1](NEW)
    assert task.cancelled()
