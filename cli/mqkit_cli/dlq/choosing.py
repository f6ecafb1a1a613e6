"""The options that choose messages of a lot: all that are given must hold; none means every
message."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from inspect import Parameter, signature
from typing import Annotated, Any, ParamSpec, TypeVar

import typer

from mqkit.errors import ConfigurationError
from mqkit.lots.choice import SAMPLE_MAX, Choice
from mqkit.lots.where import Condition, WhereError, parse
from mqkit.retry.duration import parse_duration
from mqkit.retry.known_lots import KnownLots
from mqkit.retry.parked import Selection
from mqkit_cli.messages.pairs import pairs

WhereOption = Annotated[
    str | None,
    typer.Option(
        metavar="CONDITION",
        help="Only where this holds, such as 'body.order.total > 100 and age > 1h'.",
    ),
]
HeaderOption = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME=VALUE", help="Only messages with this header; repeated: all of them."
    ),
]
IdOption = Annotated[
    list[str] | None,
    typer.Option("--id", metavar="ID", help="Only the message with this id; may be repeated."),
]
ReasonOption = Annotated[
    str, typer.Option(metavar="TEXT", help="Only if the reason of parking has this in it.")
]
ErrorOption = Annotated[str, typer.Option(metavar="TEXT", help="Only if the error has this in it.")]
OlderOption = Annotated[
    str | None, typer.Option(metavar="DURATION", help="Only what lies there for longer, like 1h.")
]
YoungerOption = Annotated[
    str | None, typer.Option(metavar="DURATION", help="Only what lies there for less, like 10m.")
]
AttemptsOption = Annotated[
    int | None, typer.Option(metavar="N", min=1, help="Only what failed so many times or more.")
]
SampleOption = Annotated[
    int | None,
    typer.Option(metavar="N", min=1, max=SAMPLE_MAX, help="So many of the chosen, by chance."),
]
SeedOption = Annotated[
    int | None, typer.Option(metavar="N", help="The same sample again for the same seed.")
]
LimitOption = Annotated[int | None, typer.Option(metavar="N", min=1, help="At most so many.")]

ParamsT = ParamSpec("ParamsT")
ResultT = TypeVar("ResultT")


def choice_of(
    known: KnownLots,
    where: WhereOption = None,
    header: HeaderOption = None,
    message_id: IdOption = None,
    reason: ReasonOption = "",
    error: ErrorOption = "",
    older_than: OlderOption = None,
    younger_than: YoungerOption = None,
    attempts: AttemptsOption = None,
    sample: SampleOption = None,
    seed: SeedOption = None,
    limit: LimitOption = None,
) -> Choice:
    """The choice that the options make. Raises :exc:`~mqkit.errors.ConfigurationError`."""
    return Choice(
        selection=Selection(frozenset(message_id or ()), reason, error),
        headers=pairs(header or (), "--header"),
        where=None if where is None else _condition(where),
        older_than_ms=None if older_than is None else parse_duration(older_than),
        younger_than_ms=None if younger_than is None else parse_duration(younger_than),
        attempts_min=attempts,
        sample=sample,
        seed=seed,
        limit=limit,
        known=known,
    )


_OPTIONS = tuple(
    parameter
    for name, parameter in signature(choice_of, eval_str=True).parameters.items()
    if name != "known"
)


def with_choice(command: Callable[ParamsT, ResultT]) -> Callable[..., ResultT]:
    """``command`` with all of these options beside its own; it takes them as ``chosen``, a function
    from what is known of lots to the choice."""

    @wraps(command)
    def taking(**given: Any) -> ResultT:
        options = {each.name: given.pop(each.name) for each in _OPTIONS}

        def chosen(known: KnownLots) -> Choice:
            return choice_of(known, **options)

        called: Callable[..., ResultT] = command
        return called(**given, chosen=chosen)

    own = [
        each
        for each in signature(command, eval_str=True).parameters.values()
        if each.name != "chosen"
    ]
    arguments = [each for each in own if each.default is Parameter.empty]
    rest = [each for each in own if each.default is not Parameter.empty]
    parameters = [
        each.replace(kind=Parameter.KEYWORD_ONLY) for each in (*arguments, *_OPTIONS, *rest)
    ]
    taking.__signature__ = signature(command).replace(parameters=parameters)  # type: ignore[attr-defined]
    taking.__annotations__ = {each.name: each.annotation for each in parameters}
    return taking


def _condition(text: str) -> Condition:
    try:
        return parse(text)
    except WhereError as error:
        raise ConfigurationError(f"--where, {error}") from None
