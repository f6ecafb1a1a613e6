"""The output of ``ctl`` commands, in each format."""

from __future__ import annotations

import json
from typing import Any

import pytest

from mqkit_cli.ctl.arguments import Line, parse
from mqkit_cli.ctl.exits import UsageError
from mqkit_cli.ctl.output import Output

ROWS: list[dict[str, Any]] = [
    {"name": "a", "messages": 3, "other": 1},
    {"name": 'b, "c"', "policy": None},
]


def printed(options: str) -> list[str]:
    lines: list[str] = []
    output = Output(parse(options.split(), {}), lines.append)
    output.remark("Listing ...")
    output.rows(("name", "messages", "policy"), ROWS)
    return lines


def test_a_table_has_a_remark_names_and_tabs() -> None:
    assert printed("") == [
        "Listing ...",
        "name\tmessages\tpolicy",
        "a\t3\t",
        'b, "c"\t\t',
    ]


def test_less_is_said_when_less_is_asked_for() -> None:
    everything = printed("")
    assert printed("-q") == printed("--quiet") == everything[1:]
    assert printed("-s") == printed("--silent") == everything[2:]
    assert printed("--no-table-headers") == [everything[0], *everything[2:]]


def test_json_and_csv() -> None:
    (text,) = printed("--formatter json")
    assert json.loads(text) == [
        {"name": "a", "messages": 3, "policy": None},
        {"name": 'b, "c"', "messages": None, "policy": None},
    ]
    assert printed("--formatter=csv") == ["name,messages,policy", "a,3,", '"b, ""c""",,']


def test_no_rows_print_nothing() -> None:
    lines: list[str] = []
    Output(Line(), lines.append).rows(("name",), [])
    assert lines == []


def test_an_unknown_format_is_refused() -> None:
    with pytest.raises(UsageError, match="'erlang' is not known"):
        printed("--formatter erlang")
