# SPDX-License-Identifier: BSD-3-Clause
"""Hosts and options as typed, and the package that goes to a host.

(tests/system/test_ssh.py talks to a real sshd.)
"""

import io
import subprocess
import tarfile
from pathlib import Path

import pytest

from beowire.errors import BeowireError
from beowire.places.launch import cache, ssh
from beowire.places.launch.base import Node
from beowire.places.launch.ssh import SshLauncher


@pytest.mark.parametrize("hosts", ["", "a", "a,a", "a,b,c", ["a"]])
def test_init__needs_two_hosts(hosts: str | list[str]) -> None:
    with pytest.raises(BeowireError, match="two different hosts"):
        SshLauncher(hosts)


@pytest.mark.parametrize("host", ["-oProxyCommand=x", "", "a b"])
def test_init__a_host_that_ssh_would_take_for_something_else(host: str) -> None:
    with pytest.raises(BeowireError, match="no host can be named"):
        SshLauncher([host, "b"])


@pytest.mark.parametrize("option", ["-p 2222", "", "Port", "Port=", "'"])
def test_init__an_option_that_is_not_as_in_ssh_config(option: str) -> None:
    with pytest.raises(BeowireError, match="Port=2222"):
        SshLauncher("a,b", [option])


def test_init__an_option_may_hold_spaces() -> None:
    jump = "ProxyCommand=ssh -W %h:%p 'the jump'"
    command = SshLauncher("a,b", [jump, "Port 2222", "User = me"]).ssh.command("a", "true")
    assert {jump, "Port=2222", "User=me"} <= set(command)


@pytest.fixture(name="engine")
def make_engine(tmp_path: Path) -> Path:
    (tmp_path / "drivers").mkdir()
    (tmp_path / "beowire-engine").write_bytes(b"engine")
    (tmp_path / "drivers" / "beowire-driver-tcp.so").write_bytes(b"tcp")
    (tmp_path / "beowire-relay").write_bytes(b"not for hosts")
    return tmp_path


def test_pack__engine_and_drivers_and_nothing_else(engine: Path) -> None:
    with tarfile.open(fileobj=io.BytesIO(cache.pack(cache.engine_files(engine)))) as tar:
        assert {entry.name: entry.mode for entry in tar} == {
            "drivers": 0o700,
            "beowire-engine": 0o700,
            "drivers/beowire-driver-tcp.so": 0o700,
        }


def test_pack__same_content_same_bytes(engine: Path) -> None:
    before = cache.pack(cache.engine_files(engine))
    (engine / "beowire-engine").touch()
    assert cache.pack(cache.engine_files(engine)) == before
    (engine / "beowire-engine").write_bytes(b"enginf")
    assert cache.pack(cache.engine_files(engine)) != before


def test_ssh_command__never_asks_for_a_password() -> None:
    launcher = SshLauncher("a,u@b", options=["Port=2222", "BatchMode=no"])
    command = launcher.ssh.command("u@b", "true")
    assert command[:4] == ["ssh", "-T", "-o", "BatchMode=yes"]  # the first value counts
    assert command[-2:] == ["u@b", "exec sh -c 'true'"]
    assert command.index("Port=2222") < command.index("ConnectTimeout=10")


def test_start__an_engine_by_a_program_that_hands_on_rights(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    launcher = SshLauncher("a,u@b")
    launcher._host_of = {"a": "a", "b": "u@b"}
    launcher.through["u@b"] = '"/opt/x/frames" '
    said: list[str] = []
    monkeypatch.setattr(subprocess, "Popen", lambda words, **_: said.append(words[-1]))
    for name in ("a", "b"):
        launcher.start(Node(name, name))
    assert "/beowire-engine" in said[0] and "frames" not in said[0]
    assert ' "/opt/x/frames" "$HOME/.cache/beowire/' in said[1]


@pytest.mark.parametrize(
    ("config", "settings", "words"),
    [
        (None, None, ""),
        ("/home/user/mine.conf", None, ""),  # that file is not there
        ("", None, "env BEOWIRE_CONFIG= "),
        (None, "spin_ns=9000", "env BEOWIRE_SETTINGS=spin_ns=9000 "),
        ("", "", "env BEOWIRE_CONFIG= BEOWIRE_SETTINGS= "),
    ],
)
def test_settings__what_is_tried_and_no_file_of_the_host(
    monkeypatch: pytest.MonkeyPatch, config: str | None, settings: str | None, words: str
) -> None:
    for name, value in (("BEOWIRE_CONFIG", config), ("BEOWIRE_SETTINGS", settings)):
        if value is None:
            monkeypatch.delenv(name, raising=False)
        else:
            monkeypatch.setenv(name, value)
    assert ssh._settings() == words


def test_settings__what_a_shell_would_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BEOWIRE_SETTINGS", "a=$(reboot)")
    with pytest.raises(BeowireError, match="BEOWIRE_SETTINGS is key=value"):
        ssh._settings()


@pytest.mark.parametrize(
    ("said", "meaning"),
    [
        ("Host key verification failed.", "its host key is not known"),
        ("u@b: Permission denied (publickey).", "refuses the key"),
        ("ssh: connect to host b port 22: Connection refused", "no ssh server"),
        ("ssh: connect to host b port 22: Connection timed out", "does not answer"),
        ("banner\nsomething new", "something new"),
        ("", "cannot connect"),
    ],
)
def test_explain_ssh(said: str, meaning: str) -> None:
    assert meaning in ssh._explain_ssh("u@b", said)


@pytest.mark.parametrize(
    ("said", "meaning"),
    [
        ("x: version `GLIBC_2.38' not found (required by x)", "GLIBC_2.38 is missing"),
        ("sh: 1: /x: Exec format error", "another kind of processor"),
        ("sh: /x: Permission denied", "no permission"),
        ("", "status 9"),
    ],
)
def test_explain_engine(said: str, meaning: str) -> None:
    assert meaning in cache.explain_engine(said, 9)
