# SPDX-License-Identifier: BSD-3-Clause
"""`beowire lab`: what the commands do, and that nothing is left of a lab however it ends."""

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from system.conftest import (
    PATIENCE_S,
    ROOT,
    RunBeowire,
    assert_refused,
    processes_of,
    wait_until,
)

UNPRIVILEGED = ["unshare", "--user", "--map-user=1000", "--map-group=1000"]
"""Makes root a user without any privilege, who can still read this checkout."""

ALLOWED = (
    Path("/proc/sys/net/ipv4/tcp_allowed_congestion_control").read_text(encoding="ascii").split()
)


@pytest.fixture(name="lab")
def make_lab(run_beowire: RunBeowire) -> str:
    """A plain lab named `lab`. It is not removed here: each test has to, or the test fails."""
    done = run_beowire("lab", "up")
    assert done.returncode == 0, done.stderr
    return "lab"


def status(run_beowire: RunBeowire) -> list[dict[str, object]]:
    done = run_beowire("lab", "status", "--json")
    assert done.returncode == 0, done.stderr
    labs: list[dict[str, object]] = json.loads(done.stdout)["labs"]
    return labs


def test_up_exec_down__a_program_sees_its_node(run_beowire: RunBeowire, lab: str) -> None:
    inside = run_beowire("lab", "exec", "node1", "--", "sh", "-c", "hostname; ls /sys/class/net")
    assert inside.stdout.split() == ["node1", "eth0", "lo"]
    assert [entry["name"] for entry in status(run_beowire)] == ["lab"]
    assert run_beowire("lab", "down").returncode == 0
    assert status(run_beowire) == []


def congestion_controls(run_beowire: RunBeowire, nodes: int) -> list[str]:
    """What TCP has in each node, as the kernel says it there."""
    read = ("cat", "/proc/sys/net/ipv4/tcp_congestion_control")
    said = [run_beowire("lab", "exec", f"node{i}", "--", *read).stdout for i in range(nodes)]
    return [line.strip() for line in said]


@pytest.mark.parametrize("prefix", [[], UNPRIVILEGED])
def test_up__tcp_is_the_same_on_every_host(run_beowire: RunBeowire, prefix: list[str]) -> None:
    host = Path("/proc/sys/net/ipv4/tcp_congestion_control").read_text(encoding="ascii")
    options = ["--link", "switch", "--nodes", "3"]
    assert run_beowire("lab", "up", *options, prefix=prefix).returncode == 0
    usual = "cubic" if "cubic" in ALLOWED else "reno"
    assert congestion_controls(run_beowire, 3) == [usual] * 3
    (found,) = status(run_beowire)
    assert found["congestion_control"] == usual
    assert f"congestion control {usual}" in run_beowire("lab", "status").stdout
    assert run_beowire("lab", "down").returncode == 0
    now = Path("/proc/sys/net/ipv4/tcp_congestion_control").read_text(encoding="ascii")
    assert now == host


@pytest.mark.parametrize("prefix", [[], UNPRIVILEGED])
@pytest.mark.parametrize("asked", ALLOWED)
def test_up__the_congestion_control_that_is_asked_for(
    run_beowire: RunBeowire, asked: str, prefix: list[str]
) -> None:
    up = run_beowire("lab", "up", "--congestion", asked, prefix=prefix)
    assert f"congestion control {asked}\n" in up.stdout, up.stderr
    assert congestion_controls(run_beowire, 2) == [asked] * 2
    (found,) = status(run_beowire)
    assert found["congestion_control"] == asked
    assert run_beowire("lab", "down").returncode == 0


def test_up__a_congestion_control_that_nobody_has(run_beowire: RunBeowire) -> None:
    done = run_beowire("lab", "up", "--congestion", "carrier-pigeon")
    assert_refused(done, "'carrier-pigeon'", ", ".join(sorted(ALLOWED)))


def test_exec__exit_status_is_the_programs(run_beowire: RunBeowire, lab: str) -> None:
    assert run_beowire("lab", "exec", "node0", "--", "sh", "-c", "exit 7").returncode == 7
    ended = run_beowire("lab", "exec", "node0", "--", "sh", "-c", "kill -TERM $$")
    assert ended.returncode in (-signal.SIGTERM, 128 + signal.SIGTERM)
    assert_refused(run_beowire("lab", "exec", "node0", "--", "no-such-program"), code=127)
    assert_refused(run_beowire("lab", "exec", "node2", "--", "true"), "node2", "node0 to node1")
    assert run_beowire("lab", "down").returncode == 0


