"""Methods of the tx class: transactions on a channel.

Fields stand in wire order: the layout is compiled from them (:mod:`mqkit.wire.method_codec`).
"""

from __future__ import annotations

from dataclasses import dataclass

from mqkit.wire.methods.method import Method
from mqkit.wire.spec import ClassId


class TxMethod(Method):
    """A method of the tx class."""

    __slots__ = ()

    CLASS_ID = ClassId.TX


@dataclass(slots=True)
class TxSelect(TxMethod):
    """Client: publishes and acks of this channel wait for tx.commit."""

    METHOD_ID = 10
    NAME = "tx.select"


@dataclass(slots=True)
class TxSelectOk(TxMethod):
    """Server: they do."""

    METHOD_ID = 11
    NAME = "tx.select-ok"


@dataclass(slots=True)
class TxCommit(TxMethod):
    """Client: apply them."""

    METHOD_ID = 20
    NAME = "tx.commit"


@dataclass(slots=True)
class TxCommitOk(TxMethod):
    """Server: they are applied."""

    METHOD_ID = 21
    NAME = "tx.commit-ok"


@dataclass(slots=True)
class TxRollback(TxMethod):
    """Client: forget them."""

    METHOD_ID = 30
    NAME = "tx.rollback"


@dataclass(slots=True)
class TxRollbackOk(TxMethod):
    """Server: they are forgotten."""

    METHOD_ID = 31
    NAME = "tx.rollback-ok"
