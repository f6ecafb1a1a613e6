"""The user of an installed package, under whom its server runs where the tests run as root."""

from __future__ import annotations

import os
import pwd
import shutil
from pathlib import Path


class NoPackageUser(Exception):
    """The tests run as root, and the server would have to. The message says what is missing."""


def as_package_user(name: str, server: str, *paths: Path) -> list[str]:
    """The command prefix under which ``server`` runs, and the user has ``paths`` then: empty for
    whoever is not root. Raises :exc:`NoPackageUser`."""
    if os.geteuid() != 0:
        return []
    setpriv = shutil.which("setpriv")
    try:
        user = pwd.getpwnam(name)
    except KeyError:
        user = None
    if setpriv is None or user is None:
        raise NoPackageUser(f"{server} does not run as root: setpriv and a user {name} are needed")
    for path in paths:
        os.chown(path, user.pw_uid, user.pw_gid)
    return [setpriv, f"--reuid={name}", f"--regid={user.pw_gid}", "--clear-groups"]
