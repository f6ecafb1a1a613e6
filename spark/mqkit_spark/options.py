"""The options of the ``amqp`` sink, typed and checked before a job starts.

Spark hands options over as text with lower-cased names; they are matched without regard to case.
An option that is not known is an error, because Spark itself accepts any. The URL, which holds a
password, never shows in a repr.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from enum import StrEnum
from typing import Any

from mqkit.errors import ConfigurationError
from mqkit.transport.blocking_choice import BlockingChoice
from mqkit.transport.seam import Endpoint
from mqkit.transport.window_size import DEFAULT_WINDOW_BYTES, DEFAULT_WINDOW_MESSAGES
from mqkit.url import parse

SHORT_STRING_BYTES_MAX = 255
"""AMQP 0-9-1, section 4.2.5.3: names, keys and string properties have one octet of length."""

MESSAGE_BYTES_MAX_DEFAULT = 16 * 1024 * 1024
"""RabbitMQ 4's own default for ``max_message_size``; older ones allow more."""


class OnUnroutable(StrEnum):
    """The treatment of a message that no queue takes."""

    FAIL = "fail"
    DROP = "drop"


class OnBadRow(StrEnum):
    """The treatment of a row that can't be made a message."""

    FAIL = "fail"
    DROP = "drop"


class MessageIds(StrEnum):
    """The source of message ids."""

    AUTO = "auto"
    """``{job}/{partition}/{row}``: the same in every attempt of a task."""
    COLUMN = "column"
    """The column ``message_id``: a business key, stable over submissions too."""
    NONE = "none"


@dataclass(frozen=True, slots=True, kw_only=True)
class SinkOptions:
    """The options of a job. Raises :exc:`~mqkit.errors.ConfigurationError` for values that can't
    be.

    A value given here wins over the column of the same meaning. ``message_ids`` of ``None`` means
    the column where there is one, else ``auto``. The two timeouts count time without any progress;
    time during which the broker has blocked the connection counts against ``blocked_timeout_s``
    only.
    """

    url: str = field(repr=False)
    exchange: str | None = None
    routing_key: str | None = None
    content_type: str | None = None
    persistent: bool = True
    message_ids: MessageIds | None = None
    job_id: str | None = None
    on_unroutable: OnUnroutable = OnUnroutable.FAIL
    on_bad_row: OnBadRow = OnBadRow.FAIL
    max_message_bytes: int = MESSAGE_BYTES_MAX_DEFAULT
    max_in_flight: int = DEFAULT_WINDOW_MESSAGES
    max_in_flight_bytes: int = DEFAULT_WINDOW_BYTES
    publish_retries: int = 3
    connect_timeout_s: float = 30.0
    confirm_timeout_s: float = 60.0
    blocked_timeout_s: float = 300.0
    transport: BlockingChoice = BlockingChoice.NATIVE

    def __post_init__(self) -> None:
        parse(self.url)
        for name, kind in _CHOICES.items():
            value = getattr(self, name)
            if value is not None:
                object.__setattr__(self, name, _chosen(name, kind, value))
        for name in ("max_message_bytes", "max_in_flight", "max_in_flight_bytes"):
            if getattr(self, name) < 1:
                raise ConfigurationError(f"{_option_name(name)} must be at least 1")
        for name in ("connect_timeout_s", "confirm_timeout_s", "blocked_timeout_s"):
            if getattr(self, name) <= 0:
                raise ConfigurationError(f"{_option_name(name)} must be more than 0 seconds")
        if self.publish_retries < 0:
            raise ConfigurationError("publishRetries must be at least 0")
        for name in ("exchange", "routing_key", "content_type"):
            value = getattr(self, name)
            if value is not None and len(value.encode()) > SHORT_STRING_BYTES_MAX:
                raise ConfigurationError(
                    f"{_option_name(name)} has more than {SHORT_STRING_BYTES_MAX} bytes"
                )

    @property
    def endpoint(self) -> Endpoint:
        """The broker that the URL names."""
        return parse(self.url)


