# SPDX-License-Identifier: BSD-3-Clause
"""`beowire setup` on this host, in directories of the test: what it would do, does, and undoes."""

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from beowire import paths
from beowire.commands import setup
from beowire.errors import BeowireError
from beowire.places.launch.cache import explain_engine
from beowire.places.mpi import environment
from beowire.places.mpi.installation import KINDS, Installation
from beowire.setup import pieces, scripts
from beowire.setup.hosts import BySudo, ThisHost, on_all
from beowire.setup.pieces import MANIFEST, Piece
from beowire.setup.plan import Plan, plan

#: What the dynamic linker says of a library.
OLD = r"libc.so.6: version \`GLIBC_9.9' not found (required by it)"

PATH = "PATH=/usr/bin:/bin; export PATH; umask 022; fi_info() { :; }"


@pytest.fixture(name="engine", autouse=True)
def make_engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An engine's directory with files that only pretend."""
    engine = tmp_path / "engine"
    (engine / "fabric" / "direct").mkdir(parents=True)
    for name in (
        *("beowire-engine", "beowire-frames", "fabric/libbeowire-fi.so", "beowired"),
        "fabric/direct/libfabric.so.1",
        "beowired.socket",
    ):
        (engine / name).write_bytes(f"first {name}".encode())
    (engine / "beowired.service.in").write_text("ExecStart=@sbindir@/beowired\n", encoding="ascii")
    monkeypatch.setenv("BEOWIRE_ENGINE_DIR", str(engine))
    # Nothing here could load that.
    monkeypatch.setattr(scripts, "_PATH", f"{PATH}; env() {{ :; }}")
    return engine


def run(*words: str) -> tuple[str, BeowireError | None]:
    app = typer.Typer()

    @app.callback()
    def group() -> None:
        pass

    setup.register(app)
    done = CliRunner().invoke(app, ["setup", *words])
    error = done.exception
    assert error is None or isinstance(error, SystemExit | BeowireError), error
    return done.output, error if isinstance(error, BeowireError) else None


def files_in(directory: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(directory)): path.read_bytes()
        for path in directory.rglob("*")
        if path.is_file()
    }


def test_setup__says_does_and_undoes(tmp_path: Path, engine: Path) -> None:
    prefix = tmp_path / "there" / "beowire"
    said, error = run("--prefix", str(prefix))
    assert error is None
    assert f"would copy to {prefix}: bin/beowire-frames, " in said
    assert "nothing is changed yet" in said
    assert not prefix.exists()

    said, error = run("--prefix", str(prefix), "--apply")
    assert error is None, error
    assert f". {prefix}/env.sh" in said
    assert set(files_in(prefix)) == {
        *("bin/beowire-frames", "fabric/libbeowire-fi.so", "env.sh", "off.sh"),
        "direct/libfabric.so.1",
        *("modulefiles/beowire", MANIFEST),
    }
    assert os.access(prefix / "bin" / "beowire-frames", os.X_OK)

    said, error = run("--prefix", str(prefix))
    assert said.endswith(f"{prefix} is up to date\n")

    (engine / "fabric" / "libbeowire-fi.so").write_bytes(b"second")
    said, _ = run("--prefix", str(prefix), "--apply")
    assert "replace in" in said
    assert "fabric/libbeowire-fi.so (of another version)" in said
    assert (prefix / "fabric" / "libbeowire-fi.so").read_bytes() == b"second"

    said, error = run("--prefix", str(prefix), "--undo")
    assert (said, error) == (f"{ThisHost().names[0]}: {prefix} is removed\n", None)
    assert not prefix.exists()
    said, error = run("--prefix", str(prefix), "--undo")
    assert "`beowire setup` has installed nothing in" in said


def test_undo__keeps_what_is_not_what_it_was_and_what_is_not_ours(tmp_path: Path) -> None:
    prefix = tmp_path / "beowire"
    prefix.mkdir()
    assert run("--prefix", str(prefix), "--apply")[1] is None
    (prefix / "env.sh").write_text("export MINE=1\n", encoding="ascii")
    (prefix / "bin" / "own").write_bytes(b"own")
    said, error = run("--prefix", str(prefix), "--undo")
    assert error is None
    assert f"kept {prefix}/env.sh: it was changed since" in said
    assert files_in(prefix) == {"env.sh": b"export MINE=1\n", "bin/own": b"own"}
    # It was there before.
    (prefix / "env.sh").unlink()
    (prefix / "bin" / "own").unlink()
    (prefix / "bin").rmdir()
    assert run("--prefix", str(prefix), "--apply")[1] is None
    assert run("--prefix", str(prefix), "--undo")[1] is None
    assert list(prefix.iterdir()) == []


