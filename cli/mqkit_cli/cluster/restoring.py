"""``mqkit cluster restore-metadata``: etcd has lost the metadata, and a data folder has a copy."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mqkit_cli.consent import require_consent
from mqkit_cli.errors import CommandError
from mqkit_cli.render import line, note, plural
from mqkit_cli.store.data_dir import held

if TYPE_CHECKING:
    from reference_broker.cluster.membership.folder_copy import CopiedMetadata
    from reference_broker.runtime.cluster_settings import EtcdSettings


def restore_metadata(
    folder: Annotated[
        Path,
        typer.Argument(metavar="DIR", help="The data folder of the node that has seen most."),
    ],
    cluster_name: Annotated[str, typer.Option(metavar="NAME", help="The cluster's name.")],
    etcd: Annotated[
        str, typer.Option(metavar="URL,...", help="The members of etcd to restore it in.")
    ],
    etcd_user: Annotated[
        str | None, typer.Option(metavar="NAME", help="The user to log in to etcd as.")
    ] = None,
    etcd_password_file: Annotated[
        Path | None, typer.Option(metavar="FILE", help="The file with that user's password.")
    ] = None,
    etcd_ca: Annotated[
        Path | None, typer.Option(metavar="FILE", help="The authorities of etcd's certificates.")
    ] = None,
    etcd_cert: Annotated[
        Path | None, typer.Option(metavar="FILE", help="The certificate to show to etcd.")
    ] = None,
    etcd_key: Annotated[
        Path | None, typer.Option(metavar="FILE", help="That certificate's private key.")
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
) -> None:
    """Write a cluster's exchanges, queues, bindings, users and policies into an etcd that has lost
    them, or has an older copy, from the data folder of one of its nodes. All nodes have to be
    stopped: each folder says here which revision it has seen; take the one with the highest."""
    from reference_broker.runtime.cluster_settings import EtcdSettings

    copied = _copy_of(folder)
    note(
        f"{folder} has seen revision {copied.seen.revision} of history {copied.seen.history}, and"
        f" has {plural(len(copied.rows), 'row')} of it"
    )
    if not yes:
        require_consent(
            f"Replace what etcd at {etcd} has of the cluster {cluster_name!r} by that",
            "nothing was restored",
        )
    settings = EtcdSettings(
        tuple(map(str.strip, etcd.split(","))),
        etcd_user,
        etcd_password_file,
        etcd_ca,
        etcd_cert,
        etcd_key,
    )
    _restore(settings, cluster_name, copied)


def _copy_of(folder: Path) -> CopiedMetadata:
    from reference_broker.cluster.membership.folder_copy import copy_in
    from reference_broker.store.doctor.contents import look

    with held(folder) as disk:
        copied = copy_in(look(disk).definitions)
    if copied is None:
        raise CommandError(f"{folder} was never the data folder of a node of a cluster")
    return copied


def _restore(settings: EtcdSettings, cluster: str, copied: CopiedMetadata) -> None:
    from reference_broker.errors import ReferenceBrokerError
    from reference_broker.runtime.cluster.configuration import etcd_config
    from reference_broker.runtime.cluster.restoration import restore_metadata as restored_in

    try:
        restored = asyncio.run(restored_in(etcd_config(settings), cluster, copied))
    except ReferenceBrokerError as error:
        raise CommandError(str(error)) from None
    for key in restored.left_out:
        note(f"left out, since it spoke of what was gone: {key}")
    line(
        f"restored {plural(restored.written, 'row')} of {cluster!r}, from revision"
        f" {restored.cluster.restored_from}: history {restored.cluster.history} of the cluster"
        " begins. Start its nodes now"
    )
