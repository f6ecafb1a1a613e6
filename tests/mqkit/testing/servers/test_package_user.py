"""The user of a package: none is needed by whoever is not root, and root has one or is told."""

from __future__ import annotations

import os
import pwd
from pathlib import Path

import pytest

from mqkit.testing.servers.package_user import NoPackageUser, as_package_user


def test_whoever_is_not_root_needs_none(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert as_package_user("no-such-user", "a-server", tmp_path) == []


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives a folder to somebody")
def test_root_gives_the_paths_to_it(tmp_path: Path) -> None:
    nobody = pwd.getpwnam("nobody")
    prefix = as_package_user("nobody", "a-server", tmp_path)
    assert prefix[1:] == ["--reuid=nobody", f"--regid={nobody.pw_gid}", "--clear-groups"]
    assert tmp_path.stat().st_uid == nobody.pw_uid


def test_root_is_told_of_a_user_that_is_missing(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    with pytest.raises(NoPackageUser, match="a-server does not run as root: setpriv and a user no"):
        as_package_user("no-such-user", "a-server", tmp_path)
