#!/usr/bin/env bash
# Measures how time and memory grow with the work: files, their size, records, buffers, stages,
# datasets, columns, iterators and epochs are multiplied by ten, twice. A step that costs more than
# 1.5 times ten as much is a miss, unless the row has its reason.
#
#   benchmarks/growth.sh [--json FILE] [--only TEXT] [--short] [--repeats N]
#
#   --json FILE    also writes the rows as JSON, in seconds and bytes
#   --only TEXT    only the rows whose names hold TEXT
#   --short        smaller sizes, in a few seconds
#   --repeats N    runs of each size, of which the least counts (3)
#   --help         this text
#
# Times are those of all cores together, so other programs hardly change them. Takes about two minutes and 1 GB
# of memory. Exit status 1 when a row missed.
set -euo pipefail
# shellcheck source=tools/shell_common.sh
source "$(dirname "${BASH_SOURCE[0]}")/../tools/shell_common.sh"

check_options "$@"
build_benchmarks infeed_growth

exec "$infeed_root/build/release/benchmarks/infeed_growth" "$@"
