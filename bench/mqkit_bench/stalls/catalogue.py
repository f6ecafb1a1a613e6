"""The actions of ``mqkit bench stalls``."""

from __future__ import annotations

import time

from mqkit_bench.stalls import (
    consumers,
    dead_letters,
    exchanges,
    fan_out,
    handshakes,
    management,
    queues,
    strangers,
)
from mqkit_bench.stalls.action import Action, Play
from mqkit_bench.stalls.strangers import beside_publisher, flood
from mqkit_bench.stalls.tenant import Tenant

NOBODY = "nobody"
NOBODY_S = 5.0


def nobody(tenant: Tenant) -> Play:
    """The probe alone: what it sees on this machine without an action."""

    def play() -> str:
        time.sleep(tenant.seconds(NOBODY_S))
        return ""

    return play


_ALL = (
    Action(NOBODY, "nothing: the probe alone", nobody),
    Action(
        "fork",
        "a fork of dead-letter exchanges, `x-max-length: 0`, 24 levels (48 queues), one message",
        dead_letters.fork,
    ),
    Action(
        "chain-ttl",
        "a chain of 1,000 queues with TTL 0, dead-lettering to the next, one message",
        dead_letters.chain_of_ttl,
    ),
    Action(
        "chain-max-length",
        "a chain of 500 queues with max-length 0, 20 messages",
        dead_letters.chain_of_limits,
    ),
    Action("cycle", "a dead-letter cycle with max-length 0, 3,000 messages", dead_letters.cycle),
    Action(
        "nack-fan-out",
        "one nack multiple of 2,000 into a dead-letter fanout of 1,000",
        dead_letters.nack_to_fan_out,
    ),
    Action("nack", "a nack of 65,000 to a dead-letter exchange", dead_letters.nack_to_queue),
    Action("requeue", "a requeue of 65,000", dead_letters.requeue),
    Action(
        "expire",
        "200,000 messages expire at once into a dead-letter exchange",
        dead_letters.expire,
    ),
    Action(
        "limit-lowered",
        "a policy lowers the limit of a queue of 1,000,000 messages to 1",
        dead_letters.limit_lowered,
    ),
    Action(
        "delayed",
        "200,000 delayed messages are due at once",
        dead_letters.delayed,
        is_mqkits=True,
    ),
    Action("consume", "40,000 basic.consume on one queue", consumers.consume),
    Action(
        "publish-to-consumers",
        "20 publishes into a queue whose 40,000 consumers hold all that they may",
        consumers.publish_to_busy_consumers,
    ),
    Action("consume-cancel", "50,000 times consume and cancel", consumers.consume_and_cancel),
    Action(
        "consumers-leave",
        "a connection with the last consumers of 20,000 auto-delete queues ends",
        consumers.consumers_leave,
    ),
    Action(
        "exclusive", "20,000 exclusive queues at a connection's end", consumers.exclusive_queues
    ),
    Action("unacked-close", "a connection with 960,000 unacked closes", consumers.unacked_close),
    Action("recover", "20 basic.recover with 65,000 unacked", consumers.recover),
    Action("channels", "2,000 channels opened and closed, five times", consumers.channels),
    Action(
        "channels-close",
        "a connection whose 2,000 channels hold 10 unacked each closes",
        consumers.channels_with_unacked,
    ),
    Action(
        "fan-out-1000",
        "3,000 tiny publishes in one write to a fanout of 1,000 queues",
        fan_out.thousand_queues,
    ),
    Action(
        "fan-out-100",
        "a fanout of 100 queues, 20,000 tiny publishes",
        fan_out.hundred_queues,
    ),
    Action("fan-out-50000", "a fanout of 50,000 queues, one publish", fan_out.one_publish),
    Action("large-bodies", "16 MB to 50 queues", fan_out.large_bodies),
    Action("cc", "500 publishes with 1,000 queues in their CC", fan_out.carbon_copies),
    Action(
        "commit-fan-out",
        "tx.commit of 1,000 messages to a fanout of 1,000",
        fan_out.commit_to_fan_out,
    ),
    Action("commit", "tx.commit of 100,000 messages", fan_out.commit),
    Action(
        "headers",
        "500 publishes in one write to a headers exchange with 10,000 bindings",
        exchanges.headers,
    ),
    Action(
        "consistent-hash",
        "200 publishes to a consistent-hash exchange with 20,000 queues",
        exchanges.consistent_hash,
    ),
    Action(
        "topic",
        "200 publishes with 30 words to a topic exchange with 2,000 patterns of 5 `#`",
        exchanges.few_words,
    ),
    Action(
        "topic-100",
        "200 publishes with 100 words to a topic exchange with 2,000 patterns of 13 `#`",
        exchanges.many_words,
        is_mqkits=True,
    ),
    Action("exchange-chain", "a chain of 2,000 headers exchanges, 100 publishes", exchanges.chain),
    Action(
        "alternates",
        "a chain of 2,000 alternate exchanges, 100 publishes",
        exchanges.alternates,
    ),
    Action(
        "exchange-delete",
        "an exchange with 100,000 bindings is deleted",
        exchanges.exchange_deleted,
    ),
    Action(
        "bound-queue-delete",
        "a queue with 100,000 bindings is deleted",
        exchanges.bound_queue_deleted,
    ),
    Action("bindings-list", "five lists of 100,000 bindings", exchanges.bindings_listed),
    Action("bind", "100,000 bindings in one write", exchanges.bind_flood),
    Action("delete", "delete of a queue with 1,000,000 messages", queues.delete),
    Action("purge", "purge of 1,000,000 messages", queues.purge),
    Action("priorities", "2,000 queues with 255 priorities declared", queues.priorities),
    Action("passive", "50,000 passive declarations in one write", queues.declared_passively),
    Action("get-empty", "50,000 basic.get of an empty queue in one write", queues.got_empty),
    Action("queues-expire", "20,000 unused queues expire at once", queues.expire),
    Action("queues-list", "three lists of 50,000 queues", queues.listed),
    Action("policy", "a policy for 50,000 queues", queues.policy),
    Action(
        "http-numbers",
        "HTTP publish, 20 MB of JSON with 10 million numbers in the headers",
        management.publish_numbers,
    ),
    Action(
        "http-keys",
        "HTTP publish, 19 MB of JSON with 1.6 million headers",
        management.publish_keys,
    ),
    Action(
        "everything-listed",
        "ten times six lists beside 10,000 queues, as monitoring asks",
        management.everything_listed,
    ),
    Action(
        "import", "import of 9 MB of definitions", management.definitions, is_administrators=True
    ),
    Action(
        "vhost-delete",
        "vhost with 50,000 durable queues deleted",
        management.vhost_deleted,
        is_administrators=True,
    ),
    Action("logins", "2,500 connections that log in at once", handshakes.logins),
    Action("tls", "2,500 TLS handshakes at once, which stall then", handshakes.tls),
    Action("tls-trickle", "300 TLS handshakes an octet at a time", handshakes.tls_trickle),
    Action("idle-sockets", "1,324 sockets that say nothing", strangers.idle_sockets),
    Action("half-requests", "300 half HTTP requests", strangers.half_requests),
    Action(
        "http-headers",
        "64 KB of header lines without a login, on 4 sockets again and again",
        flood(strangers.header_lines),
    ),
    Action(
        "http-paths",
        "60 kB of `%2f` in a path without a login, on 4 sockets again and again",
        flood(strangers.long_paths),
    ),
    Action(
        "heartbeats",
        "two connections send nothing but heartbeats",
        flood(strangers.heartbeats),
    ),
    Action("wrong-logins", "wrong logins from 100 addresses", flood(strangers.wrong_logins)),
    Action(
        "http-headers-publisher",
        "the same header lines beside a busy publisher",
        beside_publisher(strangers.header_lines),
    ),
    Action(
        "http-paths-publisher",
        "the same paths beside a busy publisher",
        beside_publisher(strangers.long_paths),
    ),
    Action(
        "heartbeats-publisher",
        "the same heartbeats beside a busy publisher",
        beside_publisher(strangers.heartbeats),
    ),
)
CATALOGUE = {action.name: action for action in _ALL}
"""All actions by name, in the order in which they are played."""
