"""The other nodes of the cluster, as the management API asks them. A broker on its own has none.

The node that a client asks passes its request on to the others, which answer for what is theirs
(``serving/peer_requests.py``): so there is one question for each request and node. It is answered
within a second, or the node is unreachable, and the answer says so.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from http import HTTPStatus
from typing import Any, NamedTuple, Protocol

from starlette.requests import Request
from starlette.responses import Response

from reference_broker.core.base.limits import MIB
from reference_broker.core.work.until import Agreement
from reference_broker.http.request.answer import MEDIA_TYPE, NO_CACHE, ApiError, Row, encode

KIND = "http"
"""The kind of question that is a request."""

UNREACHABLE = "X-Mqkit-Unreachable"
"""The header that names the nodes whose part is missing in an answer."""

CUT = "X-Mqkit-Cut"
"""The header that names the nodes of which an answer has a part only: they have more than they can
tell in a second, or in 8 MiB."""

BODY_BYTES_MAX = 8 * MIB - 256 * 1024
"""Octets of an answer from one node to another. A list that is longer is cut."""

ONLY_BYTES_MAX = 32 * 1024
"""Octets of the names of objects whose rows are asked for, of the 64 KiB of a question. Where there
are more, all rows are asked for."""

ASK_S = 1.0
"""Seconds that anybody waits for an answer to a question that changes nothing."""

CARRY_OUT_S = 40.0
"""Seconds that an answer is waited for where messages are moved: those that are moved at once, and
what a disk may take."""

PASSED_ON = ("x-vhost", "x-reason")
"""Headers of a request that say what it is about."""

_SCOPE_KEY = "mqkit.asked"

_SHOWN_HEAD = "mqkit@"


class PeerAnswer(Protocol):
    """The answer of a node: its ``head``, which is a JSON object, and the octets after it."""

    @property
    def head(self) -> Row: ...

    @property
    def body(self) -> bytes: ...


class Gathered(Protocol):
    """The answers of several nodes by name, and those that gave none."""

    @property
    def answers(self) -> Mapping[str, PeerAnswer]: ...

    @property
    def unreachable(self) -> Sequence[str]: ...


class MemberStatus(Protocol):
    """A member of the cluster as this node sees it. ``state`` is ``running``, ``draining``,
    ``unreachable`` or ``down``; ``amqp`` and ``http`` are where its clients connect, and ``queues``
    is the number of those that have their home there."""

    @property
    def node(self) -> str: ...

    @property
    def state(self) -> str: ...

    @property
    def amqp(self) -> str: ...

    @property
    def http(self) -> str: ...

    @property
    def queues(self) -> int: ...


class LinkStatus(Protocol):
    """This node's link with another one, and the octets that went over it so far."""

    @property
    def node(self) -> str: ...

    @property
    def sent_bytes(self) -> int: ...

    @property
    def received_bytes(self) -> int: ...


class Forgetting(Protocol):
    """Whoever forgets members, each by its name in the cluster."""

    def durable_queues(self, node: str) -> int:
        """The number of durable queues whose home it is."""
        ...

    def forget(self, node: str, *, accepts_loss: bool) -> Agreement:
        """Ask the others to have it be a member no more, and its durable queues be gone, which the
        caller has to accept. Raises :exc:`NoSuchMember` and :exc:`MemberStays`."""
        ...

    def when_emptied(self, node: str, emptied: Callable[[], None]) -> None:
        """Call ``emptied`` once when there is no durable queue of it, which may be now."""
        ...


Reply = Callable[[Row, bytes], None]


class Peers(Protocol):
    """The other nodes. Their names are those that the cluster has: see :func:`shown_node`."""

    @property
    def cluster(self) -> str:
        """The name of the cluster."""
        ...

    @property
    def node(self) -> str:
        """The name of this node."""
        ...

    @property
    def revision(self) -> int:
        """The revision of the definitions that this node has."""
        ...

    @property
    def forgetting(self) -> Forgetting:
        """Whoever forgets members."""
        ...

    @property
    def others(self) -> Sequence[str]:
        """The other nodes that are there, in order."""
        ...

    def members(self) -> Sequence[MemberStatus]:
        """All nodes that have joined, by name."""
        ...

    def open_links(self) -> Sequence[LinkStatus]:
        """The links that this node has, by the other's name."""
        ...

    def ask(
        self,
        nodes: Sequence[str],
        kind: str,
        arguments: Row,
        told: Callable[[Gathered], None],
        within_s: float = ASK_S,
    ) -> None:
        """Ask these nodes. ``told`` is called once, within that time."""
        ...

    def answer_with(self, kind: str, answers: Callable[[str, Row, Reply], None]) -> None:
        """Have ``answers`` be called with each question of the kind: the node that asks, what it
        asks, and what to call once with the answer. Nobody hears one that takes longer than a
        second."""
        ...


def shown_node(node: str) -> str:
    """The name of a node as clients see it, which is that of its broker."""
    return f"{_SHOWN_HEAD}{node}"


def member_named(shown: str) -> str:
    """The name that the cluster has for the node that clients see as ``shown``."""
    return shown.removeprefix(_SHOWN_HEAD)


# At the node that is asked


class Asked(NamedTuple):
    """A request that ``node`` has passed on. Rows are made until ``until_s`` of the loop's clock,
    and the answer goes with those that there are. ``only`` are the objects whose rows are wanted,
    each as its virtual host and name; ``None`` for all."""

    node: str
    until_s: float
    only: Sequence[tuple[str, str]] | None


