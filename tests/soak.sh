#!/usr/bin/env bash
# Runs random whole pipelines for as long as it is told, in one process: drawn stages and tuners, faults,
# resumes, other numbers of hosts, cancellations, limits that change, recordings. Each is checked against
# the stream of its serial form, its figures against each other, and the process for what is left behind.
#
#   tests/soak.sh [--minutes N] [--seed S] [OPTION...]
#
#   --minutes N      time (2; two hours are 120). A finding takes up to 5 min. more to be made smaller
#   --seed S         of all that is drawn (a new one each time)
#   --pipelines N    no more than so many
#   --preset NAME    release, debug, asan or tsan (release)
#   --program FILE   infeed_drawn_stages that is built already
#   --help           this text
#
# All pipelines follow from the seed, which is printed first. A finding is printed with the command that
# repeats it, and with one of a smaller pipeline, if that fails too. The exit status is 1 then. The log is in
# build/soak. tests/pipeline/drawn_whole/README.md says what is checked.
set -uo pipefail
# shellcheck source=tools/shell_common.sh
source "$(dirname "${BASH_SOURCE[0]}")/../tools/shell_common.sh"

minutes=2
seed=$((RANDOM * 32768 + RANDOM))
pipelines=1000000000
preset=release
program=''
while (($#)); do
  case $1 in
    --minutes | --seed | --pipelines)
      [[ ${2:-} =~ ^[0-9]{1,9}$ ]] || die "$1 needs a whole number, not '${2:-}'" 2
      declare "${1#--}=$2"
      shift
      ;;
    --preset | --program)
      [[ -n ${2:-} ]] || die "$1 needs a value" 2
      declare "${1#--}=$2"
      shift
      ;;
    *) die "unknown option '$1': --help has all" 2 ;;
  esac
  shift
done

# As in tests/run.sh: sanitizers need room at fixed addresses.
without_random_addresses=()
if [[ $preset == *san ]] && setarch --addr-no-randomize true 2>/dev/null; then
  without_random_addresses=(setarch --addr-no-randomize)
fi

if [[ -z $program ]]; then
  "$infeed_root/tools/install_packages.sh" all || exit 1
  is_configured "$preset" || configure_preset "$preset" -DINFEED_BUILD_TESTS=ON || exit 1
  build_targets "$preset" infeed_drawn_stages || die "the build failed: what the compiler said is above"
  program="$infeed_root/build/$preset/tests/pipeline/drawn_whole/infeed_drawn_stages"
fi
[[ -x $program ]] || die "$program can't be run" 2

folder="$infeed_root/build/soak"
mkdir -p "$folder"
log="$folder/seed-$seed.log"
say "soak of $minutes min. with --seed $seed; the log is $log"
"${without_random_addresses[@]}" "$program" --check-faults --seed "$seed" --seconds $((60 * minutes)) \
  --pipelines "$pipelines" --check-memory --check-refusals 2>&1 | tee "$log"
status=${PIPESTATUS[0]}
((status == 0)) && exit 0

# The first few findings of single pipelines are made smaller. What grew over all pipelines isn't.
mapfile -t commands < <(sed -n 's/^  again: infeed_drawn_stages \(.*--only.*\)/\1/p' "$log" | sort -u | head -n 3)
for options in "${commands[@]}"; do
  say "a smaller pipeline than $options"
  # The options are the program's own words, with a plan in quotes.
  eval "set -- $options"
  timeout 300 "${without_random_addresses[@]}" "$program" "$@" --shrink 10 2>&1 | tee -a "$log" | tail -n 2
done
complain "there are findings: each 'again:' above is a command that repeats one, by $program"
exit 1
