# SPDX-License-Identifier: BSD-3-Clause
"""What is run on a host, as POSIX sh: to see what is there, to put files in place, and to take them
away. What goes wrong is one line on standard error, which says what to do.

Root may run these, so they work only in directories that nobody else can change: they go into the
prefix by `enter` (places/launch/walk.py), refuse it where others can write to any part of it, and
name everything from there. That is sh and not a program of ours, since nothing but sh is sure to be
there, and since what nobody else can change needs no openat().

On the host they need what POSIX has, stat, sha256sum and tar (BusyBox is enough); setcap
(libcap2-bin) where a group is to send frames.
"""

from collections.abc import Sequence

from beowire.places.launch.walk import WALK
from beowire.setup.pieces import (
    BROKER,
    DIRECT,
    FRAMES,
    MANIFEST,
    MODULE,
    PROVIDER,
    PVM,
    SERVICE,
    SOCKET,
    Piece,
    for_shell,
)

#: Below the prefix, of all that may be put there.
_DIRECTORIES = tuple(
    path.partition("/")[0] for path in (FRAMES, PROVIDER, DIRECT, MODULE, PVM, SOCKET)
)

#: Whom the broker serves. Its owner may change it.
POLICY = "/etc/beowire/broker.toml"

#: What an apply() is given is unpacked into, below the prefix, until each file is moved from there.
#: Several hosts may have the prefix in common, so it has the host's name.
_DRAFT = ".beowire-draft"

_FAIL = 'fail() { echo "$*" >&2; exit 1; }'
_PATH = (
    "PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin; export PATH; LC_ALL=C; export LC_ALL; umask 022"
)

#: `is_file PATH`: a regular file, and no link. `sum PATH`: its SHA-256, or `none`. `closed DIR`: a
#: directory in the prefix that only we can change, or none at all. `listed`: what apply() has put
#: there, as sha256sum lists it.
_SEE = (
    'is_file() { [ -f "./$1" ] && [ ! -L "./$1" ]; }',
    'is_there() { [ -e "./$1" ] || [ -L "./$1" ]; }',
    'sum() { if is_file "$1"; then sha256sum <"./$1" | cut -d " " -f 1; else echo none; fi; }',
    'safe() { [ ! -L "./$1" ] && (rest=; at=$prefix; sticky=no; make=no; step "./$1"); }',
    f"manifest() {{ if is_file {MANIFEST}; then cat {MANIFEST}; fi; }}",
    # Only where it runs.
    "systemd() { case $(systemctl is-system-running 2>/dev/null) in"
    ' ""|offline|unknown) return 1 ;; esac; }',
    'is_ours() { case $listed in *"$(sum "$1")  $1"*) ;; *) return 1 ;; esac; }',
)


def _has_broker(files: Sequence[Piece]) -> bool:
    return any(one.path == BROKER for one in files)


