#!/usr/bin/env bash
# Compares the tuner with the best fixed setting of each workload: all settings of a grid are run
# (the oracle), then the oracle and the tuner by turns, then tf.data's AUTOTUNE, the fixed choice, one
# worker everywhere, one a core, and hill climbing. Half the CPU quota is taken away in one run, and
# busy neighbours keep all cores busy in others. "training on the cores" is a consumer that computes,
# alone and beside one and two neighbours that come and go: a minute each, medians of five (40 minutes;
# 2 with --short --only training). Prints a table.
#
#   benchmarks/autotune.sh [--json FILE] [--svg FILE] [--short] [--seconds N] [--only TEXT]
#                          [--no-peers] [--regret]
#
#   --json FILE   also writes the rows as JSON
#   --svg FILE    also draws a chart
#   --short       6 seconds a run rather than 20: figures to look at, not to quote
#   --seconds N   N seconds a run
#   --only TEXT   only the workloads whose name holds TEXT
#   --regret      only what the tuner loses in a minute: no peers, phases and neighbours; half an hour
#   --no-peers    without tf.data and the photographs, which need the Python environment of venv.sh
#   --help        this text
set -euo pipefail
# shellcheck source=tools/shell_common.sh
source "$(dirname "${BASH_SOURCE[0]}")/../tools/shell_common.sh"

check_options "$@"
with_peers=1
arguments=()
for argument in "$@"; do
  case $argument in
    --no-peers) with_peers=0 ;;
    *) arguments+=("$argument") ;;
  esac
done

build_benchmarks infeed_autotune infeed_compare
data="$infeed_root/build/compare-data"
"$infeed_root/build/release/benchmarks/infeed_compare" --make-data --data "$data"
if ((with_peers)); then
  python="$("$infeed_root/benchmarks/venv.sh")"
  [[ -d $data/photos ]] || "$python" "$infeed_root/benchmarks/compare/photo_data.py" "$data/photos"
  arguments+=(--python "$python")
fi

exec python3 "$infeed_root/benchmarks/autotune/autotune.py" \
  --program "$infeed_root/build/release/benchmarks/infeed_autotune" --data "$data" \
  "${arguments[@]}"
