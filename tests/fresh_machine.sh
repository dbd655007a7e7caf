#!/usr/bin/env bash
# Both commands on a machine with nothing installed: makes a Debian 12 root with debootstrap, hands in
# the committed tree, runs tools/quickstart.sh --short and tests/run.sh there, prints how many minutes
# each took, and removes the root.
#
#   tests/fresh_machine.sh [--quickstart | --tests | --run COMMAND] [--commit REVISION] [--sudo]
#                          [--cache FILE] [--keep] [--folder FOLDER]
#
#   --quickstart, --tests   only this command; --run COMMAND another one, inside the tree
#   --commit REVISION       that state of the tree instead of HEAD
#   --sudo                  as a user with sudo instead of root
#   --cache FILE            keeps the untouched root there as an archive, and starts from it next time
#   --keep                  leaves the root for a look
#   --folder FOLDER         makes the root below that folder (default: $TMPDIR or /tmp)
#
# Needs root, debootstrap, and the network as apt knows it: the mirror and its proxy are read from this
# machine's own settings.
set -euo pipefail
root_home=~root
# shellcheck source=tools/shell_common.sh
source "$(dirname "${BASH_SOURCE[0]}")/../tools/shell_common.sh"

suite=bookworm
commit=HEAD
cache=''
keep=false
as_user=false
commands=('tools/quickstart.sh --short' 'tests/run.sh')
parent="${TMPDIR:-/tmp}"
while (($#)); do
  case $1 in
    --quickstart) commands=('tools/quickstart.sh --short') ;;
    --tests) commands=('tests/run.sh') ;;
    --sudo) as_user=true ;;
    --keep) keep=true ;;
    --run | --commit | --cache | --folder)
      (($# > 1)) || die "$1 needs a value: see --help" 2
      case $1 in
        --run) commands=("$2") ;;
        --commit) commit=$2 ;;
        --cache) cache=$2 ;;
        --folder) parent=$2 ;;
      esac
      shift
      ;;
    *) die "unknown option '$1': see --help" 2 ;;
  esac
  shift
done

[[ $(id -u) == 0 ]] || die "this needs root: it makes a root file system and enters it"
for program in debootstrap unshare git; do
  command -v "$program" >/dev/null || die "$program is missing: apt-get install debootstrap util-linux git"
done
git -C "$infeed_root" rev-parse --quiet --verify "$commit^{commit}" >/dev/null ||
  die "there is no commit '$commit' in $infeed_root"

folder="$(mktemp -d "$parent/infeed-fresh-machine.XXXXXX")"
machine="$folder/root"
# shellcheck disable=SC2317 # called by the trap
remove_machine() {
  # Mounts were made in a namespace of their own and are gone with it; should one be here after all,
  # nothing is removed, because it may lead back to this machine's own files.
  if grep -qF " $folder/" /proc/self/mountinfo; then
    complain "something is still mounted below $folder: unmount it and remove the folder"
  elif $keep; then
    say "kept: $machine (enter it with: chroot $machine)"
  else
    rm -rf --one-file-system "$folder"
  fi
}
trap remove_machine EXIT
trap 'exit 130' INT TERM

# The lines of a sources.list with Debian's own archives for the suite, as this machine uses them.
debian_sources() {
  apt-get indextargets --format "\$(ORIGIN) deb \$(REPO_URI) \$(RELEASE) \$(COMPONENT)" 'Created-By: Packages' |
    sed -n "s/^Debian \(deb [^ ]* $suite\)/\1/p" | sort -u
}

make_machine() {
  local mirror include=()
  mirror="$(debian_sources | awk -v suite="$suite" '$3 == suite { print $2; exit }')"
  [[ -n $mirror ]] || die "apt on this machine knows no Debian archive of $suite: run apt-get update here first"
  [[ $mirror == https:* ]] && include=(--include=ca-certificates)
  debootstrap --variant=minbase "${include[@]}" "$suite" "$machine" "$mirror" >"$folder/debootstrap.log" 2>&1 || {
    tail -5 "$folder/debootstrap.log" >&2
    die "debootstrap failed"
  }
  debian_sources >"$machine/etc/apt/sources.list"
  # How to reach the network from here, and nothing else of this machine's settings.
  apt-config dump --format '%F "%v";%n' Acquire |
    grep -E '^Acquire::(https?::.*Proxy|Check-(Date|Valid-Until)) ' >"$machine/etc/apt/apt.conf.d/90network" || true
}

start=$SECONDS
if [[ -n $cache && -f $cache ]]; then
  say "unpacking the root from $cache"
  mkdir -p "$machine"
  tar -xpf "$cache" -C "$machine"
else
  say "making a root with debootstrap"
  make_machine
  if [[ -n $cache ]]; then
    tar -cpf "$cache.part" -C "$machine" .
    mv "$cache.part" "$cache"
  fi
fi
cp -L /etc/resolv.conf /etc/hosts "$machine/etc/"
echo "    $(du -sh "$machine" | cut -f1) in $(as_minutes $((SECONDS - start)))"

# Runs a shell command in the machine, with processes, mounts and devices that end with it.
in_machine() {
  # shellcheck disable=SC2016 # the inner shell expands these
  unshare --mount --propagation private --pid --fork --kill-child bash -c '
    set -e
    mount -t proc proc "$1/proc"
    mount -t tmpfs -o mode=755 tmpfs "$1/dev"
    for device in null zero full random urandom tty; do
      touch "$1/dev/$device"
      mount --bind "/dev/$device" "$1/dev/$device"
    done
    ln -s /proc/self/fd "$1/dev/fd"
    mkdir "$1/dev/shm"
    mount -t tmpfs tmpfs "$1/dev/shm"
    exec chroot "$1" /usr/bin/env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
      HOME="$3" LANG=C.UTF-8 TERM="${TERM:-dumb}" bash -c "$2"' \
    in_machine "$machine" "$1" "${2:-$root_home}"
}

tree=/srv/infeed
mkdir -p "$machine$tree"
git -C "$infeed_root" archive "$commit" | tar -x -C "$machine$tree"
enter="cd $tree &&"
if $as_user; then
  in_machine "DEBIAN_FRONTEND=noninteractive; export DEBIAN_FRONTEND
    { apt-get -qq update && apt-get -qq install --no-install-recommends sudo; } >/dev/null 2>&1 &&
    useradd --create-home newcomer && echo 'newcomer ALL=(ALL) NOPASSWD: ALL' >/etc/sudoers.d/newcomer &&
    chown -R newcomer $tree" || die "could not make a user with sudo in the new root"
  enter="cd $tree && exec su newcomer -c"
fi

results=()
failures=0
for command in "${commands[@]}"; do
  say "$command"
  start=$SECONDS
  verdict=ok
  if $as_user; then
    in_machine "$enter '$command' </dev/null" || verdict="FAILED with status $?"
  else
    in_machine "$enter $command </dev/null" || verdict="FAILED with status $?"
  fi
  [[ $verdict == ok ]] || failures=$((failures + 1))
  results+=("$(printf '%10s  %-28s %s' "$(as_minutes $((SECONDS - start)))" "$command" "$verdict")")
done

say "on a fresh Debian $suite with $(nproc) cores, commit $(git -C "$infeed_root" rev-parse --short "$commit")"
printf '    %s\n' "${results[@]}"
exit $((failures > 0))
