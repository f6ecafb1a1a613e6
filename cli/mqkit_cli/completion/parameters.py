"""Completions as typer takes them, for ``autocompletion=``: of a context and the text begun so far.

The broker is the one in ``MQKIT_MANAGEMENT_URL``; without it there are no names. The virtual host
is that of ``--url`` or ``MQKIT_URL``.
"""

from __future__ import annotations

import os

import typer

from mqkit_cli.completion.asking import ANSWER_S, Names, names
from mqkit_cli.completion.ctl_words import next_word
from mqkit_cli.completion.names import EXCHANGES, PARKING_LOTS, QUEUES
from mqkit_cli.connection import MANAGEMENT_URL_VARIABLE, URL_VARIABLE
from mqkit_cli.ctl.main import COMMANDS


def queue_names(context: typer.Context, incomplete: str) -> list[str]:
    """Queues, for a parameter that takes one."""
    return _names(context, Names(QUEUES, incomplete))


def exchange_names(context: typer.Context, incomplete: str) -> list[str]:
    """Exchanges, for a parameter that takes one."""
    return _names(context, Names(EXCHANGES, incomplete))


def parking_lot_names(context: typer.Context, incomplete: str) -> list[str]:
    """Parking lots, for a parameter that takes one."""
    return _names(context, Names(PARKING_LOTS, incomplete))


def routing_keys(context: typer.Context, incomplete: str) -> list[str]:
    """Routing keys, as far as a broker knows them: the default exchange's are names of queues."""
    if context.params.get("exchange") != "":
        return []
    return queue_names(context, incomplete)


def ctl_words(context: typer.Context, incomplete: str) -> list[str]:
    """Commands of ``mqkit ctl``, and names where they take one."""
    wanted = next_word(context.params.get("words") or (), COMMANDS)
    if wanted.kind is None:
        return [word for word in wanted.words if word.startswith(incomplete)]
    return _names(context, Names(wanted.kind, incomplete, wanted.vhost))


def _names(context: typer.Context, wanted: Names) -> list[str]:
    management_url = os.environ.get(MANAGEMENT_URL_VARIABLE)
    if not management_url:
        return []
    url = context.params.get("url") or os.environ.get(URL_VARIABLE)
    return names(wanted, management_url, url, ANSWER_S)
