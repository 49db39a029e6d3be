# Starts one that leaves the group but not the session, as the jobs of a shell do.
. "${0%/*}/common.sh"
set -m
/bin/sh "$here/sleeper.sh" "$zoo" &
report
exec "$zoo/sleep" 600
