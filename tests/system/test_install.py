# SPDX-License-Identifier: BSD-3-Clause
"""What `meson install` leaves on a host, as somebody who writes a program against it meets it."""

import json
import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

from system.conftest import ROOT
from system.exchanges import introduce

WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Werror"]

# Two endpoints of one process talk through memory: no network is touched. Valid C and C++.
PROGRAM = """
#include <beowire.h>
#include <beowire_job.h>
#include <stdio.h>
#include <string.h>

static beowire_endpoint *open_one(void)
{
    struct beowire_options options = BEOWIRE_OPTIONS_DEFAULT;
    beowire_endpoint *endpoint = NULL;
    options.lanes = "shm";
    int status = beowire_open(&options, &endpoint);
    if (status != 0) {
        fprintf(stderr, "%s\\n", beowire_error(status));
    }
    return endpoint;
}

int main(void)
{
    beowire_endpoint *a = open_one();
    beowire_endpoint *b = open_one();
    struct beowire_address address;
    struct beowire_completion done;
    beowire_peer peer = 0;
    char text[16] = "";
    bool received = false;
    beowire_job *job = NULL;

    if (beowire_job_open(&job, NULL, 0) != 0 || beowire_job_size(job) != 1) {
        return 5;
    }
    beowire_job_close(job);
    if (a == NULL || b == NULL) {
        return 1;
    }
    beowire_address(b, &address);
    if (beowire_peer_add(a, &address, &peer) != 0 ||
        beowire_receive(b, BEOWIRE_ANY_PEER, 1, 0, text, sizeof text, NULL) != 0 ||
        beowire_send(a, peer, 1, 0, "hello", 6, NULL) != 0) {
        return 2;
    }
    while (!received) {
        if (beowire_poll(a, &done, 1) < 0) {
            return 3;
        }
        int count = beowire_poll(b, &done, 1);
        if (count < 0 || (count == 1 && done.status != 0)) {
            return 4;
        }
        received = count == 1;
    }
    beowire_close(a, 0);
    beowire_close(b, 0);
    puts(text);
    return 0;
}
"""


@dataclass
class Installed:
    """A directory that stands for the root of a host."""

    root: Path

    def find(self, name: str) -> Path:
        # Not what leads to the same elsewhere.
        found = [
            one
            for one in self.root.rglob(name)
            if one.resolve().name != name or not one.is_symlink()
        ]
        assert len(found) == 1, (name, found)
        return found[0]

    def flags(self) -> list[str]:
        """What pkg-config says for beowire."""
        environment = {
            **os.environ,
            "PKG_CONFIG_LIBDIR": str(self.find("beowire.pc").parent),
            "PKG_CONFIG_SYSROOT_DIR": str(self.root),
        }
        return run("pkg-config", "--cflags", "--libs", "beowire", env=environment).split()

    def run(self, program: Path) -> str:
        libraries = str(self.find("libbeowire.so.0").parent)
        return run(str(program), env={**os.environ, "LD_LIBRARY_PATH": libraries})


