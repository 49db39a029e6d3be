# Sourced by every animal: $1 is a folder of the test's own. Every process of the zoo has that folder in its command line,
# so the test can take a census that depends on nothing the animals do to themselves; and appends its pid to "pids".
zoo="$1"
here="${0%/*}"
report() { echo "$$" >>"$zoo/pids"; }
