#!/bin/sh
# The server answers on its port a little before it can make a namespace.
set -eu

tries=30
until temporal operator namespace describe --namespace "$NAMESPACE" >/dev/null 2>&1 ||
  temporal operator namespace create --namespace "$NAMESPACE" --retention "$RETENTION"; do
  tries=$((tries - 1))
  if [ "$tries" -eq 0 ]; then
    echo "namespace $NAMESPACE could not be made at $TEMPORAL_ADDRESS" >&2
    exit 1
  fi
  sleep 2
done