def test_exec__streams_directory_and_core(
    run_beowire: RunBeowire, lab: str, tmp_path: Path
) -> None:
    script = "cat; pwd; grep Cpus_allowed_list /proc/self/status"
    done = run_beowire("lab", "exec", "node0", "--", "sh", "-c", script, text="in\n", cwd=tmp_path)
    cores = sorted(os.sched_getaffinity(0))
    expected = str(cores[0]) if len(cores) >= 2 else done.stdout.split()[-1]
    assert done.stdout.split() == ["in", str(tmp_path), "Cpus_allowed_list:", expected]
    assert run_beowire("lab", "down").returncode == 0


def test_exec__a_signal_reaches_the_program(run_beowire: RunBeowire, lab: str) -> None:
    program = "trap 'echo got it; exit 5' INT; echo ready; while :; do sleep 0.05; done"
    with subprocess.Popen(
        [ROOT / "beowire", "lab", "exec", "node0", "--", "sh", "-c", program],
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        process.send_signal(signal.SIGINT)
        assert process.stdout.read() == "got it\n"
        assert process.wait() == 5
    assert run_beowire("lab", "down").returncode == 0


def test_up__a_name_that_is_taken(run_beowire: RunBeowire, lab: str) -> None:
    assert_refused(run_beowire("lab", "up"), "lab named lab", "beowire lab down")
    assert run_beowire("lab", "down").returncode == 0
    assert_refused(run_beowire("lab", "down"), "no lab named lab")


def test_up__two_labs_are_two_worlds(run_beowire: RunBeowire, lab: str) -> None:
    assert run_beowire("lab", "up", "--name", "other").returncode == 0
    read_inode = ("exec", "node0", "--", "readlink", "/proc/self/ns/net")
    first = run_beowire("lab", *read_inode)
    second = run_beowire("lab", "exec", "--name", "other", *read_inode[1:])
    assert first.stdout.startswith("net:")
    assert second.stdout.startswith("net:")
    assert first.stdout != second.stdout
    done = run_beowire("lab", "down", "--all")
    assert done.stdout.splitlines() == ["lab lab is removed", "lab other is removed"]


def test_down__ends_the_programs_in_it(run_beowire: RunBeowire, lab: str) -> None:
    inside = subprocess.Popen([ROOT / "beowire", "lab", "exec", "node1", "--", "sleep", "600"])
    assert wait_until(lambda: _runs(inside.pid, "sleep"))
    assert run_beowire("lab", "down").returncode == 0
    assert inside.wait(timeout=PATIENCE_S) == -signal.SIGTERM


def _runs(pid: int, program: str) -> bool:
    return Path(f"/proc/{pid}/comm").read_text(encoding="utf-8").strip() == program


@pytest.mark.parametrize("finder", ["status", "up", "down"])
def test_dead_lab__is_found_and_cleaned(run_beowire: RunBeowire, lab: str, finder: str) -> None:
    (found,) = status(run_beowire)
    inside = subprocess.Popen([ROOT / "beowire", "lab", "exec", "node1", "--", "sleep", "600"])
    bystander = subprocess.Popen(["sleep", "600"])
    assert wait_until(lambda: _runs(inside.pid, "sleep"))
    keeper = found["keeper"]
    assert isinstance(keeper, dict)
    os.kill(keeper["pid"], signal.SIGKILL)
    done = run_beowire("lab", finder)
    assert done.returncode == 0, done.stderr
    assert inside.wait(timeout=PATIENCE_S) == -signal.SIGTERM
    assert bystander.poll() is None
    bystander.kill()
    bystander.wait()
    if finder == "status":
        assert "lab lab had ended" in done.stderr
    if finder == "up":
        assert run_beowire("lab", "down").returncode == 0


def test_keeper__ends_when_a_node_dies(run_beowire: RunBeowire, lab: str) -> None:
    (found,) = status(run_beowire)
    nodes = found["nodes"]
    assert isinstance(nodes, list)
    os.kill(nodes[1]["holder"]["pid"], signal.SIGKILL)
    assert wait_until(lambda: status(run_beowire) == [])


@pytest.mark.parametrize("stage", ["lab.keeper", "beowire-relay"])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_up__ended_in_the_middle(leftovers: str, stage: str, number: signal.Signals) -> None:
    options = ["--link", "switch", "--rate", "1g", "--delay", "1ms"]
    process = subprocess.Popen(
        [ROOT / "beowire", "lab", "up", *options],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    wait_until(
        lambda: process.poll() is not None or any(stage in line for line in processes_of(leftovers))
    )
    os.killpg(process.pid, number)
    process.wait()
    if process.returncode == 0:  # it was faster: then there is a lab
        assert subprocess.run([ROOT / "beowire", "lab", "down"], check=False).returncode == 0


def test_ephemeral_lab__dies_with_its_maker(leftovers: str) -> None:
    script = (
        "import time\n"
        "from beowire.places.lab import cluster\n"
        "from beowire.places.lab.options import LabOptions\n"
        "lab = cluster.up_ephemeral(LabOptions(delay_ns=1000), 'brief')\n"
        "print('ready', flush=True)\n"
        "time.sleep(600)\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", script],
        env={**os.environ, "PYTHONPATH": str(ROOT / "evaluator")},
        stdout=subprocess.PIPE,
    ) as maker:
        assert maker.stdout is not None
        assert maker.stdout.readline() == b"ready\n"
        assert any("lab.keeper" in line for line in processes_of(leftovers))
        maker.kill()
    assert wait_until(lambda: processes_of(leftovers) == [])


def test_up__without_privilege(run_beowire: RunBeowire) -> None:
    prefix = UNPRIVILEGED if os.geteuid() == 0 else []
    options = ["--link", "switch", "--nodes", "3", "--rate", "1g", "--loss", "0.001%"]
    done = run_beowire("lab", "up", *options, "--delay", "100us", prefix=prefix)
    assert done.returncode == 0, done.stderr
    user = run_beowire("lab", "exec", "node2", "--", "sh", "-c", "hostname; id -u")
    assert user.stdout.split() == ["node2", "0"], user.stderr
    (found,) = status(run_beowire)
    assert found["delay_by"] in ("relay", "netem")
    assert run_beowire("lab", "down").returncode == 0


def test_up__where_namespaces_are_forbidden(run_beowire: RunBeowire) -> None:
    # In a user namespace that may hold no further namespaces, nobody can make a lab.
    forbid = "for kind in user net; do echo 0 > /proc/sys/user/max_${kind}_namespaces; done"
    prefix = ["unshare", "--user", "--map-root-user", "sh", "-c", f'{forbid}; exec "$@"', "sh"]
    assert_refused(
        run_beowire("lab", "up", prefix=prefix), "may not make namespaces", "run as root", "sysctl"
    )


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--nodes", "3"], "use --link switch"),
        (["--nodes", "1"], "2 to 250 nodes"),
        (["--link", "token-ring"], "--link direct or --link switch"),
        (["--mtu", "65522"], "68 to 65521"),
        (["--mtu", "67"], "68 to 65521"),
        (["--rate", "fast"], "cannot read the rate 'fast'"),
        (["--delay", "5"], "with its unit"),
        (["--delay", "11s"], "0 to 10s"),
        (["--loss", "101%"], "1% or 0.01"),
        (["--name", "a/b"], "no lab can be named 'a/b'"),
    ],
)
def test_up__bad_input(run_beowire: RunBeowire, options: list[str], words: str) -> None:
    assert_refused(run_beowire("lab", "up", *options), words)


def test_up__a_missing_tool(run_beowire: RunBeowire, tmp_path: Path) -> None:
    # ip is there; what stands where nft is cannot be run.
    found = shutil.which("nft", path=f"{os.environ['PATH']}:/usr/sbin:/sbin")
    assert found is not None
    stub = tmp_path / "nothing"
    stub.touch()
    hide = f'mount --bind "{stub}" "{Path(found).resolve()}" && exec "$@"'
    namespaces = "-m" if os.geteuid() == 0 else "-Urm"
    prefix = ["unshare", namespaces, "sh", "-c", hide, "sh"]
    done = run_beowire("lab", "up", "--loss", "1%", prefix=prefix)
    assert_refused(done, "nft is missing: install the package nftables")


def test_exec__no_lab(run_beowire: RunBeowire) -> None:
    assert_refused(
        run_beowire("lab", "exec", "node0", "--", "true"), "make it with `beowire lab up`"
    )
