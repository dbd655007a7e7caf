#!/usr/bin/env bash
# Installs what infeed needs from Debian's packages; silent and quick when all is there.
#
#   tools/install_packages.sh [run|python|test|all]
#                                              run: to build and run the infeed command (the default)
#                                              python: also for the Python package
#                                              test: also for the tests and the checks
#                                              all: also for sanitizers, fuzzing and clang-tidy
#                                              peers: what benchmarks/compare.sh device and image compare with
#                                              odd: what tests/odd_machines.sh emulates machines with
#   tools/install_packages.sh --list [run|python|test|all|peers|odd]   only names the packages
#
# Needs root or sudo only when something is missing. Exit status 1 when it could not be installed.
set -euo pipefail
# shellcheck source=tools/shell_common.sh
source "$(dirname "${BASH_SOURCE[0]}")/shell_common.sh"

# The one list of what infeed is built from.
run_packages=(
  g++ cmake ninja-build pkg-config
  libfmt-dev             # texts of errors and reports
  zlib1g-dev             # GZIP and ZLIB record files
  libisal-dev            # the same, several times faster
  liblz4-dev             # LZ4 record files
  libzstd-dev            # zstd files
  libutf8proc-dev        # names of classes that differ in their Unicode form only
  libcurl4-openssl-dev libssl-dev ca-certificates  # shards by URL
  libtbb-dev             # the executor
  libprotobuf-dev protobuf-compiler  # TensorBoard's and XProf's files, messages of any type; in tests a referee
  libcli11-dev           # the command's options
  nlohmann-json3-dev     # manifests, schemas, --json, and what services that lend credentials answer
  libjpeg-dev libpng-dev # pictures in infeed inspect
  libjs-chart.js         # the charts of the HTML report; without it the report draws its own
  dataset-fashion-mnist  # 60,000 training and 10,000 test images
)
# What Debian's own Python needs to build the package by pip in an environment.
python_packages=(python3 python3-dev python3-venv)
test_packages=(
  libgtest-dev libgmock-dev libbenchmark-dev
  nginx-light openssl    # the web server that reading by URL is tested with
  lz4 zstd               # files that other programs write and read
  libopenmpi-dev openmpi-bin  # several hosts: the plug-in for MPI, and mpirun
  clang-format shellcheck git
)
# Large, and a first run of the tests does without.
other_packages=(
  clang libclang-rt-14-dev llvm  # the second compiler, its sanitizers, and names in their reports
  clang-tidy
  libtorch-dev           # the README's training with libtorch, tests/consumers/trainers
  doxygen                # tools/reference.sh, and the test that it has nothing to say of a comment
  abigail-tools          # tools/compare_abi.sh
  zsh                    # reads its completion in tests/consumers
  chromium fonts-dejavu-core  # opens the HTML report and Perfetto in tests/interop
)
peer_packages=(
  python3-torch python3-torchvision  # compute on the CPU alone; the wheels bring gigabytes of CUDA
  libavdevice59          # with what it brings, SPDL decodes images
)
odd_packages=(
  g++-aarch64-linux-gnu qemu-user  # builds for 64-bit ARM, and runs other processors' programs
  locales libfaketime
)

list_only=false
group=run
for argument in "$@"; do
  case $argument in
    --list) list_only=true ;;
    run | python | test | all | peers | odd) group=$argument ;;
    *) die "unknown argument '$argument': the groups are run, python, test, all, peers and odd (see --help)" 2 ;;
  esac
done

packages=("${run_packages[@]}")
[[ $group == run ]] || packages+=("${python_packages[@]}")
[[ $group == test || $group == all ]] && packages+=("${test_packages[@]}")
[[ $group == all ]] && packages+=("${other_packages[@]}")
[[ $group == peers ]] && packages=("${peer_packages[@]}")
[[ $group == odd ]] && packages=("${odd_packages[@]}")
if $list_only; then
  printf '%s\n' "${packages[@]}"
  exit 0
fi

if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
  complain "this is not a Debian system, so nothing is installed; infeed needs what Debian calls: ${packages[*]}"
  exit 0  # they may well be there under other names: CMake names what it misses
fi

missing=()
for package in "${packages[@]}"; do
  state="$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null || true)"
  [[ $state == installed ]] || missing+=("$package")
done
((${#missing[@]})) || exit 0

as_root=()
if [[ $(id -u) != 0 ]]; then
  by_hand="ask an administrator to run: apt-get install ${missing[*]}"
  command -v sudo >/dev/null ||
    die "these Debian packages are missing, and you are neither root nor is there sudo: ${missing[*]}; $by_hand"
  # Without a terminal there is nobody to type a password, and asking would hang.
  ask=()
  [[ -t 0 ]] || ask=(-n)
  sudo "${ask[@]}" true ||
    die "these Debian packages are missing, and sudo did not let you in: ${missing[*]}; $by_hand"
  as_root=(sudo "${ask[@]}")
fi

log="$(mktemp)"
trap 'rm -f "$log"' EXIT

environment=("${as_root[@]}" env DEBIAN_FRONTEND=noninteractive)
options=(-qq -o DPkg::Lock::Timeout=300 -o Acquire::Retries=2)

# apt's status lines are kind:package:percent:text; downloading and installing each count to 100.
show_apt_progress() {
  local kind percent text step shown=-1
  while IFS=: read -r kind _ percent text; do
    case $kind in
      dlstatus) step=downloading ;;
      pmstatus) step=installing ;;
      *) continue ;; # what dpkg says on its own
    esac
    percent=${percent%%.*}
    [[ $percent =~ ^[0-9]+$ ]] || continue
    if [[ -t 1 ]]; then
      printf '\r\e[K    %s %s %%  %.50s' "$step" "$percent" "$text"
    elif [[ $((percent / 25)) != "$shown" ]]; then
      printf '    %s %s %%\n' "$step" "$percent"
      shown=$((percent / 25))
    fi
  done
  if [[ -t 1 ]]; then printf '\r\e[K'; fi
}

install_missing() {
  : >"$log"
  # The status gets a descriptor of its own behind sudo, which closes all from 3 on. Were it 1, packages
  # would be set up without an output where there is no /dev/pts, and some fail at that.
  # shellcheck disable=SC2016 # the inner shell expands it
  "${environment[@]}" sh -c 'exec apt-get "$@" 3>&1 >/dev/null' sh "${options[@]}" -o APT::Status-Fd=3 \
    install --yes --no-install-recommends "${missing[@]}" </dev/null 2>>"$log" |
    show_apt_progress
}

say "installing from Debian's packages: ${missing[*]}"
# The package lists are fetched only if they are missing or too old: that alone takes 5 to 20 s.
if ! apt-get "${options[@]}" install --simulate "${missing[@]}" >"$log" 2>&1 || ! install_missing; then
  echo "    fetching the package lists"
  "${environment[@]}" apt-get "${options[@]}" update </dev/null >"$log" 2>&1 || true # a list that fails may not matter: what counts is the next line
  if ! install_missing; then
    grep -E '^[EW]:' "$log" | head -5 >&2 || true
    die "could not install these Debian packages: ${missing[*]}; check the network and /etc/apt/sources.list, then try again, or install them by hand"
  fi
fi
