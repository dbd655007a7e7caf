#!/usr/bin/env bash
# Measures what a resume costs at an element, for each stage of the catalogue: the time until the
# next element is there, and the bytes of the checkpoint. A row over a second or 4 KB is a miss,
# unless the stage says why.
#
#   benchmarks/resume.sh [--element N] [--only TEXT] [--short]
#
#   --element N    the element to resume at (1,000,000)
#   --only TEXT    only the rows whose stages hold TEXT
#   --short        at element 20,000, in a few seconds
#   --help         this text
#
# Takes about a minute. Exit status 1 when a row missed.
set -euo pipefail
# shellcheck source=tools/shell_common.sh
source "$(dirname "${BASH_SOURCE[0]}")/../tools/shell_common.sh"

check_options "$@"
build_benchmarks infeed_resume

exec "$infeed_root/build/release/benchmarks/infeed_resume" "$@"
