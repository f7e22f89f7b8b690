#!/bin/sh
# Runs the scheduler from the shell: run.sh [CONFIG [FLAGS OF moorage run]]
set -eu
here=$(dirname "$0")
config=${1:-$here/scheduler-config.yaml}
[ $# -eq 0 ] || shift
exec moorage run --config "$config" --plugin "$here/plugin.py" -v=5 "$@"
