#!/usr/bin/env bash
# Measures what pipelines with a memory limit hold at their peak, and what is left when the iterator
# has gone: by a counting allocator, by the system (resident memory), and by the iterator's own
# account. Allowed are the limit, one result of each call that is under way, and 16 MiB.
#
#   benchmarks/memory_limit.sh [--json FILE] [--only TEXT] [--arenas N]
#
#   --json FILE   also writes the rows as JSON, in bytes
#   --only TEXT   only the cases whose names hold TEXT
#   --arenas N    as MALLOC_ARENA_MAX=N (1; 0: its default): what the C library keeps of freed memory grows with its
#                 arenas, of which there is one a thread, up to eight a core
#   --help        this text
#
# Takes about a minute and 2 GB of memory. Exit status 1 when a case missed.
set -euo pipefail
# shellcheck source=tools/shell_common.sh
source "$(dirname "${BASH_SOURCE[0]}")/../tools/shell_common.sh"

build_benchmarks infeed_memory_limit

exec "$infeed_root/build/release/benchmarks/infeed_memory_limit" "$@"
