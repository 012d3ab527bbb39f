# SPDX-License-Identifier: BSD-3-Clause
"""The way into a directory that nobody else can exchange, by the shells that hosts have."""

import os
import shutil
import struct
import subprocess
from pathlib import Path

import pytest

from beowire.places.launch.walk import WALK

SHELLS = {"sh": ["sh"], "bash": ["bash", "--posix"], "BusyBox": ["busybox", "sh"]}
OTHER = 65534

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="gives directories to another user")


@pytest.fixture(name="shell", params=SHELLS)
def make_shell(request: pytest.FixtureRequest) -> list[str]:
    words = SHELLS[request.param]
    if shutil.which(words[0]) is None:
        pytest.skip(f"no {words[0]}")
    return words


def enter(shell: list[str], path: Path | str, *, make: str = "no", before: str = ":") -> str:
    """Where it came to, or why not."""
    assert "'" not in WALK and "\n" not in WALK and "!" not in WALK
    script = f'{WALK} {before}; if enter "{path}" {make}; then echo "in $(pwd -P) $made";'
    done = subprocess.run(
        [*shell, "-euc", f'{script} else echo "$refused"; fi'],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    assert done.stderr == ""
    return done.stdout.strip()


def test_enter__what_root_alone_can_change(shell: list[str], tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "link").symlink_to("a/")
    (tmp_path / "round").symlink_to(tmp_path / "round")
    (tmp_path / "up").symlink_to("a/../a")
    (tmp_path / "file").write_bytes(b"")
    for name in ("a", "link", "up", "a//", "a/./"):
        assert enter(shell, f"{tmp_path}/{name}") == f"in {tmp_path}/a no"
    assert enter(shell, tmp_path / "round") == f"odd {tmp_path}/round"
    assert enter(shell, tmp_path / "file" / "b") == f"odd {tmp_path}/file"
    assert enter(shell, tmp_path / "a" / "b" / "c") == f"absent {tmp_path}/a/b"
    assert enter(shell, tmp_path / "a" / "b" / "c", make="yes") == f"in {tmp_path}/a/b/c yes"
    assert enter(shell, tmp_path / "a" / "b", make="yes") == f"in {tmp_path}/a/b no"


def test_enter__what_others_can_change(shell: list[str], tmp_path: Path) -> None:
    theirs, ours = tmp_path / "theirs", tmp_path / "ours"
    (theirs / "below").mkdir(parents=True)
    ours.mkdir()
    os.chown(theirs, OTHER, OTHER)
    for path in (theirs, theirs / "below", theirs / "new"):
        assert enter(shell, path, make="yes") == f"shared {theirs}"
    assert not (theirs / "new").exists()
    # Where everybody can write, and only owners can rename.
    sticky = tmp_path / "sticky"
    sticky.mkdir()
    sticky.chmod(0o1777)
    assert enter(shell, sticky) == f"shared {sticky}"
    assert enter(shell, sticky / "new", make="yes") == f"in {sticky}/new yes"
    (sticky / "link").symlink_to(ours)
    assert enter(shell, sticky / "link") == f"in {ours} no"
    os.chown(sticky / "link", OTHER, OTHER, follow_symlinks=False)
    assert enter(shell, sticky / "link") == f"shared {sticky}/link"
    for mode in (0o775, 0o757):
        ours.chmod(mode)
        os.chown(ours, 0, 1)
        assert enter(shell, ours) == f"shared {ours}"


def test_enter__what_others_can_change_by_an_access_control_list(
    shell: list[str], tmp_path: Path
) -> None:
    ours = tmp_path / "ours"
    ours.mkdir()
    os.chown(ours, 0, 0)
    ours.chmod(0o775)
    can_tell = shell[0] != "busybox"  # its ls does not show such lists
    assert enter(shell, ours) == (f"in {ours} no" if can_tell else f"shared {ours}")
    rights = [(1, 7, 0), (2, 7, OTHER), (4, 5, 0), (16, 7, 0), (32, 5, 0)]  # acl(5)
    packed = b"".join(struct.pack("<HHI", *one) for one in rights)
    try:
        os.setxattr(ours, "system.posix_acl_access", struct.pack("<I", 2) + packed)
    except OSError:
        pytest.skip("the file system has no access control lists")
    assert enter(shell, ours) == f"shared {ours}"
    assert enter(shell, ours / "new", make="yes") == f"shared {ours}"


def test_enter__who_has_no_number_in_a_user_namespace(shell: list[str], tmp_path: Path) -> None:
    """Root has none there, and made what is above; but below /tmp it may be anybody."""
    inside = ["unshare", "--user", "--map-root-user", *shell]
    for path in (tmp_path / "above", tmp_path / "above" / "sticky", tmp_path / "above/sticky/new"):
        path.mkdir()
        os.chown(path, OTHER - 1, OTHER - 1)
    (tmp_path / "above" / "sticky").chmod(0o1777)
    assert enter(inside, tmp_path / "above") == f"in {tmp_path}/above no"
    assert enter(inside, tmp_path / "above/sticky/new") == f"shared {tmp_path}/above/sticky/new"


def test_enter__whatever_language_and_search_path_for_directories_are_set(
    shell: list[str], tmp_path: Path
) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "elsewhere" / "a").mkdir(parents=True)
    before = (
        'stat() { [ "$LC_ALL" = C ] && command stat "$@" || echo 0 755 1:1 0 Verzeichnis; };'
        f" CDPATH={tmp_path}/elsewhere; export CDPATH"
    )
    assert enter(shell, tmp_path / "a", before=before) == f"in {tmp_path}/a no"


def test_enter__exchanged_after_it_was_looked_at(shell: list[str], tmp_path: Path) -> None:
    """By somebody who could: what is entered is compared with what was looked at."""
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    exchange = f'cd() {{ [ $2 = ./a ] && {{ rmdir "{tmp_path}/a"; ln -s b "{tmp_path}/a"; }};'
    before = f'{exchange} command cd "$@"; }}'
    if shell[0] == "busybox":
        before = before.replace("$2 = ./a", '"${2-}" = ./a')
    before = before.replace("[ $2 =", '[ "${2-}" =')
    assert enter(shell, tmp_path / "a", before=before) == f"shared {tmp_path}/a"
