# SPDX-License-Identifier: BSD-3-Clause
"""The copy on a host, by the scripts as its shell runs them. (test_ssh.py does it by sshd.)"""

import io
import os
import platform
import shutil
import subprocess
import tarfile
from pathlib import Path

import pytest

from beowire import paths
from beowire.places.launch.cache import RemoteCache, explain_engine

FILES = {"beowire-engine": b"engine", "drivers/a.so": b"a", "drivers/b-2.so": b"b"}
CACHE = RemoteCache("0123abcd", FILES)


def archive() -> bytes:
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w") as tar:
        for name, data in FILES.items():
            entry = tarfile.TarInfo(name)
            entry.size, entry.mode = len(data), 0o700
            tar.addfile(entry, io.BytesIO(data))
    return content.getvalue()


TOOLS = ("GNU", "BusyBox")


@pytest.fixture(params=TOOLS)
def tools(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path | None:
    """Where a host finds its tools, if they are not those of this one."""
    if request.param == "GNU":
        return None
    directory = tmp_path_factory.mktemp("busybox")
    program = shutil.which("busybox")
    assert program is not None, "install the package busybox-static"
    subprocess.run([program, "--install", "-s", str(directory)], check=True)
    return directory


def run(
    home: Path, script: str, tools: Path | None = None, data: bytes | None = None, before: str = ":"
) -> "subprocess.CompletedProcess[bytes]":
    """As root of namespaces of its own, where `before` comes first."""
    assert "'" not in script and "\n" not in script and "!" not in script
    sh = "sh" if tools is None else str(tools / "sh")
    alone = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c"]
    done = f"{before}; " + 'PATH=$1; exec "$2" -c "$3"'
    path = os.environ["PATH"] if tools is None else str(tools)
    return subprocess.run(
        [*alone, done, "sh", path, sh, script],
        env={**os.environ, "HOME": str(home)},
        input=archive() if data is None else data,
        capture_output=True,
        check=False,
        timeout=60,
    )


def test_fill__what_is_missing_or_damaged(tmp_path: Path, tools: Path | None) -> None:
    copy = tmp_path / ".cache" / "beowire" / "0123abcd"
    damages = (
        *("true", ":>beowire-engine", "touch drivers/c.so", "rm -r drivers", "chmod -x *"),
        *("rm beowire-engine; mkdir beowire-engine", "ln -sf /bin/true beowire-engine"),
        *(
            "mkdir drivers/more; :>drivers/more/c",
            "ln -s / drivers/root",
            "cd ..; rm -r 0123abcd; touch 0123abcd",
        ),
    )
    for damage in damages:
        subprocess.run(["sh", "-c", damage], cwd=copy if copy.exists() else tmp_path, check=True)
        assert damage == "true" or run(tmp_path, CACHE.look(), tools).stdout == b"wrong\n", damage
        done = run(tmp_path, CACHE.fill(), tools)
        assert (done.returncode, done.stderr) == (0, b""), damage
        assert run(tmp_path, CACHE.look(), tools).stdout == b"right\n"
        found = {str(one.relative_to(copy)): one for one in copy.rglob("*") if one.is_file()}
        assert {name: path.read_bytes() for name, path in found.items()} == FILES
        assert [one.name for one in copy.parent.iterdir()] == ["0123abcd"]


def why(done: "subprocess.CompletedProcess[bytes]") -> str:
    assert done.returncode != 0
    return explain_engine(done.stderr.decode(), done.returncode)


LARGE = {**FILES, "drivers/large.so": bytes(200_000)}


def test_fill__a_home_that_cannot_take_it__says_which_and_what_to_do(
    tmp_path: Path, tools: Path | None
) -> None:
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w") as tar:
        for name, data in LARGE.items():
            entry = tarfile.TarInfo(name)
            entry.size, entry.mode = len(data), 0o700
            tar.addfile(entry, io.BytesIO(data))
    base = tmp_path / ".cache" / "beowire"
    for before, meaning in (
        (
            "mount -t tmpfs -o size=64k none {}",
            f"its disk is full ({base}): make room there, or make ~/.cache/beowire a link to"
            " another place",
        ),
        (
            "mount -t tmpfs -o ro none {}",
            f": Read-only file system ({base}): mount it to be written",
        ),
    ):
        fill = RemoteCache("0123abcd", LARGE).fill()
        mounted = before.format(tmp_path)
        assert why(run(tmp_path, fill, tools, content.getvalue(), mounted)).endswith(meaning)


@pytest.mark.parametrize("tool", ["tar", "sha256sum", "mktemp", "stat"])
def test_look__a_host_without_a_tool_is_told_so(tmp_path: Path, tool: str) -> None:
    few = tmp_path / "few"
    few.mkdir()
    known = ["sh", "find", "mkdir", "rm", "mv", "id", "wc", "mktemp", "sha256sum", "stat", "tar"]
    for name in {*known} - {tool}:
        (few / name).symlink_to(shutil.which(name) or name)
    meaning = f"it has no `{tool}`, which is needed to copy the engine there: install it"
    assert why(run(tmp_path, CACHE.look(), few)) == meaning


def engine(tmp_path: Path, change: tuple[bytes, bytes]) -> RemoteCache:
    """A cache with an engine that is really started, changed so that it cannot be."""
    content = (paths.engine_directory() / "beowire-engine").read_bytes()
    assert content.count(change[0]) > 0 and len(change[0]) == len(change[1])
    cache = RemoteCache("0123abcd", {"beowire-engine": content.replace(*change)})
    copy = tmp_path / ".cache" / "beowire" / "0123abcd"
    copy.mkdir(parents=True)
    (copy / "beowire-engine").write_bytes(content.replace(*change))
    (copy / "beowire-engine").chmod(0o700)
    return cache


LOADER = {"x86_64": b"/lib64/ld-linux-x86-64.so.2", "aarch64": b"/lib/ld-linux-aarch64.so.1"}


def test_try_it__an_engine_that_cannot_run_there__says_why(
    tmp_path: Path, tools: Path | None, tmp_path_factory: pytest.TempPathFactory
) -> None:
    loader = LOADER[platform.machine()]
    good = engine(tmp_path, (loader, loader))
    assert run(tmp_path, good.try_it(), tools).returncode == 3
    aside = tmp_path_factory.mktemp("aside")
    noexec = (
        f"cp -a {tmp_path}/.cache {aside}; mount -t tmpfs -o noexec none {tmp_path};"
        f" cp -a {aside}/.cache {tmp_path}"
    )
    assert why(run(tmp_path, good.try_it(), tools, before=noexec)) == (
        f"programs may not run on its {tmp_path}, which is mounted noexec: mount it with exec,"
        " or make ~/.cache/beowire a link to another place"
    )
    shutil.rmtree(tmp_path / ".cache")
    musl = engine(tmp_path, (loader, loader[:-1] + b"9"))
    assert why(run(tmp_path, musl.try_it(), tools)) == (
        "its C library is musl or another, and this engine needs glibc: build Beowire there"
    )
    shutil.rmtree(tmp_path / ".cache")
    newer = engine(tmp_path, (b"GLIBC_2.34\0", b"GLIBC_9.34\0"))
    assert why(run(tmp_path, newer.try_it(), tools)) == (
        "its C library is too old for this engine (GLIBC_9.34 is missing): build there"
    )


@pytest.mark.parametrize(
    ("said", "meaning"),
    [
        ("x: version `GLIBC_2.9' not found\nx: version `GLIBC_2.38' not found", "GLIBC_2.38 is"),
        (
            "Error relocating /x: __vsnprintf_chk: symbol not found",
            "this engine needs glibc",
        ),
        (
            "x: error while loading shared libraries: libm.so.6: cannot",
            "lacks the library libm.so.6",
        ),
        ("sh: 1: x: Exec format error", "another kind of processor"),
        ("tar: x\ncache /home/a b\n", "tar: x"),
        ("cp: error writing x: No space left on device", "error writing x: No space left"),
        ("", "ended with status 7"),
    ],
)
def test_explain_engine(said: str, meaning: str) -> None:
    assert meaning in explain_engine(said, 7)


def test_fill__over_a_good_copy__lets_its_files_be(tmp_path: Path) -> None:
    assert run(tmp_path, CACHE.fill()).returncode == 0
    engine = tmp_path / ".cache" / "beowire" / "0123abcd" / "beowire-engine"
    before = engine.stat().st_ino
    assert run(tmp_path, CACHE.fill()).returncode == 0
    assert engine.stat().st_ino == before


@pytest.mark.parametrize("where", ["", "0123abcd", "0123abcd/drivers"])
def test_look__a_directory_that_others_can_write(tmp_path: Path, where: str) -> None:
    assert run(tmp_path, CACHE.fill()).returncode == 0
    directory = tmp_path / ".cache" / "beowire" / where
    directory.chmod(0o777)
    for script in (CACHE.look(), CACHE.fill()):
        done = run(tmp_path, script)
        assert done.returncode == 1
        assert done.stderr.decode().rstrip("\n").endswith("others can write to it: remove it")
        assert done.stderr.count(b"\n") == 1


def test_init__names_that_a_shell_would_read() -> None:
    with pytest.raises(ValueError, match="cannot stand in a script"):
        RemoteCache("a", {"drivers/$(reboot).so": b""})
