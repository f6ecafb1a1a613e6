"""Settings of the client, from arguments or from ``MQKIT_*`` environment variables.

    MQKIT_URLS=amqp://app:secret@mq1/,amqp://app:secret@mq2/   MQKIT_HEARTBEAT_S=10   python app.py

``MQKIT_URL`` is read where ``MQKIT_URLS`` is not set. A URL is a secret here: neither a repr, nor a
log line, nor the message of an error shows its password.
"""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Annotated, Any, Literal, Self
from urllib.parse import urlsplit

from pydantic import (
    AliasChoices,
    Field,
    NonNegativeInt,
    PositiveFloat,
    PositiveInt,
    SecretStr,
    ValidationError,
    field_validator,
    model_validator,
)
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from mqkit.errors import ConfigurationError
from mqkit.health.address import parse_address
from mqkit.tls import DEFAULT_TLS, TlsOptions, check_tls, query_parameters, said_of_tls
from mqkit.transport.choice import DEFAULT, check_name
from mqkit.transport.seam import Endpoint
from mqkit.url import parse, redact

DEFAULT_URL = "amqp://guest:guest@127.0.0.1:5672/"

MESSAGE_BYTES_MAX = 16 * 1024 * 1024
"""RabbitMQ's own limit since 4.0 (``max_message_size``); a larger message is refused unsent."""

WAITING_BYTES_MAX = 64 * 1024 * 1024
"""Four of the largest messages, and of small ones many seconds' worth."""

HEALTH_LIVE_MIN_S = 2.0
"""The event loop is looked at once a second."""

DRIFT_EVERY_MIN_S = 0.1
"""A look more often than that would be a load, and no watch."""

DRIFT_RATE_MAX = 10_000
"""About what one channel can ask with nobody else at work."""