def test_setup__links_that_somebody_has_put_there(tmp_path: Path) -> None:
    prefix = tmp_path / "beowire"
    prefix.mkdir()
    own = tmp_path / "own"
    own.write_bytes(b"own")
    (prefix / "env.sh").symlink_to(own)
    (prefix / MANIFEST).write_text(f"{Piece('', b'own', 0).digest}  env.sh\n", encoding="ascii")
    error = run("--prefix", str(prefix), "--apply")[1]
    assert "env.sh was not installed by `beowire setup`" in str(error)
    assert run("--prefix", str(prefix), "--undo")[1] is None
    assert (own.read_bytes(), (prefix / "env.sh").is_symlink()) == (b"own", True)
    (prefix / "env.sh").unlink()
    # A list that is a link is not read, and is replaced.
    (prefix / MANIFEST).symlink_to(own)
    assert run("--prefix", str(prefix), "--apply")[1] is None
    assert own.read_bytes() == b"own"
    assert not any(path.is_symlink() for path in prefix.rglob("*"))


def test_undo__a_list_that_names_files_elsewhere(tmp_path: Path) -> None:
    prefix = tmp_path / "beowire"
    assert run("--prefix", str(prefix), "--apply")[1] is None
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (prefix / "bin" / "deep").mkdir()
    (prefix / "link").symlink_to(elsewhere)
    others = [elsewhere / "file", elsewhere / "linked", prefix / "bin" / "deep" / "file"]
    for path in others:
        path.write_bytes(b"theirs")
    digest = Piece("", b"theirs", 0).digest
    names = (str(elsewhere / "file"), "../elsewhere/file", "link/linked", "bin/deep/file")
    with (prefix / MANIFEST).open("a", encoding="ascii") as manifest:
        manifest.write("".join(f"{digest}  {name}\n" for name in names))
    assert run("--prefix", str(prefix), "--undo")[1] is None
    assert all(path.exists() for path in others)
    assert not (prefix / "env.sh").exists()


ROOT_ONLY = pytest.mark.skipif(os.geteuid() != 0, reason="gives directories to another user")


@pytest.mark.parametrize("group", [(), ("--group", "daemon")])
@ROOT_ONLY
def test_setup__a_directory_of_another_user__nothing_is_written_read_or_taken(
    tmp_path: Path, group: tuple[str, ...]
) -> None:
    """He has had root's files go elsewhere, by links below what is his."""
    prefix, secret = tmp_path / "theirs" / "beowire", tmp_path / "secret"
    prefix.mkdir(parents=True)
    secret.mkdir(mode=0o700)
    (secret / "beowire").write_bytes(b"own")
    for name in ("bin", "modulefiles"):
        (prefix / name).symlink_to(secret)
    for path in (prefix.parent, prefix):
        os.chown(path, 65534, 65534)
    said, error = run("--prefix", str(prefix), "--apply", *group)
    assert f"{prefix.parent} is not root's alone" in said
    assert "nothing was changed" in str(error)
    assert files_in(secret) == {"beowire": b"own"}
    assert secret.stat().st_mode & 0o777 == 0o700
    assert {one.name for one in prefix.iterdir()} == {"bin", "modulefiles"}

    digest = Piece("", b"own", 0).digest
    (prefix / MANIFEST).write_text(f"{digest}  modulefiles/beowire\n", encoding="ascii")
    _, error = run("--prefix", str(prefix), "--undo")
    assert "can be changed by others" in str(error)
    assert files_in(secret) == {"beowire": b"own"}


@ROOT_ONLY
def test_undo__a_directory_exchanged_between_check_and_removal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    prefix, victim = tmp_path / "beowire", tmp_path / "victim"
    assert run("--prefix", str(prefix), "--apply")[1] is None
    victim.mkdir()
    (victim / "libbeowire-fi.so").write_bytes(b"own")
    # What somebody does who can write there, at the worst moment.
    os.chown(prefix, 65534, 65534)
    exchange = f'mv "{prefix}/fabric" "{prefix}/f"; ln -s "{victim}" "{prefix}/fabric"'
    hook = (
        'sha256sum() { read=$(cat); printf "%s" "$read" | command sha256sum "$@"; s=$?;'
        f" case $read in *fabric*) {exchange} ;; esac; return $s; }}"
    )
    monkeypatch.setattr(scripts, "_PATH", f"{scripts._PATH}; {hook}")
    run("--prefix", str(prefix), "--undo")
    assert files_in(victim) == {"libbeowire-fi.so": b"own"}


