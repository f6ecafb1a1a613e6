"""Requests that etcd did not carry out, and those of which nobody knows.

[T] Only what certainly was not carried out may be called so: a timeout, a connection that broke
after the request was sent, a change of leader say nothing.
"""

from __future__ import annotations

from enum import Enum, auto

from reference_broker.cluster.coordinator import InDoubt, Refused, Unread
from reference_broker.runtime.etcd.fields import BadAnswer, Message, integer, text
from reference_broker.runtime.etcd.json_lines import json_object

REASON_CHARACTERS_MAX = 300
"""Characters of a reason that others worded: it has to fit into a line."""


class Fate(Enum):
    """The end of a request without an answer of use."""

    REFUSED = auto()
    """etcd did not carry it out, and no other member will, now or later."""
    FULL = auto()
    """It did not, and no other member will, until an operator makes room."""
    ELSEWHERE = auto()
    """It was not carried out here; another member may do it."""
    TOKEN = auto()
    """It was not carried out, for want of a token that is good."""
    COMPACTED = auto()
    """The revision is not to be had any more."""
    UNKNOWN = auto()
    """Nobody knows."""


_BY_CODE = {
    3: Fate.REFUSED,  # invalid argument: too many operations, too large, a wrong password
    5: Fate.REFUSED,  # not found: no such lease
    7: Fate.REFUSED,  # permission denied
    8: Fate.FULL,  # resource exhausted: no space
    9: Fate.REFUSED,  # failed precondition: authentication is not enabled
    11: Fate.REFUSED,  # out of range: a future revision
    12: Fate.REFUSED,  # not implemented
    15: Fate.REFUSED,  # data loss: etcd found its members to differ, and carries out nothing
    16: Fate.TOKEN,  # not authenticated
}
"""gRPC's codes that etcd gives only to what it did not carry out."""

_BY_TEXT = {
    "etcdserver: mvcc: required revision has been compacted": Fate.COMPACTED,
    "etcdserver: invalid auth token": Fate.TOKEN,
    "etcdserver: revision of auth store is old": Fate.TOKEN,
    "etcdserver: user name is empty": Fate.TOKEN,
    "etcdserver: no leader": Fate.ELSEWHERE,
    "etcdserver: too many requests": Fate.ELSEWHERE,
    "etcdserver: not capable": Fate.ELSEWHERE,
}
"""These have codes that others share. A member that is behind, or alone, refuses at its door."""

_BY_STATUS = {400: Fate.ELSEWHERE, 403: Fate.ELSEWHERE, 404: Fate.ELSEWHERE, 405: Fate.ELSEWHERE}
"""HTTP's status of answers that are not etcd's: whoever gave them handed nothing on."""


class GatewayFailure(Exception):
    """A request without an answer of use; ``reason`` is one line for the operator."""

    def __init__(self, reason: str, fate: Fate) -> None:
        super().__init__(reason)
        self.reason = reason
        self.fate = fate


def fate_of(code: int, message: str) -> Fate:
    """The fate of a request that etcd answered with an error."""
    return _BY_TEXT.get(message) or _BY_CODE.get(code, Fate.UNKNOWN)


def failure_of(status: int, body: bytes) -> GatewayFailure:
    """The failure that an answer with another status than 200 is."""
    try:
        return error_failure(json_object(body))
    except BadAnswer:
        words = one_line(body.decode(errors="replace")) or "nothing"
        fate = _BY_STATUS.get(status, Fate.UNKNOWN)
        return GatewayFailure(f"there is no etcd: it answered {status}, {words}", fate)


def error_failure(error: Message) -> GatewayFailure:
    """The failure that an error of the gateway is. Raises :exc:`BadAnswer` if it is none."""
    message = text(error, "message") or text(error, "error")
    if not message:
        raise BadAnswer("there is no message in the error")
    # Streams name the code in another way.
    code = integer(error, "grpc_code") or integer(error, "code")
    return GatewayFailure(one_line(message), fate_of(code, message))


def outcome_of(failure: GatewayFailure) -> Refused | InDoubt:
    """The failure, as the outcome of a transaction."""
    if failure.fate is Fate.UNKNOWN:
        return InDoubt(failure.reason)
    return Refused(failure.reason, lasting=failure.fate is Fate.REFUSED)


def unread_of(failure: GatewayFailure) -> Unread:
    """The failure, as the answer to a read."""
    return Unread(failure.reason, compacted=failure.fate is Fate.COMPACTED)


def one_line(words: str) -> str:
    """The words of somebody else, in one line that can be printed."""
    line = " ".join("".join(c if c.isprintable() else " " for c in words).split())
    return line if len(line) <= REASON_CHARACTERS_MAX else line[: REASON_CHARACTERS_MAX - 3] + "..."