def look(prefix: str, files: Sequence[Piece], group: str) -> str:
    """Prints `NAME VALUE` lines: what is there of the files, and what stands in the way."""
    inside = sorted({one.path.partition("/")[0] for one in files if "/" in one.path})
    lines = [
        _PATH,
        WALK,
        *_SEE,
        f'prefix="{for_shell(prefix)}"; echo "uid $uid"',
        'enter "$prefix" || case $refused in absent*) ;; *) echo "$refused" ;; esac',
        # Where it would be made: the nearest directory that is there.
        'at=$(pwd -P); echo "at $at"; [ -w . ] || echo "closed $at"',
        'echo "mounted $(findmnt -n -o FSTYPE,OPTIONS -T "$at" 2>/dev/null)"',
        "see() {",
        '    if [ -n "$refused" ] || ! is_there "$1"; then echo "absent $1"; return; fi',
        '    if [ "$(sum "$1")" = "$2" ]; then echo "same $1"; else echo "other $1"; fi',
        # The same file is let be, but for the one that may get a capability.
        f'    is_ours "$1" || {{ [ "$(sum "$1")" = "$2" ] && [ "$1" != "{FRAMES}" ]; }} ||'
        '        echo "foreign $1"',
        "}",
        # What is in a directory that others can change is not looked at.
        'if [ -z "$refused" ]; then listed=$(manifest); for one in'
        f" {' '.join(inside)}; do ! is_there $one || safe $one ||"
        ' refused="shared $prefix/$one"; done; [ -z "$refused" ] || echo "$refused"; fi',
        *(f'see "{one.path}" {one.digest}' for one in files),
        'if [ -z "$refused" ]; then',
        f'[ ! -e "./{_DRAFT}.$(uname -n)" ] || echo "interrupted yes"',
        f'echo "capability $(getcap "./{FRAMES}" 2>/dev/null)"',
        f'echo "frames $(stat -c "%a %G" "./{FRAMES}" 2>/dev/null)"',
        f'[ ! -x "./{FRAMES}" ] || echo "usable yes"',
        "fi",
        'command -v setcap >/dev/null || echo "lacks setcap"',
        'command -v sha256sum >/dev/null || echo "lacks sha256sum"',
    ]
    if group:
        lines.append(
            f'getent group "{group}" >/dev/null 2>&1 || grep -q "^{group}:" /etc/group ||'
            f' echo "no_group {group}"'
        )
    if _has_broker(files):
        lines += [
            f'policy="{POLICY}"; if [ ! -e "$policy" ]; then echo "policy absent"',
            rf"""elif ! grep -q '^ *groups *=.*"{group}"' "$policy"; then""",
            '    echo "policy other"; fi',
            "if systemd; then systemctl is-active -q beowired.socket &&"
            ' systemctl is-enabled -q beowired.socket || echo "broker disabled"',
            'elif ! grep -q " /run/beowire/broker$" /proc/net/unix; then echo "broker by-hand"; fi',
        ]
    return "\n".join(lines) + "\n"


def parcel(script: str, packed: bytes) -> tuple[str, bytes]:
    """A line of sh, and what it reads: the script, which then has the archive to read. dd takes as
    much as it is told and no more."""
    head = script.encode()
    line = f'script=$(dd bs=1 count={len(head)} 2>/dev/null) && eval "$script"'
    return line, head + packed