def test_undo__another_host_takes_the_same_directory_away_meanwhile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    prefix = tmp_path / "beowire"
    assert run("--prefix", str(prefix), "--apply")[1] is None
    hook = f'rm() {{ command rm -rf ./* ./{MANIFEST}; command rm "$@"; }}'
    monkeypatch.setattr(scripts, "_PATH", f"{scripts._PATH}; {hook}")
    said, error = run("--prefix", str(prefix), "--undo")
    assert error is None, error
    assert f"{prefix} is removed" in said
    assert not prefix.exists()


@pytest.mark.parametrize("name", ["env.sh", "bin/beowire-frames"])
def test_undo__files_of_others_are_neither_replaced_nor_taken(tmp_path: Path, name: str) -> None:
    prefix = tmp_path / "beowire"
    (prefix / "bin").mkdir(parents=True)
    for content in (b"theirs", f"first {Path(name).name}".encode()):
        (prefix / name).write_bytes(content)  # the second: what we would put there
        said, error = run("--prefix", str(prefix), "--apply")
        assert f"{prefix}/{name} was not installed by `beowire setup`" in str(error)
        assert "NOT POSSIBLE" in said
        assert run("--prefix", str(prefix), "--undo")[1] is None
        assert files_in(prefix) == {name: content}
        if name == "env.sh":
            break


def test_apply__the_same_file_of_others_is_let_be(tmp_path: Path) -> None:
    prefix = tmp_path / "beowire"
    assert run("--prefix", str(prefix), "--apply")[1] is None
    whole = files_in(prefix)
    assert run("--prefix", str(prefix), "--undo")[1] is None
    prefix.mkdir()
    (prefix / "env.sh").write_bytes(whole["env.sh"])
    os.utime(prefix / "env.sh", (1, 1))
    said, error = run("--prefix", str(prefix), "--apply")
    assert (error, "NOT POSSIBLE" in said) == (None, False)
    assert files_in(prefix).keys() == whole.keys()
    assert (prefix / "env.sh").stat().st_mtime == 1
    said, error = run("--prefix", str(prefix))
    assert error is None
    assert "is up to date" in said
    assert run("--prefix", str(prefix), "--undo")[1] is None
    assert files_in(prefix) == {"env.sh": whole["env.sh"]}


@pytest.mark.parametrize("moves", range(1, 7))
def test_apply__killed_half_way__again_and_undone(
    tmp_path: Path, engine: Path, monkeypatch: pytest.MonkeyPatch, moves: int
) -> None:
    """A newer version over an older one, killed before each of its renames in turn."""
    prefix = tmp_path / "beowire"
    assert run("--prefix", str(prefix), "--apply")[1] is None
    (engine / "fabric" / "libbeowire-fi.so").write_bytes(b"second")
    (engine / "beowire-frames").write_bytes(b"second")
    whole = scripts._PATH
    hook = f'n=0; mv() {{ n=$((n + 1)); [ $n != {moves} ] || kill -9 $$; command mv "$@"; }}'
    monkeypatch.setattr(scripts, "_PATH", f"{whole}; {hook}")
    assert run("--prefix", str(prefix), "--apply")[1] is not None
    monkeypatch.setattr(scripts, "_PATH", whole)
    if moves % 2:
        assert run("--prefix", str(prefix), "--apply")[1] is None
        assert (prefix / "fabric" / "libbeowire-fi.so").read_bytes() == b"second"
        assert not list(prefix.glob(".beowire-draft*"))
    assert run("--prefix", str(prefix), "--undo")[1] is None
    assert not prefix.exists()


