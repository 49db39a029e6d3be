# Starts the animal $1 in the folder $2 and ends by itself when $3 of its processes have reported: all of it is left over.
/bin/sh "$1" "$2" &
while [ ! -e "$2/pids" ] || [ "$(wc -l <"$2/pids")" -lt "$3" ]; do "$2/sleep" 0.02; done
