# SPDX-License-Identifier: BSD-3-Clause
"""What machines are made of: found, or said in one line to be missing; and machines that fail."""

import os
import platform
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from beowire.errors import BeowireError
from beowire.places.lab.keeper import KeeperRequest
from beowire.places.lab.machines import initramfs, keeper, parts
from beowire.places.lab.machines.loop import Loop
from beowire.places.lab.machines.parts import Kernel, QemuParts
from beowire.places.lab.machines.wire import Switch
from beowire.places.lab.options import LabOptions, read_lab_options


def kernels(root: Path, *versions: str, with_modules: bool = True) -> tuple[Path, Path]:
    boot, modules = root / "boot", root / "modules"
    boot.mkdir()
    for version in versions:
        (boot / f"vmlinuz-{version}").write_bytes(b"image")
        if with_modules:
            (modules / version).mkdir(parents=True)
            (modules / version / "modules.dep").write_text("", encoding="ascii")
    return boot, modules


def test_find_kernel__the_newest_that_has_its_modules(tmp_path: Path) -> None:
    boot, modules = kernels(tmp_path, "6.1.0-9-amd64", "6.1.0-10-amd64")
    (boot / "vmlinuz-7.0.0").write_bytes(b"no modules")
    found = parts.find_kernel(boot, modules)
    assert found == Kernel(
        boot / "vmlinuz-6.1.0-10-amd64", "6.1.0-10-amd64", modules / "6.1.0-10-amd64"
    )


