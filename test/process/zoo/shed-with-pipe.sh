# Its child sheds session, environment and parent, and still holds our pipe.
. "${0%/*}/common.sh"
(setsid env -i /bin/sh -c 'cd /; /bin/sh "$0" "$1" & exit 0' "$here/sleeper.sh" "$zoo" &)
# Time to be looked at right after the start.
"$zoo/sleep" 0.1
report
