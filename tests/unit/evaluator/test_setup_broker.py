# SPDX-License-Identifier: BSD-3-Clause
"""`beowire setup --broker` on this host, with a systemd that only pretends."""

import os
from pathlib import Path

import pytest

from beowire.setup import scripts
from beowire.setup.hosts import ThisHost
from unit.evaluator.test_setup import make_engine, run

__all__ = ["make_engine"]

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root can install the broker")

#: A systemctl that does what ours is asked of it, in files below $state: `link` and `enable` make
#: one, `disable` removes it.
SYSTEMCTL = """
systemctl() {
    echo "$*" >>"$state/calls"
    case $1 in
    is-system-running) echo %s ;;
    is-active|is-enabled) [ -e "$state/enabled" ] ;;
    enable) touch "$state/enabled" ;;
    restart) echo "Job for $2 failed: %s" >&2; echo "See it" >&2; [ -z "%s" ] ;;
    disable) rm -f "$state/enabled" ;;
    esac
}
journalctl() { cat "$state/journal"; }
getent() { [ "$2" = daemon ]; }
"""


def with_broker(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, running: str = "degraded", why: str = ""
) -> Path:
    """Hosts with that state of systemd. Returns the broker's policy."""
    policy = tmp_path / "etc" / "beowire" / "broker.toml"
    policy.parent.parent.mkdir()
    monkeypatch.setattr(scripts, "POLICY", str(policy))
    monkeypatch.setattr("beowire.setup.plan.POLICY", str(policy))
    fake = f'state="{tmp_path}"{SYSTEMCTL % (running, why, why)}'
    monkeypatch.setattr(scripts, "_PATH", f"{scripts._PATH}; {fake}")
    return policy


BROKER = ("--group", "daemon", "--broker")


def test_broker__is_installed_started_and_undone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    policy, prefix = with_broker(tmp_path, monkeypatch), tmp_path / "beowire"
    said, error = run("--prefix", str(prefix), *BROKER)
    assert error is None
    assert f'would write {policy}: groups = ["daemon"]' in said
    assert f"systemctl enable --now {prefix}/systemd/beowired.socket" in said
    assert not policy.exists()

    said, error = run("--prefix", str(prefix), *BROKER, "--apply")
    assert error is None, error
    assert "members of daemon (who log in again first) need no other command" in said
    assert policy.read_text("ascii").splitlines()[1:] == ['groups = ["daemon"]']
    service = (prefix / "systemd" / "beowired.service").read_text(encoding="ascii")
    assert service == f"ExecStart={prefix}/bin/beowired\n"
    assert os.access(prefix / "bin" / "beowired", os.X_OK)
    assert (tmp_path / "enabled").exists()

    said, error = run("--prefix", str(prefix), *BROKER)
    assert said.endswith(f"{prefix} is up to date\n")
    (tmp_path / "enabled").unlink()  # somebody has disabled it
    said, error = run("--prefix", str(prefix), *BROKER, "--apply")
    assert (error, (tmp_path / "enabled").exists()) == (None, True)

    said, error = run("--prefix", str(prefix), "--undo")
    assert (said, error) == (f"{ThisHost().names[0]}: {prefix} is removed\n", None)
    assert [path.exists() for path in (prefix, tmp_path / "enabled", policy.parent)] == [False] * 3


def test_broker__a_policy_of_the_owner_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    policy, prefix = with_broker(tmp_path, monkeypatch), tmp_path / "beowire"
    policy.parent.mkdir()
    policy.write_text('groups = ["staff"]\n', encoding="ascii")
    said, error = run("--prefix", str(prefix), *BROKER, "--apply")
    assert f"{policy} does not name the group daemon" in str(error)
    policy.write_text('groups = ["staff", "daemon"]\n', encoding="ascii")
    assert run("--prefix", str(prefix), *BROKER, "--apply")[1] is None
    said, error = run("--prefix", str(prefix), "--undo")
    assert f"kept {policy}: it was changed since" in said
    assert policy.read_text("ascii") == 'groups = ["staff", "daemon"]\n'


def test_broker__without_systemd__a_line_says_what_to_type(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    policy, prefix = with_broker(tmp_path, monkeypatch, "offline"), tmp_path / "beowire"
    for words in ((), ("--apply",)):
        said, error = run("--prefix", str(prefix), *BROKER, *words)
        assert error is None
        assert "there is no systemd, so start the broker at each boot, as root: setpriv " in said
    assert policy.exists()
    said, error = run("--prefix", str(prefix), "--undo")
    assert "end the broker: kill $(pidof " in said
    assert not prefix.exists()


@pytest.mark.parametrize(
    ("journal", "expected"),
    [
        ("beowired: no group\nMain process exited\n", "no group; "),
        ("Main process exited\n", "Job for beowired.service failed: exit code; "),
    ],
)
def test_broker__cannot_be_started__its_own_reason_is_said_or_systemds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, journal: str, expected: str
) -> None:
    with_broker(tmp_path, monkeypatch, why="exit code")
    (tmp_path / "journal").write_text(journal, encoding="ascii")
    _, error = run("--prefix", str(tmp_path / "beowire"), *BROKER, "--apply")
    assert f"systemd does not start the broker: {expected}" in str(error)
