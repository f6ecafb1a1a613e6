"""``message_stats`` and every ``*_details``: counters with how fast they move.

A request may want their history as well: ``msg_rates_age=60&msg_rates_incr=5`` adds samples five
seconds apart over a minute to what is in ``message_stats``; ``lengths_`` does so for queue lengths
and ``data_rates_`` for octets.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import NamedTuple

from starlette.datastructures import QueryParams

from reference_broker.core.broker import Broker
from reference_broker.core.channel.channel import Channel
from reference_broker.core.connection.connection import Connection
from reference_broker.core.exchange.exchange import Exchange
from reference_broker.core.queue.queue import Queue
from reference_broker.core.vhost.vhost import VHost
from reference_broker.http.request.answer import Row, bad_request
from reference_broker.http.request.host import Node
from reference_broker.http.rows import measures
from reference_broker.http.rows.sampler import NODE, Sampler
from reference_broker.http.rows.series import Series, SeriesSum
from reference_broker.http.rows.totals import Totals, VHostTotals, sum_of

SAMPLES_MAX = 500
"""Samples in one answer, for each counter: RabbitMQ's own limit."""

_FAMILIES = (("publish_in", "publish_out"), measures.PUBLISHERS, measures.CONSUMERS)
"""Families of counters, which are shown when any of theirs has moved."""


class Span(NamedTuple):
    """The age and the step of a history, in seconds."""

    age_s: int
    incr_s: int

    @classmethod
    def parse(cls, query: QueryParams, prefix: str) -> Span | None:
        """The span that a query asks for; ``None`` where it asks for none. Raises :exc:`ApiError`
        400."""
        try:
            age_s, incr_s = int(query[f"{prefix}_age"]), int(query[f"{prefix}_incr"])
        except (KeyError, ValueError):
            return None
        if age_s <= 0 or incr_s <= 0 or age_s // incr_s > SAMPLES_MAX:
            raise bad_request(f"Invalid range parameters: age {age_s}, incr {incr_s}")
        return cls(age_s, incr_s)


class Spans(NamedTuple):
    """The histories that a request wants."""

    messages: Span | None
    lengths: Span | None
    data: Span | None
    node: Span | None

    @classmethod
    def parse(cls, query: QueryParams) -> Spans:
        """The spans that a query asks for. Raises :exc:`ApiError` 400."""
        return cls(
            Span.parse(query, "msg_rates"),
            Span.parse(query, "lengths"),
            Span.parse(query, "data_rates"),
            Span.parse(query, "node_stats"),
        )


