# Ignores every polite signal, and so does what it starts.
. "${0%/*}/common.sh"
trap '' INT HUP TERM
/bin/sh "$here/sleeper.sh" "$zoo" &
report
exec "$zoo/sleep" 600
