"""The overview and the nodes of a whole cluster, made of what each of its nodes says of itself."""

from __future__ import annotations

import json
from http import HTTPStatus

from starlette.requests import Request

from reference_broker.http.request.answer import Row
from reference_broker.http.request.peer_rows import BY_NAME, rows_of_others
from reference_broker.http.request.peers import (
    Peers,
    gathered,
    query_without,
    shown_node,
)
from reference_broker.http.rows.row_sums import added

_COUNTED = ("queue_totals", "message_stats")
"""Members of the overview that are sums over nodes."""

_LISTS = ("listeners", "contexts")
"""Those that are lists of what each node has."""

_OF_CLIENTS = ("connections", "channels", "consumers")
"""Objects that belong to one node each. Queues and exchanges are known to all."""

_CHURN_OF_CLIENTS = ("connection_", "channel_", "queue_declared")
"""Beginnings of the churn that belongs to one node each: all nodes count the queues that come and
go."""


async def overview_of_all(request: Request, peers: Peers, own: Row) -> Row:
    """The overview of the cluster, out of this node's. ``unreachable`` are the nodes that are not
    in it."""
    found = await gathered(request, peers, peers.others, query_without(request, "columns"))
    row, unreachable = own, list(found.unreachable)
    for node, answer in found.answers.items():
        if answer.head["status"] != HTTPStatus.OK:
            unreachable.append(node)
            continue
        try:
            row = _with_node(row, json.loads(answer.body))
        except (KeyError, TypeError, ValueError):
            unreachable.append(node)  # of another version
    return {**row, "unreachable": [shown_node(node) for node in sorted(unreachable)]}


def _with_node(row: Row, other: Row) -> Row:
    sums = dict(row)
    totals, others = row["object_totals"], other["object_totals"]
    counted = {name: totals[name] + others[name] for name in _OF_CLIENTS if name in totals}
    sums["object_totals"] = {**totals, **counted}
    for name in _COUNTED:
        if name in other:
            sums[name] = added(row.get(name, {}), other[name])
    for name in _LISTS:
        if name in row:
            sums[name] = row[name] + other[name]
    if "churn_rates" in row:
        churn = {
            name: value
            for name, value in other["churn_rates"].items()
            if name.startswith(_CHURN_OF_CLIENTS)
        }
        sums["churn_rates"] = added(row["churn_rates"], churn)
    return sums


async def rows_of_nodes(request: Request, peers: Peers) -> tuple[list[Row], dict[str, str]]:
    """The rows of the other members, running or not, and the headers that say who is there and has
    not answered."""
    found = await rows_of_others(request, peers, BY_NAME)
    known = {each.name: each.row() for each in found.rows}
    names = [shown_node(each.node) for each in peers.members() if each.node != peers.node]
    for name in names:
        known.setdefault(name, stopped_row(name))
    return list(known.values()), found.headers


def link_rows(peers: Peers) -> list[Row]:
    """The links of this node, in RabbitMQ's words."""
    return [
        {
            "name": shown_node(link.node),
            "stats": {"send_bytes": link.sent_bytes, "recv_bytes": link.received_bytes},
        }
        for link in peers.open_links()
    ]


def stopped_row(name: str) -> Row:
    """The row of a member that does not answer."""
    return {"name": name, "type": "disc", "running": False}


def member_of(peers: Peers, name: str) -> str | None:
    """The other member that clients see as ``name``; ``None`` for no such one."""
    others = {shown_node(each.node): each.node for each in peers.members()}
    node = others.get(name)
    return None if node == peers.node else node