def apply(prefix: str, files: Sequence[Piece], group: str) -> str:
    """Puts the files of the archive that it reads in place, each by a rename, and lets the group
    send frames. May be run again, also after it was killed."""
    lines = [
        "set -eu",
        _PATH,
        _FAIL,
        WALK,
        *_SEE,
        f'prefix="{for_shell(prefix)}"',
        'enter "$prefix" yes || case $refused in',
        '    closed*) fail "$prefix cannot be made by $(id -un): ${refused#* }: --sudo, root@HOST,'
        ' or another directory (--prefix)" ;;',
        '    odd*) fail "${refused#* } is not a directory: use another --prefix" ;;',
        '    *) fail "${refused#* } can be changed by others: use another --prefix" ;;',
        "esac",
        # One that was killed has left its own.
        f'before=$made; draft={_DRAFT}.$(uname -n); rm -rf "./$draft"',
        'why=$(umask 077; mkdir "./$draft" 2>&1) ||'
        ' fail "$prefix cannot be written by $(id -un): ${why##*: }"',
        "trap 'rm -rf \"./$draft\"' EXIT",
        'tar -xf - -C "./$draft" || { echo "in $prefix" >&2; exit 1; }',
        "listed=$(manifest)",
        f'[ -z "$listed" ] || before=$(sed -n "s/^# made //p" {MANIFEST})',
        "list() {",
        '    { echo "# made $before"; sed "$theirs" "./$draft/manifest"; cat; } >"./$draft/list" &&'
        f' move "./$draft/list" {MANIFEST}',
        "}",
        # A file takes no other place than a file's.
        'move() { [ ! -d "./$2" ] || [ -L "./$2" ] || fail "$prefix/$2 is a directory: another'
        ' --prefix"; mv -f "$1" "./$2"; }',
        # What was there before and is the same stays, and is not undone. Another host may have put
        # it there just now, and has listed it before.
        'is_theirs() { is_there "$1" && ! (listed=$(manifest); is_ours "$1"); }',
        "put() {",
        '    ! is_theirs "$1" || return 0',
        "    case $1 in */*)",
        '        [ -d "./${1%/*}" ] || mkdir "./${1%/*}" || [ -d "./${1%/*}" ]',
        '        safe "${1%/*}" || fail "$prefix/${1%/*} can be changed by others: another'
        ' --prefix" ;;',
        "    esac",
        '    chmod "$2" "./$draft/$1"',
        f'    [ "$1" != "{FRAMES}" ] || allow "./$draft/$1"',
        '    move "./$draft/$1" "$1"',
        "}",
        f"allow() {{ {_allow('' if _has_broker(files) else group)}; }}",
        *(
            f'! is_there "{one.path}" || [ "$(sum "{one.path}")" = {one.digest} ] ||'
            f' is_ours "{one.path}" || fail "$prefix/{one.path} was not'
            ' installed by \\`beowire setup\\`: move it away, or use another --prefix"'
            for one in files
        ),
        "theirs=",
        *(f'! is_theirs "{one.path}" || theirs="$theirs; \\,  {one.path}\\$,d"' for one in files),
        # First, so that what is left of a try that failed can be undone: what was there before,
        # too, as long as not all is replaced.
        'printf "%s\\n" "$listed" | sed "/^#/d; /^$/d" | list',
        *(f'put "{one.path}" {one.mode:o}' for one in files),
        f'printf "%s\\n" "$listed" | sed "/^#/d; /^$/d{_of(files)}" | list',
        "if command -v fi_info >/dev/null; then",
        '    FI_PROVIDER_PATH="$prefix/fabric" fi_info -p beowire >/dev/null 2>&1 ||'
        ' fail "libfabric does not load $prefix/fabric/libbeowire-fi.so: see'
        ' \\`FI_LOG_LEVEL=warn FI_PROVIDER_PATH=$prefix/fabric fi_info -p beowire\\`"',
        "fi",
        # Where there is no fi_info, too. Both need nothing but the C library.
        *(
            f'why=$(LD_BIND_NOW=1 LD_PRELOAD="./{DIRECT} ./{PROVIDER}" env true 2>&1) &&'
            ' [ -z "$why" ] ||'
            ' fail "${why##*ERROR: ld.so: } Is $prefix mounted noexec? Use another --prefix"'
            for one in files
            if one.path == DIRECT
        ),
        *(_start_broker(group) if _has_broker(files) else []),
    ]
    return "\n".join(lines) + "\n"


def _policy() -> str:
    return f"""policy="{POLICY}"; head='# Written by `beowire setup`.'"""


def _start_broker(group: str) -> list[str]:
    """Writes the policy, if there is none, and has systemd listen, if it is there."""
    return [
        _policy(),
        'if [ ! -e "$policy" ]; then mkdir -p "${policy%/*}"',
        rf"""    printf '%s\n' "$head" 'groups = ["{group}"]' >"$policy.new" """,
        '    mv -f "$policy.new" "$policy"; fi',
        "if systemd; then",
        f'    why=$({{ systemctl link --force "$prefix/{SERVICE}" "$prefix/{SOCKET}" &&',
        "        systemctl daemon-reload && systemctl enable --now beowired.socket &&",
        # That it starts now shows what it lacks; without requests it ends after a minute.
        "        systemctl restart beowired.service; } 2>&1) || {",
        "        said=$(journalctl -q -u beowired.service -o cat -n 20 --since=-1min 2>/dev/null |",
        "            sed -n 's/^beowired: //p' | tail -n 1)",
        '        why=$(echo "$why" | grep -v "^See " | tail -n 1)',
        '        fail "systemd does not start the broker: ${said:-$why};'
        ' type systemctl status beowired.socket beowired.service"; }',
        "fi",
    ]