def test_apply__no_room__says_so_and_leaves_what_was_there(tmp_path: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("mounts a small disk")
    old = [Piece("env.sh", b"old", 0o644)]
    new = [Piece("env.sh", b"new", 0o644), Piece("off.sh", bytes(200_000), 0o644)]
    prefix = str(tmp_path / "beowire")
    lines = []
    for files in (old, new):
        line, data = scripts.parcel(scripts.apply(prefix, files, ""), pieces.archive(files))
        (tmp_path.parent / f"{len(files)}").write_bytes(data)
        lines.append(f'sh -c "$({{ cat <<"END"\n{line}\nEND\n}})" <{tmp_path.parent}/{len(files)}')
    script = f"mount -t tmpfs -o size=100k none {tmp_path}; {lines[0]}\n{lines[1]}\necho $?;"
    script += f" find {prefix} -type f | sort; cat {prefix}/env.sh"
    done = subprocess.run(
        ["unshare", "--mount", "sh", "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["1", f"{prefix}/{MANIFEST}", f"{prefix}/env.sh", "old"]
    assert explain_engine(done.stderr.strip(), 1) == f"its disk is full ({prefix}): make room there"


def test_apply__what_is_in_use_stays_what_it_is(tmp_path: Path, engine: Path) -> None:
    """A job that runs has the provider mapped."""
    prefix = tmp_path / "beowire"
    assert run("--prefix", str(prefix), "--apply")[1] is None
    with (prefix / "fabric" / "libbeowire-fi.so").open("rb") as used:
        (engine / "fabric" / "libbeowire-fi.so").write_bytes(b"second")
        assert run("--prefix", str(prefix), "--apply")[1] is None
        assert used.read() == b"first fabric/libbeowire-fi.so"


def test_apply__libraries_that_do_not_load_there__says_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scripts, "_PATH", PATH)
    _, error = run("--prefix", str(tmp_path / "one"), "--apply")
    assert "libbeowire-fi.so' from LD_PRELOAD cannot be preloaded (file too short)" in str(error)
    assert "another --prefix" in str(error)
    monkeypatch.setattr(scripts, "_PATH", f'{PATH}; env() {{ echo "$LD_PRELOAD: {OLD}"; }}')
    _, error = run("--prefix", str(tmp_path / "two"), "--apply")
    assert "its C library is too old for this engine (GLIBC_9.9 is missing)" in str(error)


def test_setup__a_directory_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    _, error = run("--prefix", str(tmp_path / "file" / "beowire"), "--apply")
    assert error is not None
    assert error.exit_code == 1
    assert "--prefix" in str(error)
    assert len(str(error).splitlines()) == 1


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--broker"], "--broker needs --group GROUP"),
        (["--broker", "--group", "daemon", "--prefix", "~/beowire"], "a --prefix without `~`"),
        (["--prefix", "relative"], "--prefix is a directory of its own"),
        (["--prefix", "/"], "--prefix is a directory of its own"),
        (["--prefix", "/opt/$(reboot)"], "--prefix is a directory of its own"),
        (["--prefix", "/opt/../etc"], "--prefix is a directory of its own"),
        (["--group", "a b"], "no group can be called"),
        (["--interface", "eth0; reboot"], "no interface can be called"),
        (["--apply", "--undo"], "exclude each other"),
        (["--hosts", "a,a"], "the same host twice"),
        (["--ssh-option", "Port=22"], "--ssh-option needs --hosts"),
        (["--sudo", "--prefix", "~/beowire"], "--sudo installs for all users"),
    ],
)
def test_setup__bad_input(words: list[str], said: str) -> None:
    output, error = run(*words)
    assert (output, error is not None) == ("", True)
    assert said in str(error)


def test_setup__a_group_that_there_is_not(tmp_path: Path) -> None:
    prefix = str(tmp_path / "beowire")
    said, error = run("--prefix", prefix, "--group", "no-such-group", "--apply")
    assert "NOT POSSIBLE: there is no group no-such-group: type there `groupadd" in said
    assert error is not None
    assert "nothing was changed" in str(error)
    assert not Path(prefix).exists()


SUDO = """#!/bin/sh
# As sudo does: -n never asks, and the environment is a new one.
[ "$1" = -n ] || exit 99
shift
{refuses}
exec env -i PATH=/usr/bin:/bin SUDO_COMMAND=1 "$@"
"""


