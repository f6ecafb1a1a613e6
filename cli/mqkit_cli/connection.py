"""The broker that a command speaks to, by its options and the environment."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated
from urllib.parse import quote, urlsplit

import typer

from mqkit.errors import ConfigurationError, DeadlineExceeded, Unreachable
from mqkit.transport.seam import Endpoint
from mqkit.url import parse
from mqkit_cli.errors import CommandError

if TYPE_CHECKING:
    from mqkit.topology import Snapshot

MANAGEMENT_PORT = 15672
MANAGEMENT_PORT_TLS = 15671

URL_VARIABLE = "MQKIT_URL"
MANAGEMENT_URL_VARIABLE = "MQKIT_MANAGEMENT_URL"

UrlOption = Annotated[
    str | None,
    typer.Option(
        "--url", metavar="URL", envvar=URL_VARIABLE, help="amqp://USER:PASSWORD@HOST:PORT/VHOST"
    ),
]
ManagementUrlOption = Annotated[
    str | None,
    typer.Option(
        "--management-url",
        metavar="URL",
        envvar=MANAGEMENT_URL_VARIABLE,
        help=f"The broker's HTTP API, by default http://HOST:{MANAGEMENT_PORT} with the host, user"
        " and password of --url.",
    ),
]
TimeoutOption = Annotated[
    float,
    typer.Option("--timeout", metavar="SECONDS", min=0.1, help="How long to wait for each answer."),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")]

TIMEOUT_S = 10.0


@dataclass(frozen=True, slots=True)
class Target:
    """A broker, as AMQP and as HTTP see it.

    ``is_derived``: nobody has said where the management API is; it is guessed from the AMQP URL.
    """

    endpoint: Endpoint
    management_url: str
    is_derived: bool = False

    async def snapshot(self, timeout_s: float) -> Snapshot:
        """The broker's objects, by its management API. Raises :exc:`CommandError` where it
        does not answer with them."""
        # Most commands need no topology, and `mqkit ctl` is started often: it is loaded here.
        from mqkit.topology import take_snapshot

        try:
            return await take_snapshot(
                self.management_url, self.endpoint.vhost, timeout_s=timeout_s
            )
        except (Unreachable, DeadlineExceeded) as error:
            what = "say where it is with" if self.is_derived else "check"
            raise CommandError(f"{error} ({what} --management-url)") from None
        except ConfigurationError as error:  # another server, a refused login, no such vhost
            advice = "check --management-url and its login, and the vhost of --url"
            raise CommandError(f"{error} ({advice})") from None


def endpoints_of(url: str | None) -> tuple[Endpoint, ...]:
    """The hosts of ``url`` (several are separated by commas).

    Raises :exc:`CommandError` if there is no URL: for commands that need what a broker holds.
    """
    places = tuple(parse(part.strip()) for part in (url or "").split(",") if part.strip())
    if not places:
        raise CommandError(
            f"no broker: give --url amqp://HOST/ or set {URL_VARIABLE}"
            " (`mqkit broker run` starts one on this machine)"
        )
    return places


def target_of(url: str | None, management_url: str | None) -> Target:
    """The broker that one URL names, or both. A management URL without a login gets that of
    ``url``."""
    if not management_url:
        endpoint = endpoints_of(url)[0]
        return Target(endpoint, _derived(endpoint), is_derived=True)
    if url:
        endpoint = endpoints_of(url)[0]
        return Target(endpoint, _with_login(management_url, endpoint))
    # Enough for reading: the host is never connected to over AMQP then.
    return Target(Endpoint(host=urlsplit(management_url).hostname or ""), management_url)


def in_vhost(target: Target, vhost: str | None) -> Target:
    """``target`` in the vhost that a topology file names, if it names one.

    Raises :exc:`CommandError` when the URL names another.
    """
    named = target.endpoint.vhost
    if vhost is None or vhost == named:
        return target
    if named != "/":
        raise CommandError(
            f"the file is for the vhost {vhost!r}, the URL for {named!r}: leave one of them out"
        )
    return replace(target, endpoint=replace(target.endpoint, vhost=vhost))


def _derived(endpoint: Endpoint) -> str:
    scheme, port = ("https", MANAGEMENT_PORT_TLS) if endpoint.tls else ("http", MANAGEMENT_PORT)
    host = f"[{endpoint.host}]" if ":" in endpoint.host else endpoint.host
    query = endpoint.tls_options.query() if endpoint.tls else ""
    return f"{scheme}://{_login(endpoint)}@{host}:{port}" + (f"?{query}" if query else "")


def _with_login(management_url: str, endpoint: Endpoint) -> str:
    parts = urlsplit(management_url)
    if parts.username or not parts.netloc:
        return management_url
    return parts._replace(netloc=f"{_login(endpoint)}@{parts.netloc}").geturl()


def _login(endpoint: Endpoint) -> str:
    login = endpoint.credentials
    return f"{quote(login.username, safe='')}:{quote(login.password, safe='')}"
