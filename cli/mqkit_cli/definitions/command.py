"""``mqkit broker export-definitions`` and ``import-definitions``: declarations, as a file.

They speak HTTP alone, so they work on RabbitMQ and on the reference broker.
"""

from __future__ import annotations

import json
from typing import Annotated

import typer

from mqkit_cli.connection import (
    TIMEOUT_S,
    ManagementUrlOption,
    TimeoutOption,
    UrlOption,
    target_of,
)
from mqkit_cli.definitions import file as definitions_file
from mqkit_cli.definitions.file import STREAM
from mqkit_cli.management import ManagementApi
from mqkit_cli.render import line, note

PATH = "/api/definitions"

IMPORT_TIMEOUT_S = 60.0
"""A broker answers an import when all of it is done; a hundred thousand objects take a while."""


def export_definitions(
    file: Annotated[
        str, typer.Argument(metavar="[FILE|-]", help="Where to write; - is stdout.")
    ] = STREAM,
    url: UrlOption = None,
    management_url: ManagementUrlOption = None,
    timeout_s: TimeoutOption = TIMEOUT_S,
) -> None:
    """Write what a broker declares to a file, in RabbitMQ's JSON format.

    The file is replaced whole or not at all. Items are in a fixed order, so that two exports
    compare line by line. Messages are not in it.
    """
    document = ManagementApi(target_of(url, management_url), timeout_s).get(PATH)
    definitions = definitions_file.parse(document, "the broker's answer")
    text = definitions_file.pretty(definitions)
    if file == STREAM:
        line(text.rstrip("\n"))
        return
    definitions_file.write(file, text)
    note(f"wrote {definitions_file.counted(definitions)} to {file}")


def import_definitions(
    file: Annotated[str, typer.Argument(metavar="FILE|-", help="What to read; - is stdin.")],
    url: UrlOption = None,
    management_url: ManagementUrlOption = None,
    timeout_s: TimeoutOption = TIMEOUT_S,
) -> None:
    """Declare on a broker what a file of definitions has. Nothing is deleted.

    The reference broker takes all of a file or nothing, and names what it refuses; RabbitMQ
    leaves out what it can't take, without a word. The same file may be imported again.
    """
    where = "stdin" if file == STREAM else file
    definitions = definitions_file.parse(definitions_file.read(file), where)
    api = ManagementApi(target_of(url, management_url), max(timeout_s, IMPORT_TIMEOUT_S))
    answer = api.post(PATH, json.dumps(definitions).encode())
    for skipped in definitions_file.skipped(answer):
        note(f"skipped {skipped}: a broker has given the name, and nobody may declare it")
    note(f"imported {where}, which has {definitions_file.counted(definitions)}")