def put_asked(request: Request, asked: Asked) -> None:
    """Have :func:`asked_by` find it."""
    request.scope[_SCOPE_KEY] = asked


def asked_by(request: Request) -> Asked | None:
    """The node that has passed a request on to this one; ``None`` for a client's."""
    asked: Asked | None = request.scope.get(_SCOPE_KEY)
    return asked


class RowsForPeer(Response):
    """The rows of a list, each in a line, for the node that has passed the request on. ``is_cut``
    is true where there are more."""

    def __init__(self, rows: Sequence[bytes], *, is_cut: bool) -> None:
        super().__init__(b"\n".join(rows))
        self.is_cut = is_cut


async def rows_for(asked: Asked, rows: AsyncGenerator[list[bytes], None]) -> RowsForPeer:
    """As many of the rows as there is time for, and as an answer may have."""
    loop, told, size = asyncio.get_running_loop(), [], 0
    is_cut = False
    async for some in rows:
        size += sum(map(len, some)) + len(some)
        if size > BODY_BYTES_MAX or loop.time() > asked.until_s:
            is_cut = True
            break
        told += some
    await rows.aclose()
    return RowsForPeer(told, is_cut=is_cut)


# At the node that asks


def asks_others(request: Request, peers: Peers | None) -> Peers | None:
    """The nodes that a request is to be passed on to; ``None`` where it ends here."""
    return None if asked_by(request) else peers


async def gathered(
    request: Request,
    peers: Peers,
    nodes: Sequence[str],
    query: Sequence[tuple[str, str]],
    only: Sequence[tuple[str, str]] | None = None,
) -> Gathered:
    """The answers of these nodes to the request, with another query, and for the rows of ``only``
    these objects (see :class:`Asked`). Its body is not passed on."""
    arguments = _arguments(request, query)
    if only is not None and len(encode(only)) <= ONLY_BYTES_MAX:
        arguments["only"] = only
    return await _answers(peers, nodes, arguments, ASK_S)


def _arguments(request: Request, query: Sequence[tuple[str, str]]) -> Row:
    return {
        "method": "GET" if request.method == "HEAD" else request.method,
        "path": request.scope["path"],
        "query": list(query),
        "user": request.scope["user"].name,
        "headers": {name: request.headers[name] for name in PASSED_ON if name in request.headers},
    }


async def _answers(peers: Peers, nodes: Sequence[str], arguments: Row, within_s: float) -> Gathered:
    come: asyncio.Future[Gathered] = asyncio.get_running_loop().create_future()

    def told(found: Gathered) -> None:
        if not come.done():  # the request may have left
            come.set_result(found)

    peers.ask(nodes, KIND, arguments, told, within_s)
    return await come


async def carried_out_by(request: Request, peers: Peers, node: str, body: Row) -> Response:
    """The answer of ``node`` to a request that changes something there, which has ``body``. Raises
    :exc:`ApiError` 503 for none: nobody knows whether it was done."""
    arguments = {**_arguments(request, request.query_params.multi_items()), "body": body}
    found = await _answers(peers, [node], arguments, CARRY_OUT_S)
    answer = found.answers.get(node)
    if answer is None:
        raise ApiError(
            HTTPStatus.SERVICE_UNAVAILABLE,
            "not_confirmed",
            f"node {shown_node(node)} has not answered; it may have been done all the same",
            unreachable_header([node]),
        )
    media_type = MEDIA_TYPE if answer.body else None
    return Response(answer.body, HTTPStatus(answer.head["status"]), NO_CACHE, media_type)


async def passed_on(
    request: Request, peers: Peers, nodes: Sequence[str], *more: tuple[str, str]
) -> Response:
    """The answer of the one of ``nodes`` that has what the path names, or 404: then the header says
    who could not be asked. ``more`` is asked for in the query. Raises :exc:`ApiError` 503 for an
    answer that is too long for a link."""
    query = [*request.query_params.multi_items(), *more]
    found = await gathered(request, peers, nodes, query)
    for node, answer in found.answers.items():
        status = HTTPStatus(answer.head["status"])
        if status is HTTPStatus.NOT_FOUND:
            continue
        if answer.head["cut"]:
            raise ApiError(
                HTTPStatus.SERVICE_UNAVAILABLE,
                "too_long",
                f"ask node {shown_node(node)}: its answer is too long to be passed on",
            )
        media_type = MEDIA_TYPE if answer.body else None
        return Response(answer.body, status, NO_CACHE, media_type)
    missing = unreachable_header(found.unreachable)
    raise ApiError(HTTPStatus.NOT_FOUND, "Object Not Found", "Not Found", missing)


def unreachable_header(nodes: Sequence[str]) -> dict[str, str]:
    """The header that names these nodes; none for none."""
    return named_header(UNREACHABLE, nodes)


def named_header(name: str, nodes: Sequence[str]) -> dict[str, str]:
    """A header with the names of nodes; none for none."""
    return {name: ",".join(map(shown_node, sorted(nodes)))} if nodes else {}


def query_without(request: Request, *names: str) -> list[tuple[str, Any]]:
    """The query of a request without these parameters."""
    return [each for each in request.query_params.multi_items() if each[0] not in names]
