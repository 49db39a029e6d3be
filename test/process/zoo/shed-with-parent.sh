# Its child sheds session, environment, folder and descriptors; only the parent tells.
. "${0%/*}/common.sh"
setsid env -i /bin/sh -c 'cd /; exec </dev/null >/dev/null 2>&1; trap "" TERM; exec /bin/sh "$0" "$1"' "$here/sleeper.sh" "$zoo" &
report
exec "$zoo/sleep" 600