def from_keywords(values: Mapping[str, Any]) -> SinkOptions:
    """The options under their Python names, for :func:`mqkit_spark.publish`.

    Raises :exc:`~mqkit.errors.ConfigurationError` as :func:`from_spark` does.
    """
    for name in values:
        if name not in _READERS:
            near = difflib.get_close_matches(name, _READERS, n=1) or sorted(_READERS)
            raise ConfigurationError(f"unknown option {name!r}; known: {', '.join(near)}")
    return SinkOptions(**values)


def from_spark(options: Mapping[str, str]) -> SinkOptions:
    """The options of ``df.write.format("amqp").option(...)``, in any letter case.

    Raises :exc:`~mqkit.errors.ConfigurationError`, which names the option and, for a name that is
    not known, the one that it resembles; it never repeats the value of ``url``.
    """
    values: dict[str, Any] = {}
    for given, text in options.items():
        known = _BY_LOWER_NAME.get(given.lower())
        if known is None:
            raise ConfigurationError(_unknown(given))
        name, read = known
        try:
            values[name] = read(text)
        except ValueError as error:
            raise ConfigurationError(f"option {_option_name(name)}: {error}") from None
    if "url" not in values:
        raise ConfigurationError(
            'option url is missing (example: .option("url", "amqp://user:password@host:5672/"))'
        )
    return SinkOptions(**values)


def _unknown(given: str) -> str:
    near = difflib.get_close_matches(given.lower(), _BY_LOWER_NAME, n=1)
    if near:
        return f"unknown option {given!r}; did you mean {_option_name(_BY_LOWER_NAME[near[0]][0])}?"
    names = ", ".join(sorted(map(_option_name, _READERS)))
    return f"unknown option {given!r}; the options are {names}"


def _text(text: str) -> str:
    return text


def _boolean(text: str) -> bool:
    match text.strip().lower():
        case "true":
            return True
        case "false":
            return False
    raise ValueError(f"expected true or false, not {text!r}")


def _whole_number(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise ValueError(f"expected a whole number, not {text!r}") from None


def _seconds(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise ValueError(f"expected a number of seconds, not {text!r}") from None


def _chosen(name: str, kind: type[StrEnum], value: str) -> StrEnum:
    try:
        return kind(value.strip().lower())
    except ValueError:
        words = ", ".join(item.value for item in kind)
        raise ConfigurationError(
            f"option {_option_name(name)}: expected one of {words}, not {value!r}"
        ) from None


_CHOICES: dict[str, type[StrEnum]] = {
    "message_ids": MessageIds,
    "on_unroutable": OnUnroutable,
    "on_bad_row": OnBadRow,
    "transport": BlockingChoice,
}

_READERS: dict[str, Callable[[str], Any]] = {
    "url": _text,
    "exchange": _text,
    "routing_key": _text,
    "content_type": _text,
    "persistent": _boolean,
    "message_ids": _text,
    "job_id": _text,
    "on_unroutable": _text,
    "on_bad_row": _text,
    "max_message_bytes": _whole_number,
    "max_in_flight": _whole_number,
    "max_in_flight_bytes": _whole_number,
    "publish_retries": _whole_number,
    "connect_timeout_s": _seconds,
    "confirm_timeout_s": _seconds,
    "blocked_timeout_s": _seconds,
    "transport": _text,
}
assert set(_READERS) == {each.name for each in fields(SinkOptions)}


def _option_name(name: str) -> str:
    """``max_in_flight`` as Spark users write it: ``maxInFlight``; seconds go without a unit."""
    first, *rest = name.removesuffix("_s").split("_")
    return first + "".join(word.capitalize() for word in rest)


_BY_LOWER_NAME = {_option_name(name).lower(): (name, read) for name, read in _READERS.items()}
