#!/usr/bin/env bash
# Runs the tests that fit on machines that few people have: with one core, with another processor, with
# little memory, with odd names, files, disks, clocks and locales.
#
#   tests/odd_machines.sh [--whole] MACHINE...
#
#   --all          all of these, but for --aarch64 and --compilers, which build for long
#   --one-core     records, pipeline and device on one core
#   --no-avx512    what has code for several processors, on one with AVX2 alone, by qemu
#   --no-avx       the same on one from before AVX, by qemu
#   --aarch64      records, pipeline and the device's SameBits for 64-bit ARM: built by Debian's cross
#                  compiler, run by qemu, the same bits as on x86-64
#   --memory       the commands in 32 MB, and pipelines with a memory limit
#   --locale       records, pipeline and the commands where numbers have a comma (de_DE.UTF-8)
#   --names        file names in any bytes
#   --large        a sparse file of 5 GB
#   --many         5,000 small files, and no more than 128 open
#   --disks        disks that are full or may only be read (mounts them, so it needs root)
#   --clocks       what has dates, in 1970, behind 2038 and in 2106 (libfaketime)
#   --compilers    everything built by g++ 12 and by clang++ 14, where a warning is an error
#   --whole        also the tests that take long, and a million small files
#   --help         this text
#
# Installs what is missing (as root or by sudo) and builds the preset release where it isn't built. Exit
# status 1 if anything failed.
set -uo pipefail
# shellcheck source=tools/shell_common.sh
source "$(dirname "${BASH_SOURCE[0]}")/../tools/shell_common.sh"

whole=false
machines=()
while (($#)); do
  case $1 in
    --one-core | --no-avx512 | --no-avx | --aarch64 | --memory | --locale | --names | --large | --many | \
      --disks | --clocks | --compilers) machines+=("${1#--}") ;;
    --all) machines+=(one-core no-avx512 no-avx memory locale names large many disks clocks) ;;
    --whole) whole=true ;;
    *) die "unknown argument '$1': see --help" 2 ;;
  esac
  shift
