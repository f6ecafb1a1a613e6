"""Command lines, taken apart as rabbitmqctl does."""

from __future__ import annotations

import pytest

from mqkit_cli.ctl.arguments import FLAG, VALUE, Line, parse
from mqkit_cli.ctl.exits import UsageError

OWN = {"set_policy": {"--priority": VALUE}, "delete_queue": {"--if-empty": FLAG}}


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ([], Line()),
        (["list_queues"], Line("list_queues")),
        (
            ["-q", "list_queues", "-p", "v", "name", "messages"],
            Line("list_queues", ["name", "messages"], {"--quiet": "", "--vhost": "v"}),
        ),
        (["-n", "rabbit@here", "status"], Line("status", [], {"--node": "rabbit@here"})),
        (
            ["set_policy", "--priority", "3", "a", "^a", "{}"],
            Line("set_policy", ["a", "^a", "{}"], {"--priority": "3"}),
        ),
        (
            ["set_policy", "a", "--priority=-3", "^a", "{}"],
            Line("set_policy", ["a", "^a", "{}"], {"--priority": "-3"}),
        ),
        (["delete_queue", "q", "--if-empty"], Line("delete_queue", ["q"], {"--if-empty": ""})),
        (
            ["close_all_connections", "-p", "/", "--", "-p", "bye"],
            Line("close_all_connections", ["-p", "bye"], {"--vhost": "/"}),
        ),
        (["add_user", "u", "-"], Line("add_user", ["u", "-"])),
    ],
)
def test_options_may_stand_anywhere(words: list[str], expected: Line) -> None:
    assert parse(words, OWN) == expected


@pytest.mark.parametrize(
    "words",
    [
        ["list_queues", "--nope"],
        ["list_queues", "--priority", "3"],
        ["list_queues", "-p"],
        ["--if-empty", "delete_queue", "q"],
    ],
)
def test_an_option_that_is_not_the_command_s_is_refused(words: list[str]) -> None:
    with pytest.raises(UsageError):
        parse(words, OWN)


def test_the_default_virtual_host() -> None:
    assert parse(["list_queues"], OWN).vhost == "/"
    assert parse(["list_queues", "--vhost", ""], OWN).vhost == ""
