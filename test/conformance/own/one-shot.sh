#!/bin/sh
# A small one-shot agent, as somebody could write one: the task comes on stdin, and its first word says what it does.
read -r what _
case "$what" in
  empty) ;;
  rejected) echo '400 bad request' >&2; exit 1 ;;
  auth) echo '401 invalid api key' >&2; exit 1 ;;
  busy) echo '429 too many requests' >&2; exit 1 ;;
  down) echo '503 service unavailable' >&2; exit 1 ;;
  wait) echo working; exec sleep 60 ;;
  *) echo 'Hello.' ;;
esac