done
((${#machines[@]})) || die "name a machine, or --all: see --help" 2

release="$infeed_root/build/release"
arm="$infeed_root/build/aarch64"
odd="$infeed_root/build/odd_machines"
mkdir -p "$odd"

summary=()
failures=0
# part NAME COMMAND...: runs it, and keeps a line for the summary.
part() {
  local name=$1 start=$SECONDS verdict=ok
  shift
  say "$name"
  if ! "$@"; then
    verdict=FAILED
    failures=$((failures + 1))
  fi
  summary+=("$(printf '%-7s %10s  %s' "$verdict" "$(as_minutes $((SECONDS - start)))" "$name")")
}

# Tests that take longer than three seconds each on an ordinary machine.
long_ones='*PassesTheSuite*:*GoesOnUnderATinyMemoryLimit*:RandomPipelines.*:Unbatch.GivesBack*:NoFalseEnd.*'
long_ones+=':*Differential.*:ParallelRecordReaderTest.*:ResumeBits.*:Train.*:ConvertShare.*:*ConvertFaults*'
long_ones+=':ConvertResume.*:KeptFiles.*:ToolLimits.*:TuningProfile.*'

# gtests BUILD MODULE FILTER [WRAPPER...]: runs a module's tests in one process behind the wrapper. A filter
# names what is run, and behind `-` what isn't.
gtests() {
  local program="$1/tests/infeed_$2_tests" filter=$3
  shift 3
  if ! $whole; then
    [[ $filter == *-* ]] && filter+=":$long_ones" || filter+="-$long_ones"
  fi
  "$@" "$program" --gtest_brief=1 "--gtest_filter=$filter"
}

commands() {
  local short=()
  $whole || short=(--short)
  "$infeed_root/tests/odd_machines/commands.py" --infeed "$release/tools/infeed" "${short[@]}" "$@"
}

# Only tests of these judge by the clock who took the time of a step, which an odd machine is too slow for.
by_the_clock='OneRun.*:Paced.*:Blame.*'
# What qemu doesn't emulate: a limit of memory (RLIMIT_AS), MADV_POPULATE_READ, and ptrace().
not_emulated='TerminalError.needs_no_memory*:MappedFiles.say_what_is_not_there*:KilledSave.*'
# qemu's mincore() answers for pages of 4 KiB: 1,536 bytes for 96 pages of 64 KiB, past the end of what it was given.
not_with_large_pages='RecordBlocks.of_mapped_files:MappedFiles.bring_what_is_not_in_memory'
# Nor does it run a program that the tests start (their own, without a binfmt entry), and threads of a forked child. The
# numbers of system calls in /proc are the host's, and each thread has a process's start of its own there.
not_emulated_pipeline='DrawnSeeds.GoOnInAnotherProcess:RecordingWithoutSharedMemory.*'
not_emulated_pipeline+=':Executor.TheOwnThreadDoesAllIfTheSystemGivesTbbNone:Fork.AChildMayIterateTheDataset'
not_emulated_pipeline+=':WaitingThreads.*:WatchedThreads.SayWhereASlowCallWaits*'
not_emulated_pipeline+=':RecordingNames.IteratorsThatBeginAtOnceHaveAFileEach'
# It takes 20 times as long, so that threads end that wait for work, and come again.
not_as_slow='ZstdFramesTest.threads_give_the_bytes_of_one:InferredSchema.new_names_in_each_record_cost_no_more'
# What is written for several processors, and streams and trainings whose bits are written down.
bits_records='Crc32c*:*Varint*:*Scan*:*Csv*:*Json*:*Example*:*Number*:*Text*:PackedIntegers*'
bits_pipeline='Philox*:Shuffle.*:*every_processor*:Drawn*'
bits_device='*SameBits*'

# on_processor NAME: x86-64 tests under qemu.
on_processor() {
  local emulator=(qemu-x86_64 -cpu "$1")
  part "processor $1: records" gtests "$release" records "$bits_records" "${emulator[@]}"
  part "processor $1: pipeline" gtests "$release" pipeline "$bits_pipeline" "${emulator[@]}"
  part "processor $1: device" gtests "$release" device "$bits_device" "${emulator[@]}"
}

# A root of Debian's arm64 with the libraries alone. apt gets folders of its own, so that the packages of
# this machine are left as they are.
make_sysroot() {
  [[ -f $arm/sysroot/complete ]] && return
  local apt="$arm/apt" package packages
  rm -rf "$arm/sysroot" "$apt"
  mkdir -p "$arm/sysroot" "$apt/state/lists/partial" "$apt/cache/archives/partial"
  : >"$apt/status"
  cat >"$apt/conf" <<CONF
APT::Architecture "arm64";
#clear APT::Architectures;
APT::Architectures { "arm64"; };
APT::Install-Recommends "false";
APT::Sandbox::User "root";
Acquire::Languages "none";
Dir::State "$apt/state";
Dir::State::status "$apt/status";
Dir::Cache "$apt/cache";
CONF
  mapfile -t packages < <("$infeed_root/tools/install_packages.sh" --list test |
    grep -E '^(lib.*|zlib1g|nlohmann-json3)-dev$' | grep -vE 'curl|ssl|cli11|openmpi|benchmark')
  APT_CONFIG="$apt/conf" apt-get -qq update || return
  APT_CONFIG="$apt/conf" apt-get -qq -y --download-only install libstdc++-12-dev "${packages[@]}" || return
  for package in "$apt"/cache/archives/*.deb; do
    dpkg -x "$package" "$arm/sysroot" || return
  done
  # Links that begin at / lead to this machine's files.
  local link target
  find "$arm/sysroot" -type l -lname '/*' -print0 | while IFS= read -r -d '' link; do
    target="$(readlink "$link")"
    ln -sfn "$(realpath -sm --relative-to="$(dirname "$link")" "$arm/sysroot$target")" "$link"
  done
  rm -rf "$apt"
  : >"$arm/sysroot/complete"
}

on_aarch64() {
  part "aarch64: Debian's libraries" make_sysroot || return
  part "aarch64: build" build_aarch64
  local emulator=(qemu-aarch64 -L "$arm/sysroot")
  part "aarch64: records" gtests "$arm" records "*-$not_emulated:$not_as_slow" "${emulator[@]}"
  part "aarch64: pipeline" gtests "$arm" pipeline "*-$by_the_clock:$not_emulated_pipeline" "${emulator[@]}"
  part "aarch64: device" gtests "$arm" device "$bits_device" "${emulator[@]}"
  part "aarch64, pages of 64 KiB: records" gtests "$arm" records "Mapped*:Files*:Record*-$not_emulated:$not_with_large_pages" "${emulator[@]}" -p 65536
}
build_aarch64() {
  configure_preset aarch64 && build_targets aarch64 infeed_records_tests infeed_pipeline_tests infeed_device_tests
}

with_comma() {
  local locales="$odd/locales" library="$odd/set_locale.so"
  mkdir -p "$locales"
  [[ -d $locales/de_DE.UTF-8 ]] || localedef -i de_DE -f UTF-8 "$locales/de_DE.UTF-8" || return
  c++ -shared -fPIC -o "$library" "$infeed_root/tests/odd_machines/set_locale.cc" || return
  local environment=(env "LOCPATH=$locales" LC_ALL=de_DE.UTF-8 "LD_PRELOAD=$library")
  [[ $("${environment[@]}" printf '%.1f' 0,5) == 0,5 ]] || { complain "the locale has no comma" && return 1; }
  part "comma: records" gtests "$release" records '*' "${environment[@]}"
  part "comma: pipeline" gtests "$release" pipeline "*-$by_the_clock" "${environment[@]}"
  part "comma: device" gtests "$release" device "*-$by_the_clock" "${environment[@]}"
  part "comma: commands" gtests "$release" tools "*-$by_the_clock" "${environment[@]}"
}

# The time goes on from there. The monotonic clock, by which everything waits, is no date.
at_odd_times() {
  local library date
  library="$(find /usr/lib -name libfaketime.so.1 -print -quit)"
  for date in '1970-01-01 00:00:02' '2038-01-19 03:14:06' '2106-02-07 06:28:14'; do
    local environment=(env TZ=UTC "LD_PRELOAD=$library" "FAKETIME=@$date" DONT_FAKE_MONOTONIC=1 NO_FAKE_STAT=1)
    part "$date: records" gtests "$release" records '*Checkpoint*:*Files*:*Index*:*Manifest*:*Record*' "${environment[@]}"
    part "$date: pipeline" gtests "$release" pipeline '*Cache*:*Snapshot*:*Record*:*Resume*' "${environment[@]}"
    part "$date: device" gtests "$release" device '*Event*:*TensorBoard*:*Callback*' "${environment[@]}"
    part "$date: commands" gtests "$release" tools '*Convert*:*Profile*:*Xprof*' "${environment[@]}"
  done
}

built_by() {
  local compiler=$1 folder="$odd/$1"
  command -v "$compiler" >/dev/null || { complain "$compiler is not installed" && return 1; }
  (cd "$infeed_root" && cmake --preset debug -B "$folder" --fresh "-DCMAKE_CXX_COMPILER=$compiler" \
    -DCMAKE_CXX_FLAGS_DEBUG=-O1 -DCMAKE_UNITY_BUILD=ON -DCMAKE_UNITY_BUILD_BATCH_SIZE=8) >"$odd/$compiler.log" 2>&1 ||
    { cat "$odd/$compiler.log" && return 1; }
  cmake --build "$folder" 2>&1 | show_ninja_progress
}

"$infeed_root/tools/install_packages.sh" test || exit 1
[[ " ${machines[*]} " =~ \ (no-avx|no-avx512|aarch64|locale|clocks)\  ]] &&
  { "$infeed_root/tools/install_packages.sh" odd || exit 1; }
if [[ " ${machines[*]} " != " aarch64 " && " ${machines[*]} " != " compilers " ]]; then
  is_configured release || configure_preset release || exit 1
  build_targets release infeed infeed_records_tests infeed_pipeline_tests infeed_device_tests infeed_tools_tests ||
    die "the build failed: what the compiler said is above"
fi
for machine in "${machines[@]}"; do
  case $machine in
    one-core)
      for module in records pipeline device; do
        part "one core: $module" gtests "$release" "$module" "*-$by_the_clock" taskset --cpu-list 0
      done
      ;;
    no-avx512) on_processor Haswell ;;
    no-avx) on_processor Nehalem ;;
    aarch64) on_aarch64 ;;
    memory)
      part "memory: commands" commands memory
      part "memory: pipelines" gtests "$release" pipeline '*Memory*'
      ;;
    locale) part "comma: locale" with_comma ;;
    names)
      part "names: commands" commands names
      part "names: tests" gtests "$release" tools 'HostileNames*'
      ;;
    disks)
      part "disks: commands" commands disks
      part "disks: tests" gtests "$release" tools 'ConvertCommand.*'
      ;;
    large | many) part "$machine: commands" commands "$machine" ;;
    clocks) at_odd_times ;;
    compilers)
      for compiler in g++-12 clang++-14; do part "$compiler: build" built_by "$compiler"; done
      ;;
  esac
done

say "summary"
printf '    %s\n' "${summary[@]}"
((failures == 0)) || die "$failures of ${#summary[@]} parts failed; what they said is above"
printf 'all passed in %s\n' "$(as_minutes $SECONDS)"
