"""Users by name, the check of a login, and of a message's user-id.

The reason of a refusal goes to the caller, never to the client: a wrong name, a wrong password and
an empty one look the same to a client, and cost the same time.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum, unique
from typing import TypeAlias

from reference_broker.core.access.passwords import (
    ANYBODY,
    Asker,
    ImmediatePasswords,
    PasswordHash,
    Passwords,
    Verdict,
)
from reference_broker.core.access.passwords import hash_password as hash_password
from reference_broker.core.base.peer import Peer
from reference_broker.errors import ChannelException, ReplyCode

MAX_CONNECTIONS = "max-connections"
MAX_CHANNELS = "max-channels"
USER_LIMITS = (MAX_CONNECTIONS, MAX_CHANNELS)

IMPERSONATOR = "impersonator"
"""The tag of a user who may publish with somebody else's ``user_id``."""


@dataclass(frozen=True, slots=True)
class User:
    """Somebody who may log in. ``loopback_only``: from this machine only, as guest is.

    ``limits`` are by RabbitMQ's names (:data:`USER_LIMITS`); a negative one is none.
    """

    name: str
    password: PasswordHash
    tags: tuple[str, ...] = ()
    loopback_only: bool = False
    limits: Mapping[str, int] = field(default_factory=dict, hash=False)

    def limit(self, name: str) -> int | None:
        """The user's limit of that ``name``; ``None`` for no limit."""
        most = self.limits.get(name, -1)
        return None if most < 0 else most


@unique
class Refusal(Enum):
    """Why a login is refused."""

    WRONG = "wrong name or password"
    LOOPBACK_ONLY = "the user may come from this machine only"
    BUSY = "too many logins are being checked"
    NO_CERTIFICATE = "the client has shown no certificate"
    NAMELESS = "the client's certificate has no name to log in by"


LoginAnswer: TypeAlias = Callable[[User | Refusal], None]


class UserStore:
    """The users by name, in memory. What is durable is made through
    :class:`~reference_broker.core.access.access_control.AccessControl`."""

    def __init__(self, passwords: Passwords | None = None) -> None:
        self.passwords: Passwords = passwords or ImmediatePasswords()
        self._users: dict[str, User] = {}

    def __contains__(self, name: str) -> bool:
        return name in self._users

    def get(self, name: str) -> User | None:
        """The user of that name."""
        return self._users.get(name)

    def add(self, user: User) -> None:
        """Add a user, or replace the one of that name."""
        self._users[user.name] = user

    def remove(self, name: str) -> None:
        """Forget the user, who must be there."""
        del self._users[name]

    def clear(self) -> None:
        """Forget all."""
        self._users.clear()

    def all(self) -> list[User]:
        """Every user, in the order in which they were added."""
        return list(self._users.values())

    def authenticate(
        self,
        name: str,
        password: bytes,
        peer: Peer,
        answer: LoginAnswer,
        is_there: Callable[[], bool] = ANYBODY.is_there,
    ) -> None:
        """Have ``answer`` called with the user, or with why the login is refused: at once, or
        later as an input of the core (see :class:`Passwords`), if ``is_there`` says that somebody
        still waits for it.

        An unknown name costs as much time as a wrong password. An empty password is always wrong.
        """
        user = self._users.get(name)
        known = user is not None and bool(password)
        stored = user.password if user is not None and known else self.passwords.nobody

        def checked(verdict: Verdict) -> None:
            answer(self._judged(user if known else None, verdict, peer))

        self.passwords.check(stored, password, checked, Asker(peer.origin, is_there))

    def identify(self, peer: Peer) -> User | Refusal:
        """The user whose name the client has proved to have by its certificate, or why the login is
        refused. No password is needed, and the user may have none."""
        if peer.tls is None or peer.tls.certificate is None:
            return Refusal.NO_CERTIFICATE
        if peer.proven_name is None:
            return Refusal.NAMELESS
        user = self._users.get(peer.proven_name)
        if user is None:
            return Refusal.WRONG
        if user.loopback_only and not peer.is_loopback:
            return Refusal.LOOPBACK_ONLY
        return user

    def _judged(self, user: User | None, verdict: Verdict, peer: Peer) -> User | Refusal:
        if verdict is Verdict.BUSY:
            return Refusal.BUSY
        if user is None or verdict is Verdict.WRONG:
            return Refusal.WRONG
        now = self._users.get(user.name)
        if now is None or now.password != user.password:  # changed while it was checked
            return Refusal.WRONG
        if now.loopback_only and not peer.is_loopback:
            return Refusal.LOOPBACK_ONLY
        return now


def check_user_id(user: User, user_id: bytes | None) -> None:
    """Check the property ``user_id`` of a message that ``user`` publishes
    (rabbitmq.com/docs/validated-user-id). Raises :exc:`ChannelException` 406 for somebody else's
    name, unless the user is tagged :data:`IMPERSONATOR`."""
    if user_id is None or user_id == user.name.encode() or IMPERSONATOR in user.tags:
        return
    raise ChannelException(
        ReplyCode.PRECONDITION_FAILED,
        f"user_id property set to '{user_id.decode(errors='replace')}'"
        f" but authenticated user was '{user.name}'",
    )
