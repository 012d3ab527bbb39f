# SPDX-License-Identifier: BSD-3-Clause
"""What shells complete: each script is read by its shell, where that is here."""

import shutil
import subprocess
from pathlib import Path
from typing import Annotated

import pytest
import typer

from beowire import completion, help_text
from beowire.commands.completion import completion_command
from beowire.errors import BeowireError


def small() -> typer.Typer:
    app = typer.Typer(add_completion=False, rich_markup_mode=None)
    group = typer.Typer(rich_markup_mode=None)

    @app.command("compare")
    def compare(
        *,
        link: Annotated[str, typer.Option("--link", help="It's a cable: or not. More.")] = "",
        out: Annotated[Path, typer.Option("-o", "--out", help="Where to.")] = Path(),
        json: Annotated[bool, typer.Option("--json", help="JSON.")] = False,
    ) -> None:
        """Compares. Well."""

    @group.command("up")
    def up() -> None:
        """Begins."""

    app.add_typer(group, name="lab", help="Labs.")
    help_text.adopt(app)
    return app


def script(shell: str) -> str:
    return completion.script(shell, list(completion.places(typer.main.get_command(small()))))


def complete(tmp_path: Path, *words: str) -> list[str]:
    """What bash offers for the last word."""
    (tmp_path / "script").write_text(script("bash"))
    text = (
        '. "$0"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); compopt() { :; }; '
        '_beowire; printf "%s\\n" "${COMPREPLY[@]}"'
    )
    done = subprocess.run(
        ["bash", "-uc", text, tmp_path / "script", "beowire", *words],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.split()


def test_bash__commands_options_and_values(tmp_path: Path) -> None:
    assert complete(tmp_path, "") == ["compare", "lab", "--help"]
    assert complete(tmp_path, "co") == ["compare"]
    assert complete(tmp_path, "lab", "u") == ["up"]
    assert complete(tmp_path, "compare", "--j") == ["--json"]
    assert complete(tmp_path, "compare", "--link", "") == ["direct", "switch"]
    (tmp_path / "results").mkdir()
    assert complete(tmp_path, "compare", "-o", "res") == ["results"]
    assert complete(tmp_path, "compare", "--json", "res") == ["results"]


@pytest.mark.parametrize("shell", completion.SHELLS)
def test_whole_script__is_one_that_the_shell_reads(
    shell: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    completion_command(shell)
    text = capsys.readouterr().out
    for word in ("compare", "mpi-env", "mpirun", "--socket-buffer"[2:]):
        assert word in text
    if shutil.which(shell):
        (tmp_path / "script").write_text(text)
        assert subprocess.run([shell, "-n", tmp_path / "script"], check=False).returncode == 0


def test_fish_and_zsh__quote_what_the_help_says() -> None:
    assert "-l link -x -a 'direct switch' -d 'It'\\''s a cable: or not'" in script("fish")
    assert "'--link:It'\\''s a cable  or not'" in script("zsh")


def test_unknown_shell__is_one_line() -> None:
    with pytest.raises(BeowireError, match="one of bash, zsh, fish"):
        completion_command("tcsh")
