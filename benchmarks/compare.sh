#!/usr/bin/env bash
# Measures infeed and other libraries on the same work in the same run, in turn, and prints a table.
# A peer is measured in every form that its experts would try: the best one is in the table, all of
# them stand under it.
#
#   benchmarks/compare.sh [GROUP...] [--json FILE] [--short] [--only TEXT]
#
#   GROUP         main (the default), engine, records, convert, image, text, pack, device, or python
#   --json FILE   also writes the rows as JSON; benchmarks/update_tables.py puts them into the READMEs
#   --short       fewer repetitions: figures to look at, not to quote
#   --only TEXT   only the rows whose name holds TEXT
#   --help        this text
#
# Ratio: how many times better infeed is; over 1 it wins, whatever the unit. The first run installs
# TensorFlow into a Python environment of its own in build/venv. Close what else keeps the cores
# busy: the figures are medians, but a row on a busy machine says so and is not to be quoted.
set -euo pipefail
# shellcheck source=tools/shell_common.sh
source "$(dirname "${BASH_SOURCE[0]}")/../tools/shell_common.sh"

check_options "$@"
for argument in "$@"; do
  case $argument in
    device | image | python)
      "$infeed_root/tools/install_packages.sh" peers
      ;;
  esac
done

python="$("$infeed_root/benchmarks/venv.sh")"
if [[ " $* " == *' python '* && -z ${INFEED_COMPARE:-} ]]; then
  configure_preset release -DINFEED_BUILD_BENCHMARKS=ON -DINFEED_PYTHON=ON "-DPython_EXECUTABLE=$python"
  build_targets release infeed_python || die "the build failed: what the compiler said is above"
  export PYTHONPATH="$infeed_root/build/release/tools/python"
fi

# INFEED_COMPARE: a program that is built already, for those who build elsewhere.
program="${INFEED_COMPARE:-$infeed_root/build/release/benchmarks/infeed_compare}"
if [[ -z ${INFEED_COMPARE:-} ]]; then
  build_benchmarks infeed_compare
fi

exec "$python" "$infeed_root/benchmarks/compare/compare.py" --ours "$program" \
  --data "$infeed_root/build/compare-data" "$@"