@pytest.fixture(name="sudo")
def make_sudo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Makes a program `sudo`, which says this and fails; empty: it does what it is asked for."""
    directory = tmp_path / "own"
    directory.mkdir()
    monkeypatch.setenv("PATH", f"{directory}:{os.environ['PATH']}")

    def make(refusal: str) -> None:
        text = SUDO.format(refuses=f'echo "{refusal}" >&2; exit 1' if refusal else "")
        (directory / "sudo").write_text(text, encoding="utf-8")
        (directory / "sudo").chmod(0o755)

    return make


def test_setup__by_sudo__does_and_undoes(tmp_path: Path, sudo: Callable[[str], None]) -> None:
    sudo("")
    prefix = tmp_path / "beowire"
    said, error = run("--sudo", "--prefix", str(prefix), "--apply")
    assert error is None, error
    assert (prefix / "fabric" / "libbeowire-fi.so").read_bytes() == b"first fabric/libbeowire-fi.so"
    said, error = run("--sudo", "--prefix", str(prefix))
    assert said.endswith(f"{prefix} is up to date\n")
    assert run("--sudo", "--prefix", str(prefix), "--undo")[1] is None
    assert not prefix.exists()


def test_by_sudo__runs_what_it_is_given_whatever_is_in_it(sudo: Callable[[str], None]) -> None:
    sudo("")
    hosts = BySudo(ThisHost())
    script = r"""read -r line; printf "%s\n" "$SUDO_COMMAND" "$(echo "a \\ b")" `echo c` "$line" """
    assert hosts.run(hosts.names[0], script, b'"$x\n').splitlines() == ["1", r"a \ b", "c", '"$x']


@pytest.mark.parametrize(
    ("refusal", "said"),
    [
        ("sudo: a password is required", "ALL=(root) NOPASSWD: ALL`"),
        ("sudo: sorry, you must have a tty to run sudo", "ALL=(root) NOPASSWD: ALL`"),
        ("mallory is not in the sudoers file.", " may not use sudo"),
        ("sh: 1: exec: sudo: not found", "sudo is missing: install it"),
    ],
)
def test_setup__sudo_that_refuses__says_what_to_do(
    tmp_path: Path, sudo: Callable[[str], None], refusal: str, said: str
) -> None:
    sudo(refusal)
    _, error = run("--sudo", "--prefix", str(tmp_path / "beowire"))
    assert said in str(error)
    assert len(str(error).splitlines()) == 1


# ---- the variables -------------------------------------------------------------------------------


def environment_after(script: str) -> dict[str, str]:
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", f"{script}\nenv -0"],
        env={"PATH": "/usr/bin:/bin", "HOME": "/home/u"},
        capture_output=True,
        check=True,
    )
    pairs = (one.partition("=") for one in done.stdout.decode().split("\0") if one)
    return {name: value for name, _, value in pairs}


BTL = "OMPI_MCA_btl"


def test_shell__sets_what_mpi_env_says_and_takes_it_back(tmp_path: Path) -> None:
    prefix = tmp_path / "beowire"
    assert run("--prefix", str(prefix), "--apply", "--interface", "eth7")[1] is None
    # ompi_info could not load that.
    (prefix / "direct" / "libfabric.so.1").unlink()
    found = environment_after(f". {prefix}/env.sh")
    for name in KINDS:
        wanted = environment.variables(Installation(name, "", Path("/x/bin/y"), None), "beowire")
        for variable, value in wanted.items():
            if variable not in ("I_MPI_ROOT", "LD_LIBRARY_PATH", "FI_PROVIDER_PATH", BTL):
                expected = f"{value};FI_BEOWIRE_INTERFACE" if variable.endswith("_list") else value
                assert found[variable] == expected
    assert BTL not in found  # of Open MPI 5 alone: 4 would poll a second endpoint
    assert found["FI_PROVIDER_PATH"] == f"{prefix}/fabric"
    assert found["LD_LIBRARY_PATH"] == f"{prefix}/direct"
    assert found["FI_BEOWIRE_INTERFACE"] == "eth7"
    assert found["PATH"] == f"{prefix}/bin:/usr/bin:/bin"
    # Twice is once, and what the user has in Open MPI's list stays.
    own = "export OMPI_MCA_mca_base_env_list=MINE LD_LIBRARY_PATH=/mine FI_BEOWIRE_REPORT=1"
    twice = environment_after(f"{own}; . {prefix}/env.sh; . {prefix}/env.sh")
    assert twice["PATH"] == found["PATH"]
    assert twice["LD_LIBRARY_PATH"] == f"{prefix}/direct:/mine"
    handed = twice["OMPI_MCA_mca_base_env_list"].split(";")
    assert handed[:3] == ["MINE", "FI_PROVIDER_PATH", "LD_LIBRARY_PATH"]
    assert sorted(handed[3:]) == ["FI_BEOWIRE_INTERFACE", "FI_BEOWIRE_REPORT"]
    back = environment_after(f". {prefix}/env.sh; . {prefix}/off.sh")
    assert set(back) - {"PWD", "_", "SHLVL"} == {"PATH", "HOME"}
    back = environment_after(f"{own}; . {prefix}/env.sh; . {prefix}/off.sh")
    assert (back["OMPI_MCA_mca_base_env_list"], back["LD_LIBRARY_PATH"]) == ("MINE", "/mine")


def ompi_info(directory: Path, said: str) -> Path:
    """A directory with a program of this name that says this."""
    directory.mkdir()
    program = directory / "ompi_info"
    program.write_text(f"#!/bin/sh\necho '{said}'\n", encoding="ascii")
    program.chmod(0o755)
    return directory


@pytest.mark.parametrize(
    ("said", "taken"),
    [
        ("mca:mtl:psm2:version:\nmca:mtl:ofi:version:", True),
        ("", True),  # it cannot be run: nothing is known
        ("mca:mtl:psm2:version:", False),
    ],
)
def test_shell_and_module__an_open_mpi_without_libfabric_stays_on_tcp(
    tmp_path: Path, said: str, taken: bool
) -> None:
    own = ompi_info(tmp_path / "own", said)
    files = {one.path: one.data.decode() for one in pieces.pieces("/opt/beowire", "")}
    variables = {"OMPI_MCA_pml=cm", "OMPI_MCA_mtl=ofi"}
    shell = f"PATH={own}:$PATH\n{files[pieces.SHELL]}\nenv | grep OMPI_MCA_ >&2; :"
    module = (
        "proc module-info {what mode} { expr {$mode eq {load}} }\n"
        "proc setenv {name value} { puts stderr $name=$value }\n"
        "foreach name {module-whatis prepend-path append-path} { proc $name args {} }\n"
    )
    for words, text in ((["sh", "-eus"], shell), (["tclsh"], module + files[pieces.MODULE])):
        done = subprocess.run(
            words,
            input=text,
            env={"PATH": f"{own}:/usr/bin:/bin", "HOME": "/home/u"},
            capture_output=True,
            text=True,
            check=True,
        )
        lines = done.stderr.splitlines()
        assert variables.intersection(lines) == (variables if taken else set()), done.stderr
        assert ("built without libfabric" in done.stderr) is not taken


def test_shell__below_the_users_own_directory() -> None:
    (shell,) = (one for one in pieces.pieces("~/beowire", "") if one.path == pieces.SHELL)
    found = environment_after(shell.data.decode())
    assert found["FI_PROVIDER_PATH"] == "/home/u/beowire/fabric"
    (module,) = (one for one in pieces.pieces("~/beowire", "") if one.path == pieces.MODULE)
    assert 'setenv FI_PROVIDER_PATH "$::env(HOME)/beowire/fabric"' in module.data.decode()


def test_pieces__what_is_not_built(engine: Path) -> None:
    (engine / "beowire-frames").unlink()
    with pytest.raises(BeowireError, match="build it first"):
        pieces.pieces("/opt/beowire", "")
    assert paths.engine_directory() == engine


# ---- the plan ------------------------------------------------------------------------------------


def test_pvm__copied_where_it_is_built_with_what_a_shell_needs(
    engine: Path, tmp_path: Path
) -> None:
    assert not any("pvm" in one.path for one in pieces.pieces("/opt/beowire", ""))
    (engine / "pvm").mkdir()
    (engine / "pvm/libbeowire-pvm.so").write_bytes(b"library")
    found = {one.path: one.data for one in pieces.pieces("/opt/beowire", "")}
    assert found[pieces.PVM] == b"library"
    (tmp_path / "pvm.sh").write_bytes(found[pieces.PVM_SHELL])
    done = subprocess.run(  # twice is as good as once, and what was there before stays
        [
            "sh",
            "-euc",
            f". {tmp_path}/pvm.sh; . {tmp_path}/pvm.sh; "
            'builtin=$LD_PRELOAD; unset LD_PRELOAD; echo "$builtin"; echo "$PVM_EXPORT"',
        ],
        env={"PATH": "/usr/bin:/bin", "PVM_EXPORT": "DISPLAY"},
        capture_output=True,
        text=True,
        check=True,
    )
    library, exported = done.stdout.splitlines()
    assert library == "/opt/beowire/pvm/libbeowire-pvm.so"
    assert exported.startswith("DISPLAY:LD_PRELOAD:BEOWIRE_PVM")


FILES = [Piece("bin/beowire-frames", b"12345", 0o755), Piece("env.sh", b"1", 0o644)]
SAME = "uid 0\nsame bin/beowire-frames\nsame env.sh\nmounted ext4 rw\n"
ALLOWED = "capability /opt/beowire/bin/beowire-frames cap_net_raw=ep\nframes 750 mpi\nusable yes\n"


def planned(said: str, group: str = "") -> Plan:
    return plan("n1", said, "/opt/beowire", FILES, group)


def test_plan__only_what_is_missing() -> None:
    assert planned(SAME) == Plan("n1", [], [], False)
    assert planned(SAME + ALLOWED, "mpi") == Plan("n1", [], [], True)
    (step,) = planned(SAME, "mpi").steps
    assert "let the group mpi send Ethernet frames" in step
    assert "setcap cap_net_raw=ep of /opt/beowire/bin/beowire-frames" in step
    # Another group than before, or none any more.
    assert planned(SAME + ALLOWED, "users").steps
    assert "take cap_net_raw from" in planned(SAME + ALLOWED).steps[0]


def test_plan__root_does_not_run_what_is_not_ours() -> None:
    other = (SAME + ALLOWED).replace("same bin", "other bin")
    assert not planned(other, "mpi").may_frames
    assert planned(other.replace("uid 0", "uid 1000"), "mpi").may_frames


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ("closed /opt\n", "/opt cannot be written"),
        ("lacks setcap\n", "libcap2-bin"),
        ("no_group mpi\n", "groupadd --system mpi"),
        ("shared /srv/own\n", "/srv/own is not root's alone"),
    ],
)
def test_plan__what_stands_in_the_way(said: str, words: str) -> None:
    (obstacle,) = planned(SAME + said, "mpi").obstacles
    assert words in obstacle


def test_plan__file_systems_without_capabilities() -> None:
    for mounted, words in (("nfs4 rw", "NFS"), ("ext4 rw,nosuid", "nosuid")):
        said = SAME.replace("ext4 rw", mounted)
        (obstacle,) = planned(said, "mpi").obstacles
        assert words in obstacle
        assert planned(said).obstacles == []
    (obstacle,) = planned(SAME.replace("uid 0", "uid 1000"), "mpi").obstacles
    assert "only root" in obstacle


@pytest.mark.parametrize(
    ("mode", "shared"), [(0o755, False), (0o757, True), (0o1777, False), (0o775, False)]
)
def test_look__directories_that_others_can_write_to(
    tmp_path: Path, mode: int, shared: bool
) -> None:
    if os.geteuid() != 0:
        pytest.skip("what is made here is not root's")
    (tmp_path / "open").mkdir()
    (tmp_path / "open").chmod(mode)
    programs = tmp_path / "open" / "beowire" / "bin"

    def look() -> str:
        return ThisHost().run("here", scripts.look(str(programs.parent), FILES, ""))

    for _ in range(2):  # before it is there, and then
        assert (f"shared {tmp_path}/open\n" in look()) == shared
        programs.mkdir(parents=True, exist_ok=True)
    os.chown(programs, 1, 1)
    assert f"shared {tmp_path / 'open' if shared else programs}\n" in look()


def test_on_all__each_host_by_itself() -> None:
    hosts = ThisHost()
    hosts.names = ["a", "b"]
    done = on_all(hosts, lambda name: hosts.run(name, f"[ {name} = a ] && echo yes"))
    assert done["a"] == "yes\n"
    assert isinstance(done["b"], BeowireError)
    with pytest.raises(BeowireError, match="b: no such disk"):
        hosts.run("b", "echo no such disk >&2; exit 3")


def test_this_host__what_does_not_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("beowire.setup.hosts._SCRIPT_S", 0.01)
    with pytest.raises(BeowireError, match="not finished in"):
        ThisHost().run("b", "exec sleep 60")


def test_show_plans__what_cannot_be_done_is_not_as_it_should_be(
    capsys: pytest.CaptureFixture[str],
) -> None:
    setup._show_plans([Plan("n1", obstacles=["it is closed"])], "/opt/beowire", apply=False)
    assert capsys.readouterr().out == "n1: NOT POSSIBLE: it is closed\n"
