#!/usr/bin/env bash
# Makes everything fail that a machine can make fail, while the commands run: disks, memory, threads,
# clocks, limits, servers and other ranks; and kills and stops them. Each time a command ends with a clear
# error or the right result, nothing torn is left, and it goes on to the same bytes without the fault.
#
#   tests/faults.sh [--minutes N] [--seed S] [--drawn] [--only TEXT] [--kinds TEXT]
#   tests/faults.sh --replay JOB FAULT
#
#   --minutes N         how long faults are drawn (10), after the tests that try each in turn
#   --seed S            of what is drawn (1)
#   --drawn             without the tests that try each in turn
#   --only TEXT         only jobs that have this in their names (tests/faults/jobs.py)
#   --kinds TEXT        only faults that have this in their names, such as call:EIO, process:memory, server:
#   --replay JOB FAULT  the one that a finding named
#   --help              this text
#
# Exit status 1 if there is a finding. Each is printed with the arguments that replay it.
set -euo pipefail
# shellcheck source=tools/shell_common.sh
source "$(dirname "${BASH_SOURCE[0]}")/../tools/shell_common.sh"

minutes=10
seed=1
with_each=true
drawn_options=()
while (($#)); do
  case $1 in
    --minutes | --seed)
      [[ ${2:-} =~ ^[0-9]+$ ]] || die "$1 needs a number, not '${2:-}'" 2
      if [[ $1 == --seed ]]; then seed=$2; else minutes=$2; fi
      shift
      ;;
    --drawn) with_each=false ;;
    --only | --kinds)
      with_each=false
      drawn_options+=("$1" "${2:?"$1 needs a text"}")
      shift
      ;;
    --replay)
      with_each=false
      drawn_options+=("$1" "${2:?a job}" "${3:?a fault}")
      shift 2
      ;;
    *) die "unknown option '$1'; see --help" 2 ;;
  esac
  shift
done

"$infeed_root/tools/install_packages.sh" test
is_configured release || configure_preset release
targets=(infeed infeed_inject_faults infeed_inject_process_faults)
if $with_each; then targets+=(infeed_tools_tests infeed_hostile); fi
build_targets release "${targets[@]}" || die "the build failed: what the compiler said is above"
build="$infeed_root/build/release"
infeed="$build/tools/infeed"

failed=()
# part NAME COMMAND...
part() {
  say "$1"
  "${@:2}" || failed+=("$1")
}

if $with_each; then
  part "each call and allocation that has a test of its own" "$build/tests/infeed_tools_tests" --gtest_brief=1 \
    --gtest_filter='*ConvertResume*:*ConvertFaults*:*NoThreads*:HostileNames*:PlantedLinks*:Convert*Store*'
  part "hostile files and servers, and limits" "$infeed_root/tests/hostile/hostile.py" --infeed "$infeed" \
    --program "$build/tests/hostile/infeed_hostile"
  part "Ctrl-C" "$infeed_root/tests/hostile/ctrl_c.py" --infeed "$infeed" --seed "$seed"
  plugin="$build/lib/libinfeed_mpi.so"
  if [[ -f $plugin ]] && command -v mpirun >/dev/null; then
    part "ranks that are killed and stopped" "$infeed_root/tests/ranks/campaign.py" "$infeed" "$plugin" \
      --rounds 1000 --seconds $((minutes * 15)) --seed "$seed"
  else
    say "without MPI no ranks are killed"
  fi
fi
part "drawn faults" "$infeed_root/tests/faults/campaign.py" --infeed "$infeed" --libraries "$build/tests/faults" \
  --seconds $((minutes * 60)) --seed "$seed" "${drawn_options[@]}"
if ((${#failed[@]})); then
  printf 'FAILED: %s\n' "${failed[@]}"
  exit 1
fi
