"""The arguments of an :class:`~mqkit.App` as it needs them. Raises
:exc:`~mqkit.errors.ConfigurationError` for what they can't be."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeAlias

from mqkit.errors import ConfigurationError
from mqkit.timing.seconds import Span, seconds
from mqkit.topology import Temporary, Topology

if TYPE_CHECKING:
    from mqkit.settings import Settings

TopologyFiles: TypeAlias = str | os.PathLike[str] | Sequence[str | os.PathLike[str]]
"""A topology's YAML file, or several, each laid over those before it."""


def chosen_settings(
    url: str | Sequence[str] | None,
    settings: Settings | None,
    drift_every: Span | None = None,
    **others: object,
) -> Settings:
    """``settings``, or those of the environment with ``url``; and among them ``drift_every`` and
    ``others``, by their names, as far as they are not ``None``."""
    if url is not None and settings is not None:
        raise ConfigurationError("give the URL in the settings, or no settings")
    if settings is None:
        from mqkit.settings import Settings  # which brings pydantic

        settings = Settings.load(**({} if url is None else {"urls": url}))
    given = {name: value for name, value in others.items() if value is not None}
    if drift_every is not None:
        given["drift_every_s"] = seconds(drift_every, "drift_every")
    return settings.load(**{**dict(settings), **given}) if given else settings


def queue_name(method: str, queue: object) -> str:
    """The name of a queue that was given to the app's ``method``."""
    if isinstance(queue, Temporary):
        return queue.name
    if not isinstance(queue, str) or not queue:
        at = "" if method == "queue" else "@"
        raise ConfigurationError(
            f'{method} takes the name of a queue, not {queue!r}: {at}app.{method}("name")'
        )
    return queue


def loaded_topology(files: TopologyFiles) -> Topology:
    """The topology of one file, or of several that are laid over each other."""
    from mqkit.topology.file.read import load  # which brings the YAML parser

    several = [files] if isinstance(files, (str, os.PathLike)) else list(files)
    if not several:
        raise ConfigurationError("topology is an empty list: name a file, or leave it out")
    return load(*several)


def check_vhost(topology: Topology, settings: Settings) -> None:
    """The topology is for the vhost of every URL."""
    for endpoint in settings.endpoints:
        if topology.vhost is not None and topology.vhost != endpoint.vhost:
            raise ConfigurationError(
                f"{topology.file} is for the vhost {topology.vhost!r}, but the URL {endpoint}"
                f" leads to {endpoint.vhost!r}: write the vhost into the URL"
            )
