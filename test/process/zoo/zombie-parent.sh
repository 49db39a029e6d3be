# Its children end and are never waited for.
. "${0%/*}/common.sh"
/bin/sh -c 'exit 0' "$zoo" &
setsid /bin/sh -c 'exit 0' "$zoo" &
report
exec "$zoo/sleep" 600
