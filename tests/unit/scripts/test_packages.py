# SPDX-License-Identifier: BSD-3-Clause
"""What is installed, and what each package has of it: no new file is forgotten, and none is named
that nothing installs any more. Meson says what it would install; nothing is built for this."""

import json
import re
import subprocess
import tomllib
from collections.abc import Iterator
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
DEBIAN = ROOT / "packaging/debian"
SPEC = ROOT / "packaging/rpm/beowire.spec"
RECIPE = ROOT / "packaging/spack/spack_repo/beowire/packages/beowire/package.py"

#: Where `meson install` puts a file, and where the same is in a wheel; None: wheels do without.
IN_WHEELS = (
    (r"{prefix}/libexec/beowire/python/beowire/(.*)", r"{py_platlib}/beowire/\1"),
    (r"{prefix}/libexec/beowire/(.*)", r"{py_platlib}/beowire/_engine/\1"),
    (r"{libdir}/libfabric/(.*)", r"{py_platlib}/beowire/_engine/fabric/\1"),
    (r"{bindir}/beowire-frames", r"{py_platlib}/beowire/_engine/beowire-frames"),
    (r"{bindir}/beowire", r"{bindir}/beowire"),
    (r"{libdir}/libbeowire\.so\.[\d.]+", r"{py_platlib}/beowire/_sdk/lib/libbeowire.so"),
    (r"{libdir}/(pkgconfig/.*)", r"{py_platlib}/beowire/_sdk/lib/\1"),
    (r"{includedir}/(.*)", r"{py_platlib}/beowire/_sdk/include/\1"),
    (r"{mandir}/.*", None),
    (r"{sbindir}/beowired", r"{py_platlib}/beowire/_engine/beowired"),
    (r"{prefix}/lib/systemd/system/.*", None),
)

#: The folders' names where distributions have them.
FOLDERS = {
    "{bindir}": "usr/bin",
    "{includedir}": "usr/include",
    "{mandir}": "usr/share/man",
    "{prefix}": "usr",
    "{sbindir}": "usr/sbin",
}


def installed(tree: Path) -> set[str]:
    """Each file or folder that `meson install` of this tree would install, as it names them."""
    plan = json.loads((tree / "meson-info/intro-install_plan.json").read_text())
    options = json.loads((tree / "meson-info/intro-buildoptions.json").read_text())
    libdir = next(str(one["value"]) for one in options if one["name"] == "libdir")
    found = set()
    for part in plan.values():
        for one in part.values():
            name = one["destination"].replace("/beowire/../beowire/", "/beowire/")
            name = re.sub(r"^{libdir_shared}", "{libdir}", name)
            found.add(re.sub(rf"^{re.escape(libdir)}/", "{libdir}/", name))
    return found


@cache
def of_meson() -> frozenset[str]:
    return frozenset(installed(ROOT / "build/release"))


@pytest.fixture(scope="module")
def of_wheel(tmp_path_factory: pytest.TempPathFactory) -> set[str]:
    """What pip would install: pyproject.toml says with which options."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    options = project["tool"]["meson-python"]["args"]["setup"]
    tree = tmp_path_factory.mktemp("wheel") / "tree"
    subprocess.run(["meson", "setup", tree, ROOT, *options], check=True, capture_output=True)
    return installed(tree)


def in_wheel(name: str) -> str | None:
    for pattern, there in IN_WHEELS:
        if re.fullmatch(pattern, name):
            return None if there is None else re.sub(pattern, there, name)
    raise AssertionError(f"{name}: say in IN_WHEELS where it is in a wheel, or that it is not")


def distributed(libdir: str, libexecdir: str) -> Iterator[str]:
    """What a distribution's package would find below its root, symbolic links of libraries too."""
    for name in of_meson():
        path = name.replace("{libdir}", libdir).replace("{prefix}/libexec", libexecdir)
        for folder, there in FOLDERS.items():
            path = path.replace(folder, there)
        assert "{" not in path, f"{name}: say in FOLDERS where distributions have it"
        yield path
        if library := re.fullmatch(r"(.*\.so)\.(\d+)\.[.\d]+", path):
            yield library[1]
            yield f"{library[1]}.{library[2]}"


