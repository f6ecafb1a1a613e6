"""Every command that the doctor shows is one of mqkit's, with options that it has."""

from __future__ import annotations

import shlex
from typing import Any

import typer.main

from mqkit.declaration import Exchange, Queue
from mqkit.delay.compile import compile_delay
from mqkit.retry.compile import compile_parking_lot, compile_tier
from mqkit.topology import Check, Finding, Snapshot, check, examine
from mqkit_cli.app import app
from mqkit_cli.ctl.arguments import parse
from mqkit_cli.ctl.main import COMMANDS

DLX, KEY = "x-dead-letter-exchange", "x-dead-letter-routing-key"
FILE = """
exchanges:
  x: {type: topic, delays: [1s], alternate: gone}
  theirs: {external: true}
queues:
  q: {retry: {after: [1s], then: park}}
  limited: {max_length: 5}
  missing: {dead_letter: {exchange: gone}}
  unrouted: {dead_letter: {exchange: "", key: gone}}
  wait-for-q: {dead_letter: {exchange: "", key: bound}}
  bound: {bind: [{from: x}]}
  a: {message_ttl: 1s, dead_letter: {exchange: "", key: b}}
  b: {message_ttl: 1s, dead_letter: {exchange: "", key: a}}
  poison: {type: quorum}
  void:
    type: quorum
    dead_letter: {exchange: "", key: q}
    arguments: {x-dead-letter-strategy: at-least-once}
"""
BROKER = Snapshot.of(
    "/shop",
    (
        Exchange("x", "topic"),
        Exchange("lonely"),
        Queue("q"),
        compile_tier("q", 5_000),
        *compile_delay("x", 5_000),
        compile_parking_lot("away"),
        Queue("full", arguments={"x-max-length": 0}),
        Queue("poison", arguments={"x-queue-type": "quorum"}),
        Queue("void", arguments={"x-queue-type": "quorum", DLX: "", KEY: "q",
                                 "x-dead-letter-strategy": "at-least-once"}),
        Queue("a", arguments={DLX: "", KEY: "b", "x-message-ttl": 5}),
        Queue("b", arguments={DLX: "", KEY: "a", "x-message-ttl": 5}),
        Queue("wait", arguments={DLX: "", KEY: "full"}),
    ),
)  # fmt: skip


def found() -> list[Finding]:
    topology, _ = check(FILE, "topology.yaml")
    return [*examine(topology), *examine(topology, BROKER), *examine(None, BROKER)]


def test_every_check_but_that_of_counts_is_here() -> None:
    """The last one needs messages, and its command has no other options than these have."""
    assert {finding.check for finding in found()} == set(Check) - {Check.QUEUE_UNCONSUMED}


def test_every_command_parses() -> None:
    commands: dict[tuple[str, ...], Any] = {}

    def collect(command: Any, words: tuple[str, ...]) -> None:
        commands[words] = command
        for name, child in getattr(command, "commands", {}).items():
            collect(child, (*words, name))

    collect(typer.main.get_command(app), ())
    for finding in found():
        words = shlex.split(finding.mend.command)
        words = words[4:] if words[0] == "printf" else words
        assert words.pop(0) == "mqkit"
        if words[0] == "ctl":
            line = parse(words[1:], {name: it.options for name, it in COMMANDS.items()})
            COMMANDS[line.command].check(line)
            assert line.vhost == "/shop"
        elif finding.check is not Check.LOT_UNWATCHED or ("lots", "run") in commands:
            name = tuple(words[:2])
            assert name in commands, finding.mend.command
            commands[name].make_context(name[-1], words[2:])