def _end_broker() -> list[str]:
    """Undoes that. The policy stays if it is not as it was written."""
    return [
        "if systemd; then",
        "    systemctl disable --now beowired.socket beowired.service >/dev/null 2>&1 || true",
        "    systemctl daemon-reload",
        rf'else echo "by-hand end the broker: kill \$(pidof $prefix/{BROKER})"; fi',
        _policy(),
        r"""was=$(printf '%s\n%s' "$head" 'groups = [NAME]')""",
        r"""if [ ! -e "$policy" ]; then :""",
        r"""elif [ "$(sed 's/"[^"]*"/NAME/' "$policy")" = "$was" ]; then""",
        '    rm -f "$policy"; rmdir "${policy%/*}" 2>/dev/null || true',
        'else echo "kept $policy"; fi ;;',
    ]


def _of(files: Sequence[Piece]) -> str:
    """Has sed leave out what is listed of these."""
    return "".join(f"; \\,  {one.path}$,d" for one in files)


def _allow(group: str) -> str:
    if not group:
        return "true"
    return (
        f'chgrp "{group}" "$1" 2>/dev/null && chmod 750 "$1" ||'
        f' fail "$(id -un) cannot give files to group {group}: --sudo, root@HOST, or create the'
        f' group (groupadd --system {group})";'
        ' setcap cap_net_raw=ep "$1" 2>/dev/null ||'
        ' fail "setcap fails in $prefix: it takes root and a file system that keeps capabilities'
        ' (not NFS): another --prefix, on a local disk"'
    )


def undo(prefix: str) -> str:
    """Takes away what apply() has put there, if it still is what it was. Prints what it kept."""
    lines = [
        "set -eu",
        _PATH,
        _FAIL,
        WALK,
        *_SEE,
        f'prefix="{for_shell(prefix)}"',
        'enter "$prefix" || case $refused in',
        '    shared*) fail "${refused#* } can be changed by others: have its owner remove'
        ' $prefix" ;;',
        '    closed*) fail "${refused#* } is closed to $(id -un): --sudo or root@HOST" ;;',
        '    *) echo "nothing"; exit 0 ;;',
        "esac",
        "listed=$(manifest)",
        '[ -n "$listed" ] || { echo "nothing"; exit 0; }',
        '[ -w . ] || fail "$prefix cannot be changed by $(id -un): --sudo or root@HOST"',
        # Only what apply() could have put there.
        'each() { printf "%s\\n" "$listed" | while read -r sum path; do',
        '    case $sum in "#"|"") continue ;; esac',
        f"    case $path in /*|*..*|*/*/*|.|{MANIFEST}) continue ;; esac",
        '    case $path in */*) is_there "${path%/*}" || continue',
        '        safe "${path%/*}" || { $1 "$path" ""; continue; } ;; esac',
        '    ! is_there "$path" || $1 "$path" "$sum"',
        "done; }",
        # Nobody else can change a directory in which this is done, so it is the file that was read.
        'take() { [ -z "$2" ] || [ "$(sum "$1")" != "$2" ] || rm -f "./$1"; }',
        'keep() { echo "kept $prefix/$1"; }',
        f'case $listed in *"  {SOCKET}"*)',
        *_end_broker(),
        "esac",
        "each take; each keep | sort -u",
        # Another host that has the same directory may have removed the list meanwhile.
        'made=$(printf "%s\n" "$listed" | sed -n "s/^# made //p")',
        f"rm -f {MANIFEST}; rm -rf ./{_DRAFT}.*",
        f"for one in {' '.join(_DIRECTORIES)}; do rmdir ./$one 2>/dev/null || true; done",
        'name=$(pwd -P); name=${name##*/}; [ "$made" != yes ] ||'
        ' { cd -P .. && rmdir "./$name" 2>/dev/null; } || true',
    ]
    return "\n".join(lines) + "\n"
