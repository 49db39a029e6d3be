# Its child sheds everything there is to shed before anybody can have looked. Only a container holds it.
. "${0%/*}/common.sh"
(setsid env -i /bin/sh -c 'cd /; exec </dev/null >/dev/null 2>&1; /bin/sh "$0" "$1" & exit 0' "$here/sleeper.sh" "$zoo" &)
report