class Settings(BaseSettings):
    """Settings for connecting and publishing. Make one with :meth:`load`."""

    model_config = SettingsConfigDict(
        env_prefix="MQKIT_",
        frozen=True,
        extra="ignore",
        populate_by_name=True,
        hide_input_in_errors=True,
    )

    urls: Annotated[tuple[SecretStr, ...], NoDecode] = Field(
        default=(SecretStr(DEFAULT_URL),),
        validation_alias=AliasChoices("MQKIT_URLS", "MQKIT_URL"),
    )
    """The hosts of one broker or cluster, tried in this order; separated by commas."""
    tls_cacertfile: str | None = None
    """Authorities (PEM) that the broker's certificate is verified by; by default the system's.
    These five are for URLs that don't say it themselves (see :mod:`mqkit.tls`)."""
    tls_certfile: str | None = None
    """The certificate (PEM) to show to the broker."""
    tls_keyfile: str | None = None
    """The client certificate's private key, where it is not in the same file."""
    tls_server_name: str | None = None
    """The name in the broker's certificate, where it is not the host."""
    tls_verify: bool = True
    transport: str = DEFAULT
    """The AMQP library: one of :data:`mqkit.transport.choice.TRANSPORTS` by its name."""
    connection_name: str = "mqkit"
    """Shown in the broker's list of connections."""
    connect_timeout_s: PositiveFloat = 10.0
    """The time for one host: TCP, TLS, login and opening the vhost together."""
    heartbeat_s: NonNegativeInt = 20
    """RabbitMQ's guide advises 5 to 20 seconds; 0 turns heartbeats off."""
    setup_timeout_s: PositiveFloat = 60.0
    """The time for declaring the topology and starting the consumers after a connect."""
    reconnect_first_s: PositiveFloat = 0.5
    reconnect_max_s: PositiveFloat = 30.0
    """Waits between attempts lie between zero and a ceiling that grows from the first to this;
    while nobody answers, only to :data:`mqkit.supervision.pauses.UNANSWERED_MAX_S`."""
    channels_max: PositiveInt = 8
    """Size of the pool of confirm channels."""
    borrow_timeout_s: PositiveFloat = 15.0
    publish_lanes: PositiveInt = 2
    """The number of these channels that the publisher holds."""
    publish_window: PositiveInt = 1000
    """Publishes in flight per lane. A confirm costs a disk sync, which this many share."""
    publish_deadline_s: PositiveFloat = 30.0
    """The time for a publish: connecting, confirm and retries together; a call may give another."""
    publish_waiting_bytes_max: PositiveInt = WAITING_BYTES_MAX
    """Bodies that wait to be written while the broker is away, or blocks; a call that finds so many
    waits before it has its message made."""
    on_blocked: Literal["wait", "fail"] = "wait"
    """While the broker blocks publishers (``connection.blocked``), a publish waits, or is rejected
    at once; a call may say otherwise."""
    max_message_bytes: PositiveInt = MESSAGE_BYTES_MAX
    drift_every_s: Annotated[float, Field(ge=DRIFT_EVERY_MIN_S)] | None = None
    """The time between looks for drift (:mod:`mqkit.drift`); without it there is one at each
    connect."""
    drift_rate: Annotated[int, Field(ge=1, le=DRIFT_RATE_MAX)] = 200
    """Questions of such looks in a second, at most."""
    management_url: SecretStr | None = None
    """The broker's management API, ``http://user:password@host:15672``: looks for drift see
    everything with it."""
    metrics: bool | None = None
    """Measure handlers and publishes for ``app.metrics``, where it counts only otherwise; unless
    said, as ``health`` is served or not."""
    health: str | None = None
    """The address that answers probes, ``127.0.0.1:8080``; without it, none are answered."""
    health_live_s: Annotated[float, Field(ge=HEALTH_LIVE_MIN_S)] = 10.0
    """An event loop that has not turned for longer is not live. Ten seconds are many turns of the
    slowest program, and within three probes of an orchestrator."""
    health_blocked_s: PositiveFloat = 60.0
    """A broker's alarm that lasts for longer leaves the app not ready; publishes wait for half as
    long, unless said otherwise."""
    health_stalled_s: PositiveFloat = 300.0
    """A consumer that has messages and settles none for longer leaves the app not ready, and never
    before one and a half times its handler's timeout."""
    alert_webhook: SecretStr | None = None
    """The URL that alerts about queues and lots are POSTed to, a secret as a broker's is."""

    @classmethod
    def load(cls, **overrides: Any) -> Self:
        """Arguments first, then the environment, then defaults.

        Raises :exc:`~mqkit.errors.ConfigurationError` naming each setting that can't be used.
        """
        try:
            return cls(**overrides)
        except ConfigurationError as error:
            told = str(error)
        except ValidationError as error:
            faults = "; ".join(
                f"{'.'.join(str(part) for part in fault['loc'])}: {fault['msg']}"
                for fault in error.errors(include_input=False, include_url=False)
            )
            told = f"settings can't be used: {faults}"
        overrides.clear()  # URLs, which a traceback with local variables would show
        raise ConfigurationError(told)

    @property
    def endpoints(self) -> tuple[Endpoint, ...]:
        """The brokers to connect to, in order."""
        own = self._tls_options
        found = []
        for url in self.urls:
            endpoint = parse(url.get_secret_value())
            if not said_of_tls(query_parameters(urlsplit(url.get_secret_value()).query)):
                endpoint = replace(endpoint, tls_options=own)
            found.append(endpoint)
        return tuple(found)

    @field_validator("urls", mode="before")
    @classmethod
    def _split(cls, value: Any) -> Any:
        if isinstance(value, str):
            return tuple(part.strip() for part in value.split(",") if part.strip())
        return value

    @field_validator("urls")
    @classmethod
    def _parse(cls, urls: tuple[SecretStr, ...]) -> tuple[SecretStr, ...]:
        if not urls:
            raise ConfigurationError(f"no AMQP URL was given (example: {redact(DEFAULT_URL)})")
        for url in urls:
            parse(url.get_secret_value())
        return urls

    @field_validator("transport")
    @classmethod
    def _exists(cls, name: str) -> str:
        check_name(name)
        return name

    @field_validator("health")
    @classmethod
    def _is_address(cls, address: str | None) -> str | None:
        if address is not None:
            parse_address(address)
        return address

    @field_validator("management_url")
    @classmethod
    def _is_http(cls, url: SecretStr | None) -> SecretStr | None:
        if url is not None:
            parts = urlsplit(url.get_secret_value())
            if parts.scheme not in ("http", "https") or not parts.hostname:
                raise ConfigurationError(
                    f"the management URL {redact(url.get_secret_value())!r} is not one"
                    " (expected something like http://guest:guest@127.0.0.1:15672)"
                )
        return url

    @model_validator(mode="after")
    def _lanes_fit_the_pool(self) -> Self:
        if self.publish_lanes > self.channels_max:
            raise ConfigurationError(
                f"publish_lanes ({self.publish_lanes}) are channels of the pool, which has only "
                f"{self.channels_max} (channels_max)"
            )
        return self

    @model_validator(mode="after")
    def _tls_has_a_use(self) -> Self:
        options = self._tls_options
        check_tls(options, "tls_{}".format)
        without = [url for url in self.urls if not parse(url.get_secret_value()).tls]
        if without and options != DEFAULT_TLS:
            given = next(
                field.name
                for field in fields(options)
                if getattr(options, field.name) != getattr(DEFAULT_TLS, field.name)
            )
            raise ConfigurationError(
                f"tls_{given} is set, and {redact(without[0].get_secret_value())} does not speak"
                " TLS: write amqps://, or leave the tls_ settings out"
            )
        return self

    @property
    def _tls_options(self) -> TlsOptions:
        return TlsOptions(
            self.tls_cacertfile,
            self.tls_certfile,
            self.tls_keyfile,
            self.tls_server_name,
            self.tls_verify,
        )

    def __repr_args__(self) -> Any:
        for name, value in super().__repr_args__():
            if name == "urls":
                yield name, tuple(redact(url.get_secret_value()) for url in self.urls)
            elif name == "management_url" and isinstance(value, SecretStr):
                yield name, redact(value.get_secret_value())
            else:
                yield name, value
