#!/usr/bin/env bash
# Plants stalls of every kind at known places in real pipelines (slow records, slow files, slow
# functions, locks, a CPU quota, a throttled file system, a memory limit...) and judges what the
# profiler says of each late step. Prints a table: of the late steps by planted stalls 95 % must name
# the right cause and record, and no other step may be blamed on the pipeline.
#
#   benchmarks/blame.sh [--json FILE] [--short] [--only TEXT] [--wrong]
#
#   --json FILE   also writes the rows as JSON
#   --short       20 late steps of each kind rather than 100
#   --only TEXT   only the kinds whose name holds TEXT
#   --wrong       shows each late step that was blamed wrongly
#   --help        this text
#
# The quota and the file system need root; without it these two rows say so. Exit status 1 when a bar
# was missed.
set -euo pipefail
# shellcheck source=tools/shell_common.sh
source "$(dirname "${BASH_SOURCE[0]}")/../tools/shell_common.sh"

check_options "$@"
build_benchmarks infeed_blame

exec "$infeed_root/build/release/benchmarks/infeed_blame" "$@"
