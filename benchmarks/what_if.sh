#!/usr/bin/env bash
# Asks the profiler what changes would bring to the tuner's workloads (more threads, prefetch, a cache,
# faster storage, a faster step, twice the cores), makes each of them, and measures it by turns with
# the workload as it is. Prints a table and the median error of the predicted rates; the bar is 10 %.
#
#   benchmarks/what_if.sh [--json FILE] [--short] [--only TEXT]
#
#   --json FILE   also writes the rows as JSON
#   --short       one second a run and one turn: figures to look at, not to quote
#   --only TEXT   only the workload of this name, or those whose name holds TEXT
#   --help        this text
#
# Photographs are among the workloads where autotune.sh or compare.sh has made them. Exit status 1
# when the bar was missed.
set -euo pipefail
# shellcheck source=tools/shell_common.sh
source "$(dirname "${BASH_SOURCE[0]}")/../tools/shell_common.sh"

check_options "$@"
build_benchmarks infeed_what_if infeed_compare
data="$infeed_root/build/compare-data"
"$infeed_root/build/release/benchmarks/infeed_compare" --make-data --data "$data"

exec "$infeed_root/build/release/benchmarks/infeed_what_if" --data "$data" "$@"