def run(*command: str, env: dict[str, str] | None = None) -> str:
    done = subprocess.run(
        command, env=env, capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == 0, (command, done.stdout, done.stderr)
    return done.stdout


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Installed:
    root = tmp_path_factory.mktemp("installed")
    build = ROOT / "build" / "release"
    run("meson", "install", "-C", str(build), "--no-rebuild", "--quiet", "--destdir", str(root))
    return Installed(root)


@pytest.mark.parametrize("standard", ["c11", "c17", "c++11", "c++14", "c++17", "c++20"])
def test_program__built_and_run_with_what_pkg_config_says(
    installed: Installed, tmp_path: Path, standard: str
) -> None:
    cxx = standard.startswith("c++")
    compiler = ["g++" if cxx else "cc", f"-std={standard}", *WARNINGS]
    source = tmp_path / ("hello.cpp" if cxx else "hello.c")
    source.write_text(PROGRAM, encoding="ascii")
    program = tmp_path / "hello"
    run(*compiler, str(source), "-o", str(program), *installed.flags())
    assert installed.run(program) == "hello\n"
    # It is the shared library that was linked, by the name that keeps its interface.
    assert "libbeowire.so.0" in run("readelf", "--dynamic", str(program))


def test_library__is_replaced_while_processes_use_it__they_go_on(
    installed: Installed, tmp_path: Path
) -> None:
    """As dpkg replaces files: by a rename."""
    program, libraries = tmp_path / "exchange", tmp_path / "libraries"
    source = Path(__file__).with_name("exchange.c")
    run("cc", "-std=gnu17", str(source), "-o", str(program), *installed.flags())
    libraries.mkdir()
    library = libraries / "libbeowire.so.0"
    shutil.copy(installed.find("libbeowire.so.0"), library)
    lanes = {"EXCHANGE_LANES": "udp", "LD_LIBRARY_PATH": str(libraries)}
    ends = [
        subprocess.Popen(
            [str(program), "lo", *seeds, "20000"],
            env={**os.environ, **lanes},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for seeds in (("1", "2"), ("2", "1"))
    ]
    try:
        introduce(ends)
        new = library.with_name("libbeowire.so.0.dpkg-new")
        new.write_bytes(b"another version")
        new.replace(library)
        for end in ends:
            maps = Path(f"/proc/{end.pid}/maps").read_text(encoding="utf-8")
            assert f"{library} (deleted)" in maps
        for end in ends:
            out, error = end.communicate(timeout=120)
            assert (end.returncode, error) == (0, "")
            assert json.loads(out)["message_received"] == 20000
    finally:
        for end in ends:
            end.kill()
            end.communicate()


def test_library__shows_its_interface_and_nothing_else(installed: Installed) -> None:
    headers = "".join(
        installed.find(name).read_text(encoding="utf-8") for name in ("beowire.h", "beowire_job.h")
    )
    library = installed.find("libbeowire.so.0").resolve()
    exported = {
        line.split()[-1].partition("@")[0]
        for line in run("nm", "--dynamic", "--defined-only", str(library)).splitlines()
        if line.split()[1] != "A"  # the name of the version itself
    }
    assert {"beowire_open", "beowire_send", "beowire_close"} <= exported
    for name in exported:
        assert name.startswith("beowire_"), name
        assert f"{name}(" in headers, name


def test_provider__is_where_libfabric_looks_for_it(installed: Installed) -> None:
    provider = installed.find("libbeowire-fi.so")
    assert provider.parent == installed.find("libbeowire.so.0").parent / "libfabric"
    symbols = run("nm", "--dynamic", "--defined-only", str(provider)).split()
    assert [word for word in symbols if word.startswith(("fi_", "beowire_"))] == ["fi_prov_ini"]


def test_engine__is_installed_with_its_drivers(installed: Installed) -> None:
    engine = installed.find("beowire-engine")
    assert os.access(engine, os.X_OK)
    assert (engine.parent / "drivers" / "beowire-driver-tcp.so").is_file()


def test_command__is_installed_and_finds_its_engine_and_the_provider(
    installed: Installed, tmp_path: Path
) -> None:
    command = next(path for path in installed.root.rglob("bin/beowire"))
    environment = {
        "PATH": f"{ROOT / 'build/venv/bin'}:/usr/bin:/bin",
        "HOME": str(tmp_path),
        "LC_ALL": "C.UTF-8",
    }
    found = json.loads(run(str(command), "info", "--json", env=environment))
    assert Path(found["engine"]) == installed.find("beowire-engine").parent
    provider = Path(found["provider"]["path"]) / "libbeowire-fi.so"
    assert provider.resolve() == installed.find("libbeowire-fi.so").resolve()
    assert "cg" in run(str(command), "apps", "list", env=environment)
    said = run(str(command), "setup", "--prefix", "/tmp/beowire-not-there", env=environment)
    assert "would copy to /tmp/beowire-not-there" in said


def test_command__without_what_it_imports__is_one_line(
    installed: Installed, tmp_path: Path
) -> None:
    command = next(path for path in installed.root.rglob("bin/beowire"))
    copied = command.with_name("beowire-of-the-test")
    # No python3 is found but one that has nothing.
    text = command.read_text(encoding="ascii")
    copied.write_text(text.replace("/usr/bin/python3", "/nowhere").replace("/usr/local/bin", "/no"))
    copied.chmod(0o755)
    (tmp_path / "python3").write_text("#!/bin/sh\nexit 1\n")
    (tmp_path / "python3").chmod(0o755)
    done = subprocess.run(
        [copied, "info"],
        env={"PATH": f"{tmp_path}:/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=False,
    )
    copied.unlink()
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1
    assert "no python3 here, of version 3.11 or later, has all of: numpy" in done.stderr