class Statistics:
    """Adds the sampler's rates and histories to the rows of objects. Values are those of now; only
    rates and histories are of the last sample."""

    def __init__(self, sampler: Sampler) -> None:
        self._sampler = sampler

    def of_queue(self, row: Row, queue: Queue, spans: Spans) -> Row:
        values = measures.measured_queue(queue)
        series = self._sampler.series_of(queue)
        return _idle(_added(row, series, measures.QUEUE, values, spans), series)

    def of_exchange(self, row: Row, exchange: Exchange, spans: Spans) -> Row:
        values = measures.measured_exchange(exchange)
        series = self._sampler.series_of(exchange)
        return _added(row, series, measures.EXCHANGE, values, spans)

    def of_connection(self, row: Row, connection: Connection, spans: Spans) -> Row:
        values = measures.measured_connection(connection)
        series = self._sampler.series_of(connection)
        return _added(row, series, measures.CONNECTION, values, spans)

    def of_channel(self, row: Row, channel: Channel, spans: Spans) -> Row:
        values = measures.measured_channel(channel)
        series = self._sampler.series_of(channel)
        return _idle(_added(row, series, measures.CHANNEL, values, spans), series)

    def of_vhost(self, row: Row, vhost: VHost, totals: VHostTotals, spans: Spans) -> Row:
        values = measures.measured_totals(totals)
        return _added(row, self._sampler.series_of(vhost), measures.VHOST, values, spans)

    def of_node(self, row: Row, broker: Broker, node: Node, spans: Spans) -> Row:
        """The row of the node, with the process's figures, and with counts of what came and
        went."""
        series = self._sampler.series_of(NODE)
        values = measures.measured_node(broker, node)
        for place, (name, value) in enumerate(zip(measures.NODE, values, strict=True)):
            row[name] = value
            row[f"{name}_details"] = details(series, place, spans.node)
        return row

    def of_broker(self, row: Row, broker: Broker, totals: Totals, spans: Spans) -> Row:
        """The row of the broker, with ``message_stats``, ``queue_totals`` and ``churn_rates``."""
        values = measures.measured_broker(broker, totals)
        flat = _added({}, self._sampler.series_of(broker), measures.BROKER, values, spans)
        return _with_totals(row, flat, flat)

    def of_vhosts(
        self, row: Row, broker: Broker, vhosts: Sequence[VHost], totals: Totals, spans: Spans
    ) -> Row:
        """The row of the broker for somebody who sees these virtual hosts only. ``churn_rates`` are
        of the whole broker, as RabbitMQ has them."""
        seen = [totals.by_vhost.get(vhost.name, VHostTotals()) for vhost in vhosts]
        values = measures.measured_totals(sum_of(seen))
        known = [self._sampler.series_of(vhost) for vhost in vhosts]
        series = [each for each in known if each is not None]
        flat = _added({}, SeriesSum(series) if series else None, measures.VHOST, values, spans)
        return _with_totals(row, flat, self.of_broker({}, broker, totals, spans)["churn_rates"])


def _with_totals(row: Row, flat: Row, churn: Row) -> Row:
    """Adds ``queue_totals`` and ``message_stats`` out of ``flat``, and ``churn_rates``."""
    for name, members, source in (
        ("queue_totals", measures.LENGTHS, flat),
        ("churn_rates", measures.CHURN, churn),
    ):
        row[name] = {
            key: source[key] for member in members for key in (member, f"{member}_details")
        }
    if "message_stats" in flat:
        row["message_stats"] = flat["message_stats"]
    return row


def _idle(row: Row, series: Series | None) -> Row:
    if series is not None and series.changed_ms < series.last_ms:
        since = datetime.fromtimestamp(series.changed_ms / 1000, UTC)
        row["idle_since"] = since.isoformat(timespec="milliseconds")
    return row


def _added(
    row: Row,
    series: Series | SeriesSum | None,
    names: Sequence[str],
    values: Sequence[int],
    spans: Spans,
) -> Row:
    shown = _moved(dict(zip(names, values, strict=True)))
    stats: Row = {}
    for place, (name, value) in enumerate(zip(names, values, strict=True)):
        if name in measures.LENGTHS:
            target, span = row, spans.lengths
        elif name in measures.DATA:
            target, span = row, spans.data
        elif name in measures.CHURN:
            target, span = row, None
        elif name in shown:
            target, span = stats, spans.messages
        else:
            continue
        target[name] = value
        target[f"{name}_details"] = details(series, place, span)
    if stats:
        row["message_stats"] = stats
    return row


def details(series: Series | SeriesSum | None, place: int, span: Span | None) -> Row:
    """The rate of one counter, and its history over ``span``."""
    if series is None:
        return {"rate": 0.0}
    shown: Row = {"rate": series.rate(place)}
    if span is not None:
        samples = series.samples(place, *span)
        shown["samples"] = [{"sample": value, "timestamp": at_ms} for at_ms, value in samples]
        shown["avg_rate"] = (samples[0][1] - samples[-1][1]) / span.age_s
        shown["avg"] = sum(value for _, value in samples) / len(samples)
    return shown


def _moved(counters: dict[str, int]) -> frozenset[str]:
    """The counters of the families in which anything has happened."""
    return frozenset(
        name
        for family in _FAMILIES
        if any(counters.get(each) for each in family)
        for name in family
    )
