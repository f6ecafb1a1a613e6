"""The keys of a cluster in etcd, all under ``/mqkit/<cluster>/``.

    cluster                     the cluster itself, and its feature level
    members/<node>              a node that has joined: its number, disk and run
    live/<node>          lease  a node that is there
    proposals/<node>            the number of the node's last transaction
    next/<what>                 the first number that nobody has taken
    forgotten/<disk>            the node whose disk that was, until it was forgotten
    ids_of_folder               the node whose queues have the ids that they had in its folder
    def/<kind>/<vhost>/<name>   a definition, by the key that a broker on its own has in its log;
                         lease  where it goes with its node, as an exclusive queue does

Everything here is without that prefix; only :mod:`feed` and :mod:`proposals` put it on.
"""

from __future__ import annotations

from urllib.parse import quote

from reference_broker.core.access import access_definition
from reference_broker.core.journal.definition_keys import (
    BINDING,
    EXCHANGE,
    INNER_QUEUES,
    QUEUE,
    QUEUE_SEEN,
)
from reference_broker.core.policy.global_parameters import GLOBAL_PARAMETER
from reference_broker.core.policy.policy import PolicyKind

CLUSTER = "cluster"
MEMBERS = "members/"
LIVE = "live/"
PROPOSALS = "proposals/"
NEXT_NUMBERS = "next/"
FORGOTTEN = "forgotten/"
IDS_OF_FOLDER = "ids_of_folder"
DEFINITIONS = "def/"

_KIND_ORDER = (
    access_definition.SET_UP,
    access_definition.VHOST,
    access_definition.USER,
    access_definition.PERMISSION,
    access_definition.TOPIC_PERMISSION,
    GLOBAL_PARAMETER,
    *map(str, PolicyKind),
    EXCHANGE,
    *INNER_QUEUES,
    QUEUE,
    QUEUE_SEEN,
    BINDING,
)
"""Kinds of definitions; each speaks only of objects of kinds that are before it."""

_RANKS = {kind: rank for rank, kind in enumerate(_KIND_ORDER, start=1)}
_LAST = len(_RANKS) + 1


def cluster_prefix(cluster: str) -> str:
    """The beginning of all keys of the cluster of that name, and of no others."""
    return f"/mqkit/{quote(cluster, safe='')}/"


def rank_of(key: str) -> int:
    """The place of a key among keys that are read together: what a definition speaks of has a lower
    one. Keys that are no definitions are before all definitions, kinds that this version doesn't
    know behind them."""
    if not key.startswith(DEFINITIONS):
        return 0
    return _RANKS.get(key[len(DEFINITIONS) :].partition("/")[0], _LAST)
