"""The kinds of definitions that the log may hold, and the refusal of a kind that only a later
version knows.

The law: what this version doesn't know may be what a queue is made of, and to leave it out may be
to lose messages, or to let somebody in. So a start ends there. Only a kind whose name begins with
``~`` is passed over, and kept: its version says that it does no harm not to know it.
"""

from __future__ import annotations

from collections.abc import Iterable

from reference_broker.core.access import access_definition
from reference_broker.core.journal.definition_keys import (
    BINDING,
    CLOCK,
    COUNT,
    COUNTS,
    DELAYS,
    EXCHANGE,
    INNER_QUEUES,
    NODE_MARK,
    QUEUE,
    QUEUE_SEEN,
)
from reference_broker.core.policy.global_parameters import GLOBAL_PARAMETER
from reference_broker.core.policy.policy import PolicyKind
from reference_broker.errors import ClusterRefused, LaterVersion

IGNORABLE = "~"
"""The first octet in the name of a kind that an earlier version may pass over."""

KNOWN_KINDS = (
    EXCHANGE,
    QUEUE,
    *INNER_QUEUES,
    QUEUE_SEEN,
    BINDING,
    COUNTS,
    COUNT,
    DELAYS,
    CLOCK,
    access_definition.VHOST,
    access_definition.USER,
    access_definition.PERMISSION,
    access_definition.TOPIC_PERMISSION,
    *map(str, PolicyKind),
    GLOBAL_PARAMETER,
)


def refuse_unknown_kinds(keys: Iterable[str], version: str) -> None:
    """Raises :exc:`LaterVersion` when one of ``keys`` is of a kind that this ``version`` doesn't
    know, and :exc:`ClusterRefused` for the folder of a node of a cluster: it is for a broker on its
    own."""
    kinds = dict.fromkeys(key.partition("/")[0] for key in keys)
    if NODE_MARK in kinds:
        raise ClusterRefused(
            "the data folder is that of a node of a cluster, and its definitions are in etcd: start"
            " it with --cluster-name and what belongs to that, or use another folder"
        )
    unknown = [kind for kind in kinds if kind not in KNOWN_KINDS and kind[:1] != IGNORABLE]
    if unknown:
        named = ", ".join(repr(kind) for kind in sorted(unknown))
        raise LaterVersion(
            f"the data folder has definitions of a kind that version {version} of this broker"
            f" doesn't know: {named}. A later version wrote them: start that one"
        )
