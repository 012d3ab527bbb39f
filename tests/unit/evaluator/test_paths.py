# SPDX-License-Identifier: BSD-3-Clause
"""Where the engine is looked for, and in which order."""

from pathlib import Path

import pytest

from beowire import paths
from beowire.errors import BeowireError


def put_engine(directory: Path) -> Path:
    directory.mkdir(parents=True)
    (directory / "beowire-engine").touch()
    return directory


@pytest.fixture(name="package")
def make_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A checkout with a package and no engine yet."""
    package = tmp_path / "evaluator" / "beowire"
    package.mkdir(parents=True)
    monkeypatch.setattr(paths, "_PACKAGE", package)
    monkeypatch.delenv("BEOWIRE_ENGINE_DIR", raising=False)
    return package


def test_checkout__build_tree(package: Path, tmp_path: Path) -> None:
    built = put_engine(tmp_path / "build" / "engine")
    assert paths.engine_directory() == built


def test_installed__package_before_build_tree(package: Path, tmp_path: Path) -> None:
    put_engine(tmp_path / "build" / "engine")
    installed = put_engine(package / "_engine")
    assert paths.engine_directory() == installed


def test_variable__wins(package: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put_engine(package / "_engine")
    chosen = put_engine(tmp_path / "elsewhere")
    monkeypatch.setenv("BEOWIRE_ENGINE_DIR", str(chosen))
    assert paths.engine_directory() == chosen


def test_variable_without_engine__is_an_error(
    package: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put_engine(package / "_engine")
    monkeypatch.setenv("BEOWIRE_ENGINE_DIR", str(tmp_path / "empty"))
    with pytest.raises(BeowireError, match=r"no beowire-engine in .*/empty: build it first"):
        paths.engine_directory()


def test_not_built__says_what_to_do(package: Path) -> None:
    with pytest.raises(BeowireError, match=r"build it first \(`make` at the root"):
        paths.engine_directory()


def test_apps_sources__installed_ones_before_those_of_a_checkout(
    package: Path, tmp_path: Path
) -> None:
    with pytest.raises(BeowireError, match="sources are not in"):
        paths.apps_sources()
    (tmp_path / "apps" / "common").mkdir(parents=True)
    assert paths.apps_sources() == tmp_path / "apps"
    (package / "_apps" / "common").mkdir(parents=True)
    assert paths.apps_sources() == package / "_apps"


def test_apps_cache__in_the_build_tree_of_a_checkout_else_the_users(
    package: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", "/somewhere")
    assert paths.apps_cache() == Path("/somewhere/beowire/apps")
    (tmp_path / "apps").mkdir()
    assert paths.apps_cache() == tmp_path / "build" / "apps"
