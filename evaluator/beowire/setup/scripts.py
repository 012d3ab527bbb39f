# SPDX-License-Identifier: BSD-3-Clause
"""What is run on a host, as POSIX sh: to see what is there, to put files in place, and to take them
away. What goes wrong is one line on standard error, which says what to do.

On the host they need what POSIX has, mktemp, sha256sum and tar (BusyBox is enough); setcap
(libcap2-bin) where a group is to send frames.
"""

from collections.abc import Sequence

from beowire.setup.pieces import FRAMES, MANIFEST, MODULE, PROVIDER, PVM, Piece, for_shell

#: Takes the archive from standard input, and runs the script in it.
UNPACK = (
    'LC_ALL=C; export LC_ALL; d=$(mktemp -d) && trap "rm -rf \\"$d\\"" EXIT && tar -xf - -C "$d" ||'
    ' { echo "in ${TMPDIR:-/tmp}" >&2; exit 1; }; sh "$d/apply.sh" "$d"'
)

#: Below the prefix, of all that may be put there.
_DIRECTORIES = tuple(path.partition("/")[0] for path in (FRAMES, PROVIDER, MODULE, PVM))

_FAIL = 'fail() { echo "$*" >&2; exit 1; }'
_PATH = (
    "PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin; export PATH; LC_ALL=C; export LC_ALL; umask 022"
)


def look(prefix: str, files: Sequence[Piece], group: str) -> str:
    """Prints `NAME VALUE` lines: what is there of the files, and what stands in the way."""
    lines = [_PATH, f'prefix="{for_shell(prefix)}"', 'echo "uid $(id -u)"']
    lines += [
        f'if [ -e "$prefix/{one.path}" ]; then'
        f' if echo "{one.digest}  $prefix/{one.path}" | sha256sum -c >/dev/null 2>&1; then'
        f' echo "same {one.path}"; else echo "other {one.path}"; fi;'
        f' else echo "absent {one.path}"; fi'
        for one in files
    ]
    lines += [
        f'[ ! -e "$prefix/{MANIFEST}" ] || echo "known yes"',
        # Where it would be made: the nearest directory that is there.
        'at=$prefix; while [ ! -d "$at" ]; do at=$(dirname "$at"); done',
        'echo "at $at"; [ -w "$at" ] || echo "closed $at"',
        'echo "mounted $(findmnt -n -o FSTYPE,OPTIONS -T "$at" 2>/dev/null)"',
        # Where root's files could be exchanged by others: up to the root, the first that is so.
        'up=$at; [ ! -d "$prefix/bin" ] || up=$prefix/bin; up=$(cd -P "$up" && pwd -P)',
        'while [ -n "$up" ]; do set -- $(stat -c "%u %g %a" "$up");'
        " writers=022; [ $2 != 0 ] || writers=02; [ $((0$3 & 01000)) = 0 ] || writers=0;"
        ' if [ $1 != 0 ] || [ $((0$3 & writers)) != 0 ]; then echo "shared $up"; break; fi;'
        ' [ "$up" != / ] || break; up=$(dirname "$up"); done',
        f'echo "capability $(getcap "$prefix/{FRAMES}" 2>/dev/null)"',
        f'echo "frames $(stat -c "%a %G" "$prefix/{FRAMES}" 2>/dev/null)"',
        f'[ ! -x "$prefix/{FRAMES}" ] || echo "usable yes"',
        'command -v setcap >/dev/null || echo "lacks setcap"',
        'command -v sha256sum >/dev/null || echo "lacks sha256sum"',
    ]
    if group:
        lines.append(
            f'getent group "{group}" >/dev/null 2>&1 || grep -q "^{group}:" /etc/group ||'
            f' echo "no_group {group}"'
        )
    return "\n".join(lines) + "\n"


