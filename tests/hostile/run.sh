#!/usr/bin/env bash
# Makes files that mean harm, and runs every command on each under limits of memory and time.
#
#   tests/hostile/run.sh [--show] [--only TEXT]
#
#   --show       also what each command said
#   --only TEXT  only commands that have this in them
#   --help       this text
#
# Exit status 1 where a command hung, crashed, wrote elsewhere, told a secret or acted on the terminal.
set -euo pipefail
# shellcheck source=tools/shell_common.sh
source "$(dirname "${BASH_SOURCE[0]}")/../../tools/shell_common.sh"

check_options "$@"
"$infeed_root/tools/install_packages.sh" test
is_configured release || configure_preset release
build_targets release infeed infeed_hostile || die "the build failed: what the compiler said is above"
exec "$infeed_root/tests/hostile/hostile.py" --infeed "$infeed_root/build/release/tools/infeed" \
  --program "$infeed_root/build/release/tests/hostile/infeed_hostile" "$@"
