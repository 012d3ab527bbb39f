# SPDX-License-Identifier: BSD-3-Clause
"""Installing: no package manager when nothing is missing, one line when nothing can be done."""

import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
BASICS = ("awk", "bash", "sh", "dirname", "tr", "sed", "grep", "tail", "mkdir", "env", "cat", "ln")
TOOLS = ("gcc", "meson", "ninja", "pkg-config", "ip", "nft")


def write_program(path: Path, text: str) -> None:
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)


@pytest.fixture(name="machine")
def make_machine(tmp_path: Path) -> Path:
    """A machine of our own making: every tool for the demo, an ordinary user, no sudo."""
    programs = tmp_path / "programs"
    programs.mkdir()
    for name in BASICS:
        found = shutil.which(name)
        assert found is not None
        (programs / name).symlink_to(found)
    for name in TOOLS:
        write_program(programs / name, "cat >/dev/null")
    write_program(programs / "python3", "exit 0")
    write_program(programs / "id", "echo 1000")
    write_program(programs / "apt-get", f'echo "$@" >>{tmp_path}/apt-calls; exit 100')
    scripts = tmp_path / "scripts"
    scripts.mkdir()
    for name in ("install-packages", "find-python"):
        text = (ROOT / "scripts" / name).read_text()
        # Only what this machine has: not the tools of the host's own system directories.
        text = text.replace(":/usr/local/sbin:/usr/sbin:/sbin", "").replace("/usr/bin/python3", "")
        text = text.replace("=/var/lib/apt/lists", f"={tmp_path}/lists")
        text = text.replace("=/etc/os-release", f"={tmp_path}/os-release")
        (scripts / name).write_text(text)
        (scripts / name).chmod(0o755)
    return tmp_path