def check(paths: set[str], packages: dict[str, list[str]]) -> None:
    """Every path is in one package, and every pattern of a package matches one."""

    def matches(path: str, pattern: str) -> bool:
        return fnmatchcase(path, pattern) or path.startswith(f"{pattern}/")

    for path in sorted(paths):
        where = [
            package
            for package, patterns in packages.items()
            if any(matches(path, pattern) for pattern in patterns)
        ]
        assert len(where) == 1, f"{path} has to be in one package: it is in {where or 'none'}"
    for package, patterns in packages.items():
        for pattern in patterns:
            found = any(matches(path, pattern) for path in paths)
            assert found, f"{package}: nothing is installed any more that is {pattern}"


def test_wheel__has_all_that_meson_installs_and_nothing_else(of_wheel: set[str]) -> None:
    assert {there for name in of_meson() if (there := in_wheel(name))} == of_wheel


def test_checkout__has_the_whole_engine() -> None:
    engine = {
        name.removeprefix("{py_platlib}/beowire/_engine/")
        for name in map(in_wheel, of_meson())
        if name is not None and "/_engine/" in name
    }
    # The header of drivers is where the sources are.
    staged = ROOT / "build/engine"
    found = {str(path.relative_to(staged)) for path in staged.rglob("*") if path.is_file()}
    assert engine - found == {"include/driver.h"}


def test_debian__every_file_is_in_one_package() -> None:
    packages = {
        path.stem: [
            line.split()[0].replace("usr/lib/*/", "usr/lib/TRIPLET/")
            for line in path.read_text().splitlines()
            if line and not line.startswith("#")
        ]
        for path in (*DEBIAN.glob("*.install"), DEBIAN / "not-installed")
    }
    # What is in usr/lib/beowire there is what pip installs: the wheel.
    paths = {
        path
        for path in distributed("usr/lib/TRIPLET", "usr/lib")
        if "/beowire/python/" not in path and path != "usr/bin/beowire"
    }
    check(paths, packages)


def test_rpm__every_file_is_in_one_package() -> None:
    macros = {"bindir": "usr/bin", "includedir": "usr/include", "libdir": "usr/lib64"}
    macros |= {"libexecdir": "usr/libexec", "mandir": "usr/share/man"}
    macros |= {"prefix": "usr", "sbindir": "usr/sbin"}
    packages: dict[str, list[str]] = {}
    for files in re.findall(r"^%files(.*?)^$", SPEC.read_text(), re.MULTILINE | re.DOTALL):
        head, *lines = files.splitlines()
        patterns = packages.setdefault(head.removeprefix(" -n "), [])
        for line in lines:
            if line.startswith("%{"):
                patterns.append(re.sub(r"%{_(\w+)}", lambda macro: macros[macro[1]], line))
    assert len(packages) == 4
    check(set(distributed("usr/lib64", "usr/libexec")), packages)


def test_packages__are_of_the_same_version() -> None:
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    assert (DEBIAN / "changelog").read_text().startswith(f"beowire ({version})")
    assert f"\nVersion:        {version}\n" in SPEC.read_text()
    assert f" - {version}-1\n" in SPEC.read_text()
    assert f'version("{version}", tag="v{version}")' in RECIPE.read_text()


def test_packages__need_what_the_command_imports() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    spec, recipe, control, pinned = (
        path.read_text() for path in (SPEC, RECIPE, DEBIAN / "control", ROOT / "requirements.txt")
    )
    of_debian = re.search(r"grep -vE '\^\(([\w|]+)\)='", (DEBIAN / "rules").read_text())
    assert of_debian is not None
    for one in project["dependencies"]:
        name, version = one.split(">=")
        # Those that Debian's packages do not bring along are Debian's.
        assert f"\n{name}==" in f"\n{pinned}"
        assert (name in of_debian[1].split("|")) == (f" python3-{name},\n" in control), name
        if name != "plotext":  # neither has it, and the command does without
            needs = re.search(rf"^(Requires|Recommends): +python3-{name}\b", spec, re.MULTILINE)
            assert needs, name
            assert f'depends_on("py-{name}@{version}:", type="run")' in recipe, name
