# "$1/sleep" is a link to the real one: so the folder stays in the command line.
echo "$$" >>"$1/pids"
exec "$1/sleep" 600
