# Answers TERM by starting another in a session of its own, and ends.
. "${0%/*}/common.sh"
trap 'setsid /bin/sh "$here/sleeper.sh" "$zoo" & exit 0' TERM
"$zoo/sleep" 600 &
report
wait