def install(machine: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {"PATH": str(machine / "programs"), "HOME": "/nonexistent"}
    return subprocess.run(
        [str(machine / "scripts" / "install-packages"), *arguments],
        env=environment,
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        check=False,
    )


def test_nothing_missing__no_package_manager_is_asked(machine: Path) -> None:
    done = install(machine, "demo")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert not (machine / "apt-calls").exists()


def test_missing_and_no_privilege__one_line_names_the_packages(machine: Path) -> None:
    (machine / "programs" / "gcc").unlink()
    (machine / "programs" / "nft").unlink()
    done = install(machine, "demo")
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1
    assert done.stderr.rstrip().endswith("apt-get install gcc libc6-dev nftables")
    assert not (machine / "apt-calls").exists()


def test_missing_and_no_apt__one_line_names_the_packages(machine: Path) -> None:
    (machine / "programs" / "meson").unlink()
    (machine / "programs" / "apt-get").unlink()
    done = install(machine, "demo")
    assert done.returncode == 2
    assert done.stderr.splitlines() == [
        "install-packages: missing: meson (names as in Debian); install them, then try again"
    ]


def test_offline__one_line_says_what_to_do(machine: Path) -> None:
    (machine / "programs" / "meson").unlink()
    # A sudo that lets the package manager fail as it does without a network, and does nothing else.
    write_program(
        machine / "programs" / "sudo",
        'case "$*" in *apt-get*) echo "E: Failed to fetch"; exit 100;; tee*) cat >/dev/null;; esac',
    )
    done = install(machine, "demo")
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1
    assert "apt-get update failed (E: Failed to fetch)" in done.stderr
    assert done.stderr.rstrip().endswith("apt-get install meson")


@pytest.mark.parametrize("with_apt", [True, False])
def test_only_libfabric_is_missing_and_cannot_be_had__left_out_in_a_line(
    machine: Path, with_apt: bool
) -> None:
    text = "case $* in *libfabric) exit 1;; esac"
    write_program(machine / "programs" / "pkg-config", text)
    if not with_apt:
        (machine / "programs" / "apt-get").unlink()
    done = install(machine, "demo")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "install-packages: left out: libfabric-dev (the provider for MPI)\n"


#: apt-get of a release that has no libfabric-dev.
WITHOUT_LIBFABRIC = 'case "$*" in *libfabric-dev*) exit 100;; esac'


def policy(*names: str) -> str:
    """What apt-cache says of packages that it knows; it also knows a virtual one."""
    known = "".join(f"{name}:\\n  Installed: (none)\\n  Candidate: 1\\n" for name in names)
    return f'printf "{known}libfabric-dev:\\n  Candidate: (none)\\n"'


def test_archive_lacks_what_can_be_done_without__the_rest_is_installed(machine: Path) -> None:
    programs = machine / "programs"
    (programs / "meson").unlink()
    write_program(programs / "pkg-config", "case $* in *libfabric) exit 1;; esac")
    write_program(programs / "apt-cache", policy("meson", "libfabric-dev2"))
    write_program(programs / "apt-get", f'echo "$@" >>{machine}/apt-calls\n{WITHOUT_LIBFABRIC}')
    write_program(
        programs / "sudo",
        f"case $* in *apt-get*install*) ln -s {programs}/ninja {programs}/meson;;"
        " tee*) cat >/dev/null;; esac",
    )
    for lists in (False, True):  # fetched by this, or there before
        (programs / "meson").unlink(missing_ok=True)
        if lists:
            (machine / "lists").mkdir()
            (machine / "lists" / "of_Packages").touch()
        done = install(machine, "demo")
        assert (done.returncode, done.stderr) == (0, "")
        assert "left out: libfabric-dev (the provider for MPI)\n" in done.stdout
        assert "installing meson (log" in done.stdout
        assert ("apt-get update" in done.stdout) is not lists


def test_archive_lacks_what_is_needed__that_is_named_alone(machine: Path) -> None:
    programs = machine / "programs"
    for name in ("meson", "nft"):
        (programs / name).unlink()
    write_program(programs / "apt-cache", policy("nftables"))
    write_program(programs / "sudo", 'case "$*" in tee*) cat >/dev/null;; esac')
    done = install(machine, "demo")
    assert done.returncode == 2
    assert done.stderr == (
        "install-packages: these package archives (/etc/apt) lack meson, without which this cannot"
        " be done\n"
    )


@pytest.mark.parametrize(
    ("release", "command"),
    [
        ("ID=fedora", "dnf install gcc glibc-devel nftables libfabric-devel"),
        ('ID="rocky"\nID_LIKE="rhel centos fedora"', "dnf install gcc glibc-devel nftables"),
        ('ID="opensuse-leap"\nID_LIKE="suse opensuse"', "zypper install gcc glibc-devel nftables"),
        ("ID=alpine", "apk add gcc musl-dev nftables libfabric-dev"),
    ],
)
def test_missing_and_another_package_manager__its_names(
    machine: Path, release: str, command: str
) -> None:
    for name in ("gcc", "nft", "apt-get"):
        (machine / "programs" / name).unlink()
    write_program(machine / "programs" / "pkg-config", "case $* in *libfabric) exit 1;; esac")
    (machine / "os-release").write_text(release + "\n")
    done = install(machine, "demo")
    assert done.returncode == 2
    assert done.stderr.startswith(f"install-packages: missing: {command}")
    assert len(done.stderr.splitlines()) == 1


def test_python_is_too_old__a_line_says_which_is_needed(machine: Path) -> None:
    text = 'case "$*" in *print*) echo 3.9;; *) exit 1;; esac'
    write_program(machine / "programs" / "python3", text)
    done = install(machine, "demo")
    assert done.returncode == 2
    assert done.stderr.startswith(
        "install-packages: python3 is Python 3.9, and Beowire needs 3.11 or newer: install one"
    )
    assert len(done.stderr.splitlines()) == 1


def test_unknown_set__usage(machine: Path) -> None:
    done = install(machine, "everything")
    assert done.returncode == 2
    assert done.stderr == (
        "install-packages: usage: install-packages demo|bench|test,"
        " or install-packages packages NAME...\n"
    )


def test_packages_by_name__that_cannot_be_had__are_said_to_be_left_out(machine: Path) -> None:
    write_program(machine / "programs" / "dpkg-query", '[ "$4" = gcc ] && printf installed')
    assert install(machine, "packages", "gcc").stdout == ""
    done = install(machine, "packages", "gcc", "lammps")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "install-packages: left out: lammps (what is to be tried with it)\n"
