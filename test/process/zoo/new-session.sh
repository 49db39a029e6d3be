# Starts one that leaves group and session and ignores TERM.
. "${0%/*}/common.sh"
trap '' TERM
setsid /bin/sh "$here/sleeper.sh" "$zoo" &
report
exec "$zoo/sleep" 600
