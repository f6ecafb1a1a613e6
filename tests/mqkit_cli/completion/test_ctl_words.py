"""The next word of a command line of `mqkit ctl`."""

from __future__ import annotations

import pytest

from mqkit_cli.completion.ctl_words import NextWord, next_word
from mqkit_cli.completion.names import EXCHANGES, QUEUES, VHOSTS, Kind
from mqkit_cli.ctl.main import COMMANDS


@pytest.mark.parametrize("before", ["", "-q", "-p shop"])
def test_first_comes_a_command(before: str) -> None:
    assert next_word(before.split(), COMMANDS).words == tuple(sorted(COMMANDS))


@pytest.mark.parametrize(
    ("before", "kind", "vhost"),
    [
        ("-p", VHOSTS, "/"),
        ("list_queues --vhost", VHOSTS, "/"),
        ("delete_vhost", VHOSTS, "/"),
        ("delete_queue", QUEUES, "/"),
        ("purge_queue -p shop", QUEUES, "shop"),
        ("clear_topic_permissions me", EXCHANGES, "/"),
        ("set_topic_permissions -p shop me", EXCHANGES, "shop"),
    ],
)
def test_a_name_where_the_usage_has_one(before: str, kind: Kind, vhost: str) -> None:
    assert next_word(before.split(), COMMANDS) == NextWord(kind=kind, vhost=vhost)


@pytest.mark.parametrize(
    "before", ["add_user", "delete_queue q", "frobnicate", "list_queues", "-t", "status --nonsense"]
)
def test_anything_may_follow(before: str) -> None:
    found = next_word(before.split(), COMMANDS)
    assert (found.kind, found.words) == (None, ())
