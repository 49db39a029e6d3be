# Stops itself and its child: frozen processes hear nothing but KILL.
. "${0%/*}/common.sh"
setsid /bin/sh -c 'echo "$$" >>"$0/pids"; kill -STOP "$$"' "$zoo" &
report
kill -STOP "$$"
exec "$zoo/sleep" 600