def test_qemu_parts__what_to_type(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(platform, "machine", lambda: "x86_64")
    monkeypatch.setattr(parts, "_program", lambda name: None)
    monkeypatch.setattr(parts, "find_kernel", lambda: None)
    with pytest.raises(BeowireError) as refused:
        parts.qemu_parts()
    assert str(refused.value) == (
        "--backend vm is absent: no QEMU, no kernel image that can be read, no busybox linked"
        " statically, no modprobe: apt-get install --no-install-recommends qemu-system-x86"
        " linux-image-amd64 busybox-static kmod"
    )


def test_qemu_parts__another_processor(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(platform, "machine", lambda: "aarch64")
    with pytest.raises(BeowireError, match=r"vm is absent: .* x86_64, this host is aarch64"):
        parts.qemu_parts()


def test_uml_parts__what_to_type(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parts, "_program", lambda name: None)
    monkeypatch.setattr(parts, "newest", lambda directory: None)
    with pytest.raises(BeowireError) as refused:
        parts.uml_parts()
    assert str(refused.value) == (
        "--backend uml is absent: no user-mode Linux, no modprobe: apt-get install"
        " --no-install-recommends user-mode-linux kmod"
    )


def test_uml_parts__a_processor_that_it_cannot_use(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parts, "_program", Path)
    monkeypatch.setattr(parts, "newest", lambda directory: tmp_path / "6.1")
    processors = tmp_path / "cpuinfo"
    processors.write_text("flags\t\t: fpu amx_tile\n", encoding="ascii")
    with pytest.raises(BeowireError, match="uml is absent: this processor has AMX"):
        parts.uml_parts(processors)
    processors.write_text("flags\t\t: fpu avx512f\n", encoding="ascii")
    assert parts.uml_parts(processors).kernel.version == "6.1"


def test_is_static__python_is_not() -> None:
    assert not parts.is_static(Path(sys.executable).resolve())
    assert not parts.is_static(Path(__file__))


def test_check_memory() -> None:
    parts.check_memory(2, 512 << 20, 1 << 30)
    with pytest.raises(BeowireError, match="too little memory for 3 machines of 512 MiB: 1024 MiB"):
        parts.check_memory(3, 512 << 20, 1 << 30)


def test_kvm_works__not_with_just_any_device(tmp_path: Path) -> None:
    (tmp_path / "kvm").touch()
    able, unable = tmp_path / "able", tmp_path / "unable"
    able.write_text("flags\t\t: fpu vmx sse\n", encoding="ascii")
    unable.write_text("flags\t\t: fpu sse\nbugs\t\t: svm\n", encoding="ascii")
    assert not parts.kvm_works(tmp_path / "kvm", able)
    assert not parts.kvm_works(tmp_path / "nothing", able)
    if Path("/dev/kvm").exists():
        assert not parts.kvm_works(processors=unable)


@pytest.fixture(name="kernel")
def make_kernel(tmp_path: Path) -> Kernel:
    """Modules a and b need c, which needs d; e is built in."""
    directory = tmp_path / "6.1"
    (directory / "kernel").mkdir(parents=True)
    lines = ["kernel/a-a.ko: kernel/c.ko kernel/d.ko", "kernel/b.ko: kernel/c.ko kernel/d.ko"]
    lines += ["kernel/c.ko: kernel/d.ko", "kernel/d.ko:"]
    (directory / "modules.dep").write_text("\n".join(lines) + "\n", encoding="ascii")
    (directory / "modules.builtin").write_text("kernel/e.ko\n", encoding="ascii")
    for name in ("a-a", "b", "c", "d"):
        (directory / "kernel" / f"{name}.ko").write_bytes(name.encode() * 3)
    return Kernel(tmp_path / "image", "6.1", directory)


def test_load_order__what_is_needed_comes_first(kernel: Kernel) -> None:
    assert initramfs.load_order(kernel, ("a_a", "e", "b")) == [
        f"kernel/{name}.ko" for name in ("d", "c", "a-a", "b")
    ]


def test_load_order__a_module_that_is_missing(kernel: Kernel) -> None:
    with pytest.raises(BeowireError, match=r"the kernel 6\.1 has no module f"):
        initramfs.load_order(kernel, ("f",))


def test_make__an_archive_that_is_read_elsewhere(
    kernel: Kernel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(initramfs, "load_order", lambda _: ["kernel/d.ko", "kernel/c.ko"])
    busybox = parts.find_busybox()
    if busybox is None:
        pytest.fail("no busybox linked statically: install the package busybox-static")
    archive = initramfs.make(kernel, busybox, ["python", "it's"])
    out = tmp_path / "out"
    out.mkdir()
    subprocess.run([busybox, "cpio", "-i"], input=archive, cwd=out, check=True, capture_output=True)
    assert (out / "modules").read_text(encoding="ascii").split() == ["0.ko", "1.ko"]
    assert (out / "0.ko").read_bytes() == b"ddd"
    assert (out / "bin" / "busybox").read_bytes() == busybox.read_bytes()
    assert "switch_root /root python 'it'\"'\"'s'" in (out / "init").read_text(encoding="utf-8")
    checked = subprocess.run([busybox, "sh", "-n", out / "init"], check=False, capture_output=True)
    assert checked.stderr == b""


@pytest.fixture
def alive(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Nobody ends the lab: what is the keeper's standard input otherwise stays open."""
    reading, writing = os.pipe()
    monkeypatch.setattr(keeper, "LIFELINE", reading)
    monkeypatch.setattr(Loop, "watch_signals", lambda *_: None)
    yield
    os.close(reading)
    os.close(writing)


REQUEST = KeeperRequest("brief", read_lab_options(backend="vm"), True, (None, None), "")


@pytest.mark.usefixtures("alive")
@pytest.mark.parametrize(
    ("script", "limit_s", "words"),
    [
        ("echo booting; exec sleep 600", 0.5, r"boots in .* node0: nothing is heard .*: booting\)"),
        ("echo '[ 1.2] Kernel panic - not syncing: x'", 30, "node[01]: its kernel panicked: x"),
        ("echo Kernel panic - not syncing: x; seq 9; sleep 0.2; seq 99; sleep 0.2", 30,
         "node[01]: its kernel panicked: x"),
        ("echo beowire: the module 9p is bad", 30, "node[01]: the module 9p is bad"),
        ("echo \"q: -device igb: 'igb' is not a valid device model name\" >&2; exit 1", 30,
         "this QEMU has no card igb: choose another"),
        ("echo cannot set up guest memory: Cannot allocate memory; exit 1", 30,
         "too little memory"),
        ("exit 3", 30, "its process has ended with status 3"),
    ],
)  # fmt: skip
def test_make__a_machine_that_fails(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    script: str,
    limit_s: float,
    words: str,
) -> None:
    monkeypatch.setenv("BEOWIRE_RUNTIME_DIR", str(tmp_path / "runtime"))
    qemu = tmp_path / "qemu"
    qemu.write_text(f"#!/bin/sh\n{script}\n", encoding="ascii")
    qemu.chmod(0o700)
    nothing = Kernel(tmp_path / "image", "6.1", tmp_path)
    monkeypatch.setattr(parts, "qemu_parts", lambda: QemuParts(qemu, nothing, qemu, kvm=False))
    monkeypatch.setattr(initramfs, "make", lambda *_: b"")
    monkeypatch.setattr(keeper, "BOOT_S", limit_s)
    lab = keeper.MachinesLab(REQUEST)
    with pytest.raises(BeowireError, match=words):
        lab.make()
    for guest in lab.guests:
        assert guest.process is not None
        assert guest.process.returncode is not None


@pytest.mark.usefixtures("alive")
def test_make__a_card_that_cannot_have_the_mtu(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BEOWIRE_RUNTIME_DIR", str(tmp_path / "runtime"))
    options = read_lab_options(backend="vm", nic="ne2k_pci", mtu=9000)
    lab = keeper.MachinesLab(KeeperRequest("brief", options, True, (None, None), ""))
    monkeypatch.setattr(lab, "_start", lambda: None)
    lab._said["node0"] = {"error": "ip: Error: mtu greater than device maximum."}
    with pytest.raises(BeowireError, match="node0: the card ne2k_pci takes no MTU 9000"):
        lab.make()


def test_switch__learns_and_floods() -> None:
    loop = Loop()
    switch = Switch(loop)
    cards = [switch.port() for _ in range(3)]
    for card in cards:
        card.setblocking(False)

    def seen(target: bytes, sender: int) -> list[int]:
        cards[sender].send(target + bytes([2, 0, 0, 0, 0, sender]) + b"payload")
        loop.step(5.0)
        found = []
        for number, card in enumerate(cards):
            try:
                found += [number] if card.recv(100).endswith(b"payload") else []
            except BlockingIOError:
                continue
        return found

    assert seen(b"\xff" * 6, 0) == [1, 2]
    assert seen(bytes([2, 0, 0, 0, 0, 0]), 1) == [0]
    assert seen(bytes([2, 0, 0, 0, 0, 1]), 0) == [1]
    assert seen(bytes([2, 0, 0, 0, 0, 2]), 0) == [1, 2]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"backend": "xen"}, "use --backend namespaces or vm or uml"),
        ({"backend": "vm", "nic": "ne1"}, "no card 'ne1': --nic is one of e1000, e1000e, virtio"),
        ({"nic": "e1000"}, "--nic needs --backend vm"),
        ({"modules": ["tipc"]}, "--module needs --backend vm or uml"),
        ({"backend": "vm", "modules": ["-r"]}, "no module of the kernel can be named '-r'"),
        ({"backend": "vm", "loss": "1%"}, "--backend vm has no --rate"),
    ],
)
def test_options__refused(options: dict[str, object], words: str) -> None:
    with pytest.raises(BeowireError, match=words):
        read_lab_options(**options)  # type: ignore[arg-type]


def test_options__what_a_record_says_of_machines() -> None:
    described = read_lab_options(backend="vm", modules=["rdma_rxe"]).describe()
    assert (described["backend"], described["nic"]) == ("vm", "e1000")
    assert "backend" not in LabOptions().describe()
    assert KeeperRequest.from_json(REQUEST.to_json()) == REQUEST
