#!/bin/sh
# Runs the scheduler from the shell, against the cluster of $KUBECONFIG; further arguments go to `moorage run`.
set -eu
here=$(dirname "$0")
exec moorage run --config "${CONFIG:-$here/scheduler-config.yaml}" --plugin "$here/plugin.py" -v=5 "$@"
