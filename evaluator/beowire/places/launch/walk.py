# SPDX-License-Identifier: BSD-3-Clause
"""The way into a directory on a host that nobody else can exchange, as POSIX sh.

`enter PATH` goes there a part at a time, from `/` on. Each part is looked at by one lstat(), its
owner and mode are judged, and the shell changes into it by its name in the directory that it is in:
that it is what was looked at is seen from its device and inode. What follows works with names
relative to there. So no link is followed that somebody else can make, and no path is taken twice:
what openat() with O_NOFOLLOW does, which a shell does not have. Each part was found in a directory
in which only those can change it that we trust, hence it stays what it was found to be.

For root, all parts have to be root's, and closed to others: but in a directory where only owners
can rename (sticky, as /tmp), root's own directory is safe. For others, the last part has to be
theirs or root's, and closed to others; above that, no part may be open to everybody.
"""

_LINES = (
    # In other languages stat has other words.
    "LC_ALL=C; export LC_ALL; uid=$(id -u); bits=022; also=; alone=yes; nobody=;",
    # In a user namespace everybody who has no number there owns what is 65534's.
    "[ -r /proc/self/uid_map ] && { nobody=65534; while read -r a b c; do",
    " [ $a -le 65534 ] && [ $((a + c)) -gt 65534 ] && nobody=; done </proc/self/uid_map;",
    " :; } || :;",
    "enter() { rest=${1#/}; make=${2-no}; at=; hops=0; sticky=no; refused=; made=no; step / ||",
    " return 1; while trim; [ -n \"$rest\" ]; do part=${rest%%/*};",
    " case $rest in */*) rest=${rest#*/} ;; *) rest= ;; esac;",
    ' case $part in ""|.) ;; *) step "./$part" || return 1 ;; esac; done; };',
    'trim() { while :; do case $rest in */) rest=${rest%/} ;; *) break ;; esac; done; };',
    'refuse() { refused="$1 $name${2+: $2}"; return 1; };',
    'about() { stat -c "%u %a %d:%i %g %F" "$1" 2>/dev/null; };',
    'step() { name=$at/${1#./}; [ "$1" = / ] && name=/; trim;',
    # Has a file system be mounted that is mounted when it is used: then that is what is looked at.
    ' [ -d "$1/." ]; found=$(about "$1") ||',
    " { if [ $make = no ]; then [ -x . ] || { refuse closed; return 1; };",
    " refuse absent; return 1; fi;",
    # Another may have made it meanwhile: what is there is judged below, whoever made it.
    ' said=$(mkdir "$1" 2>&1) || [ -e "$1" ] || { refuse closed "${said##*: }"; return 1; };',
    ' [ -n "$rest" ] || made=yes; found=$(about "$1") || { refuse closed; return 1; }; };',
    # Where everybody can make directories, who has no number may be anybody, not only root.
    ' set -- "$1" $found; owner=theirs; unnamed=$nobody; [ $sticky = no ] || unnamed=;',
    ' case " 0 $uid $also $unnamed " in *" $2 "*) owner=ours ;; esac;',
    # A link: who made it can have it lead elsewhere.
    ' if [ "$6" = symbolic ]; then [ $owner = ours ] || { [ $uid -gt 0 ] && [ $sticky = no ]; } ||',
    " { refuse shared; return 1; }; hops=$((hops + 1));",
    " [ $hops -le 40 ] || { refuse odd; return 1; };",
    ' to=$(readlink "$1"); rest=$to${rest:+/$rest};',
    ' case $to in /*) at=; step / || return 1 ;; esac; return 0; fi;',
    ' [ "$6" = directory ] || { refuse odd; return 1; };',
    # By an access control list, which GNU's ls shows as `+`, others may write as the group may.
    # BusyBox's shows none, and does not know the option.
    " if [ $5 = 0 ] && [ $((0$3 & 020)) -gt 0 ]; then",
    ' modes=$(ls -ldn --indicator-style=none "$1" 2>/dev/null) || :;',
    ' case ${modes%% *} in ""|*+) set -- "$1" $2 $3 $4 listed ;; esac; fi;',
    " need=no; writers=02; if [ $uid = 0 ]; then need=yes; [ $5 = 0 ] || writers=$bits; fi;",
    " [ $sticky = no ] || need=yes; [ $((0$3 & 01000)) = 0 ] || writers=0;",
    ' if [ -z "$rest" ]; then need=yes; if [ $alone = yes ]; then writers=$bits;',
    " [ $5 = 0 ] && writers=$((bits & 02)); fi; fi;",
    " { [ $need = no ] || [ $owner = ours ]; } && [ $((0$3 & writers)) = 0 ] ||",
    " { refuse shared; return 1; };",
    ' cd -P "$1" 2>/dev/null || { refuse closed; return 1; };',
    ' [ "$(stat -c %d:%i .)" = "$4" ] || { refuse shared; return 1; };',
    " sticky=no; [ $((0$3 & 01000)) = 0 ] || [ $((0$3 & 022)) = 0 ] || sticky=yes;",
    ' case $1 in /) at= ;; ./..) at=${at%/*} ;; *) at=$name ;; esac; };',
)  # fmt: skip

#: Defines `enter PATH [yes]`, `yes`: parts that are missing are made, by the umask. It leaves the
#: shell in the directory, and `made` is `yes` if the last part is new. Or it fails, and `refused`
#: is a word and the part that it is about: `shared` (others can change it), `absent`, `closed` (to
#: us; with the reason), `odd` (no directory).
#:
#: May be set before: `bits`, the rights that others must not have; `also`, one more user who is
#: trusted; `alone=no`: the last part may be one where everybody can write, and only owners can
#: rename. One line, which has neither `'` nor `!`.
WALK = "".join(_LINES)
