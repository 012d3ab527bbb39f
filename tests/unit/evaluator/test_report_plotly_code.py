# SPDX-License-Identifier: BSD-3-Clause
"""What a report holds of plotly, and how. That it draws is tested in a browser."""

import base64
import gzip
import re
from pathlib import Path

import pytest

from beowire import paths
from beowire.report import plotly_code
from beowire.report.plotly_code import packed, packed_plotly, slim

PRELUDE = (
    "var Plotly=(()=>{var W=(e,t)=>()=>{try{return t||e((t={exports:{}}).exports,t),t.exports}"
    "catch(r){throw t=0,r}};"
)
TAIL = "var Zz1=W((Q,q)=>{var R=Aa1();R.register([Bb1(),Cc1()]);q.exports=R});return Zz1();})();"


def bundle(*modules: str) -> str:
    """Code as the package has it: modules, and one that registers two of them."""
    return PRELUDE + "".join(f"var {one}" for one in modules) + TAIL


CORE = "Aa1=W((e,t)=>{t.exports={register(l){},x:Dd1(),...Ff1}});"
HELPER = "Dd1=W(e=>{e.Cc1=1;e.a={Ee1:2}});"
DRAWN = "Bb1=W((e,t)=>{t.exports=Gg1()});"
VOLUMES = "Cc1=W(()=>{Gg1()});"
PARTLY = "Ee1=W(e=>{e.b=1});var Ff1={};function Hh1(){}"
GRAPHICS = "Gg1=W((e,t)=>{t.exports='a lot'});"


def test_slim__leaves_out_what_nothing_reaches_any_more() -> None:
    code = slim(bundle(CORE, HELPER, DRAWN, VOLUMES, PARTLY + ";", GRAPHICS))
    # PARTLY does not end as modules do, so nothing can be told.
    assert "a lot" in code
    code = slim(bundle(CORE, HELPER, DRAWN, VOLUMES, GRAPHICS))
    assert "R.register([])" in code
    # What has the same name as a property, or as a key, is not reached by that.
    assert re.findall(r"(\w+)=W\(", code) == ["Aa1", "Dd1", "Zz1"]
    assert "a lot" not in code


def test_slim__what_stands_behind_a_module_is_kept_with_it() -> None:
    behind = "Ee1=W(e=>{e.b=1});var Ff1={},Hh1=W2(()=>{});"
    code = slim(bundle(CORE, HELPER, behind, DRAWN, VOLUMES, GRAPHICS))
    assert "Ff1={}" in code  # the core spreads it
    assert "a lot" not in code


def test_slim__another_form_is_taken_whole() -> None:
    assert slim("var Plotly = {};") == "var Plotly = {};"


def unpacked(written: str) -> str:
    back = written.translate(str.maketrans(",.:", "<>&"))
    return gzip.decompress(base64.b85decode(back)).decode()


def test_slim__the_packages_file() -> None:
    whole = plotly_code.whole()
    # Made by this code from this file, or its name would be another; it takes seconds.
    code = unpacked(packed_plotly())
    assert len(code) < 0.5 * len(whole)
    # Bars are drawn besides what is in the core: they, and nothing else, are registered.
    assert re.search(r"\.register\(\[[\w$]+\(\)\]\)", code)
    assert 'moduleType:"trace",name:"bar"' in code
    assert 'moduleType:"trace",name:"pie"' in whole
    assert 'moduleType:"trace",name:"pie"' not in code
    for gone in ("gl_plot3d", "createREGL", "geoAitoff"):
        assert gone in whole and gone not in code
    assert "Licensed under the MIT license" in code


def test_packed__is_the_text_and_nothing_that_html_reads() -> None:
    text = "</script><!-- & \u03c0 " + "x" * 1000
    written = packed(text)
    assert not set(written) & set("<>&\"'")
    assert set(written) <= set(plotly_code.ALPHABET)
    assert len(set(plotly_code.ALPHABET)) == 85
    assert unpacked(written) == text
    assert packed(text) == written


def test_packed_plotly__is_made_once_for_a_version_of_the_package(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    made = []

    def slimmed(code: str) -> str:
        made.append(code)
        return code.upper()

    monkeypatch.setattr(plotly_code, "slim", slimmed)
    monkeypatch.setattr(paths, "report_cache", lambda: tmp_path / "report")
    for version in ("one", "one", "two", "one"):
        monkeypatch.setattr(plotly_code, "whole", lambda version=version: version)
        assert plotly_code.packed_plotly.__wrapped__() == packed(version.upper())
    assert made == ["one", "two"]
    # Without room for it there are reports all the same.
    for kept in (tmp_path / "report").iterdir():
        kept.unlink()
    (tmp_path / "report").rmdir()
    (tmp_path / "report").write_text("no directory")
    assert plotly_code.packed_plotly.__wrapped__() == packed("ONE")