def apply(prefix: str, files: Sequence[Piece], group: str) -> str:
    """Puts the files that are beside it (`$1`) in place, each by a rename, and lets the group send
    frames. May be run again."""
    lines = [
        "set -eu",
        _PATH,
        _FAIL,
        # Several hosts may have the directory in common.
        f'new=$1; prefix="{for_shell(prefix)}"; made=no; draft=new.$(uname -n).$$',
        '[ -d "$prefix" ] || made=yes',
        f'[ ! -e "$prefix/{MANIFEST}" ] || made=$(sed -n "s/^# made //p" "$prefix/{MANIFEST}")',
        'why=$(mkdir -p "$prefix" 2>&1) ||'
        ' fail "$prefix cannot be made by $(id -un): ${why##*: }: name the host as root@HOST, or'
        ' another directory with --prefix"',
        "put() {",
        "    target=$prefix/$1",
        # A link that somebody has put there is not followed: here, nor where a list is written.
        '    why=$( (set -C; mkdir -p "$(dirname "$target")" && rm -f "$target.$draft" &&'
        ' cat "$new/$1" >"$target.$draft" && chmod "$2" "$target.$draft") 2>&1) ||'
        ' fail "$target cannot be written by $(id -un): ${why##*: }"',
        f'    [ "$1" != "{FRAMES}" ] || allow "$target.$draft"',
        '    mv -f "$target.$draft" "$target"',
        "}",
        f"allow() {{ {_allow(group)}; }}",
        'trap \'rm -f "$prefix"/*.$draft "$prefix"/*/*.$draft\' EXIT',
        # First, so that what is left of a try that failed can be undone.
        'why=$( (set -C; { echo "# made $made"; cat "$new/manifest"; } >"$prefix/manifest.$draft"'
        f' && mv -f "$prefix/manifest.$draft" "$prefix/{MANIFEST}") 2>&1) ||'
        ' fail "$prefix cannot be written by $(id -un): ${why##*: }"',
        *(f'put "{one.path}" {one.mode:o}' for one in files),
        "if command -v fi_info >/dev/null; then",
        '    FI_PROVIDER_PATH="$prefix/fabric" fi_info -p beowire >/dev/null 2>&1 ||'
        ' fail "libfabric does not load $prefix/fabric/libbeowire-fi.so: see'
        ' \\`FI_LOG_LEVEL=warn FI_PROVIDER_PATH=$prefix/fabric fi_info -p beowire\\`"',
        "fi",
    ]
    return "\n".join(lines) + "\n"


def _allow(group: str) -> str:
    if not group:
        return "true"
    return (
        f'chgrp "{group}" "$1" 2>/dev/null && chmod 750 "$1" ||'
        f' fail "$(id -un) cannot give files to group {group}: name the host as root@HOST, or'
        f' make the group (groupadd --system {group})";'
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
        f'prefix="{for_shell(prefix)}"',
        f'[ -f "$prefix/{MANIFEST}" ] || {{ echo "nothing"; exit 0; }}',
        'cd "$prefix" && [ -w . ] || fail "$prefix cannot be changed by $(id -un): name the host'
        ' as root@HOST"',
        "while read -r sum path; do",
        '    case $sum in "#") continue ;; esac',
        # Root does this, and whoever can write there could have listed any file of the host.
        "    case $path in /*|*..*|*/*/*) continue ;; esac",
        '    case $path in */*) [ ! -L "${path%/*}" ] || continue ;; esac',
        '    [ -e "$path" ] || continue',
        '    if echo "$sum  $path" | sha256sum -c >/dev/null 2>&1; then rm -f "$path";'
        ' else echo "kept $prefix/$path"; fi',
        f'done <"{MANIFEST}"',
        f'made=$(sed -n "s/^# made //p" "{MANIFEST}")',
        f'rm -f "{MANIFEST}"',
        f"rmdir {' '.join(_DIRECTORIES)} 2>/dev/null || true",
        'cd /; [ "$made" != yes ] || rmdir "$prefix" 2>/dev/null || true',
    ]
    return "\n".join(lines) + "\n"
