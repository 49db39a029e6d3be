# A daemon the old way: its parents end at once.
. "${0%/*}/common.sh"
(setsid /bin/sh -c '/bin/sh "$0" "$1" & exit 0' "$here/sleeper.sh" "$zoo" &)
report
exec "$zoo/sleep" 600
