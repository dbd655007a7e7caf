#!/usr/bin/env bash
# A newcomer's first hour: installs infeed as the README says, converts six kinds of data, types some
# commands wrong, and feeds a struct of its own from the shards, in two processes. Prints what isn't as
# it should be, and ends with status 1 if there is any of it.
#
#   tests/first_hour.sh [--build FOLDER] [--table FILE] [--work FOLDER]
#   tests/first_hour.sh --from-nothing [--work FOLDER]
#   tests/first_hour.sh --bare [options of tests/fresh_machine.sh]
#
#   --build FOLDER   installs what is built there (default: build/release); a minute
#   --from-nothing   runs all the README's commands, which installs packages and builds
#   --bare           that, on a bare Debian root that tests/fresh_machine.sh makes
#   --table FILE     only the commands of that table (tests/first_hour/commands.txt describes its form)
#   --work FOLDER    works there and leaves all for a look; it must not exist
set -euo pipefail
# shellcheck source=tools/shell_common.sh
source "$(dirname "${BASH_SOURCE[0]}")/../tools/shell_common.sh"

build="$infeed_root/build/release"
table="$infeed_root/tests/first_hour/commands.txt"
only_table=false
from_nothing=false
work=''
while (($#)); do
  case $1 in
    --from-nothing) from_nothing=true ;;
    --bare)
      shift
      exec "$infeed_root/tests/fresh_machine.sh" --run 'tests/first_hour.sh --from-nothing' "$@"
      ;;
    --build | --table | --work)
      (($# > 1)) || die "$1 needs a value: see --help" 2
      case $1 in
        --build) build=$2 ;;
        --table) table=$2 only_table=true ;;
        --work) work=$2 ;;
      esac
      shift
      ;;
    *) die "unknown option '$1': see --help" 2 ;;
  esac
  shift
done

if [[ -z $work ]]; then
  work="$(mktemp -d "${TMPDIR:-/tmp}/infeed-first-hour.XXXXXX")"
  trap 'rm -rf "$work"' EXIT
else
  mkdir "$work" || die "--work takes a folder that doesn't exist yet: $work"
fi
work="$(cd "$work" && pwd -P)"
table="$(realpath "$table")"
checked=0
failures=0

failed() {
  printf 'FAILED: %s\n' "$1"
  shift
  printf '    %s\n' "$@"
  failures=$((failures + 1))
}

# What the table's commands read.
make_data() {
  printf 'name,age,price\nann,31,1.5\nbob,42,2.5\ncid,53,3.5\n' >people.csv
  tr , '\t' <people.csv >people.tsv
  printf '{"name": "%s", "age": %d, "price": %s}\n' ann 31 1.5 bob 42 2.5 cid 53 3.5 >people.jsonl
  printf 'a,b,c,d,e\n1,2,3,4,5\n' >wide.csv
  printf 'name;age\nann;31\nbob;42\n' >semicolon.csv
  printf 'a,b\n1,2\n3\n' >ragged.csv
  : >empty.csv
  printf 'id,v\n9223372036854775808,1\n9223372036854775809,2\n' >big_id.csv
  printf '{"id": %s}\n' 1 2 9223372036854775808 >big_id_among_small.jsonl
  printf 'x\n1e39\n2.5\n' >big_float.csv
  printf '{"columns": {"id": "integers"}}\n' >integers.json
  printf '{"columns": {"age": "integer"}}\n' >wrong.json
  seq 60000 | awk 'BEGIN { print "n,square" } { print $1 "," $1 * $1 }' >big.csv

  mkdir -p photos/cat photos/dog
  base64 -d >photos/cat/1.png <<'END'
iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==
END
  cp photos/cat/1.png photos/dog/2.png

  { # Version 1.0, 118 bytes of header, 3 rows of 2 floats.
    printf '\x93NUMPY\x01\x00\x76\x00%-117s\n' "{'descr': '<f4', 'fortran_order': False, 'shape': (3, 2), }"
    head -c 24 /dev/zero
  } >matrix.npy

  infeed convert people.csv -o for_damage --shards 1 >/dev/null
  cp for_damage/data-00000-of-00001.tfrecord damaged.tfrecord
  printf X | dd of=damaged.tfrecord bs=1 seek=20 conv=notrunc status=none

  # Killed (SIGXFSZ) when its first shard grows beyond 64 KiB.
  { (ulimit -f 64 && infeed convert big.csv -o unfinished --shards 4); } >/dev/null 2>&1 || true
  [[ -f unfinished/.data.journal ]] || die "a conversion with a limit on its files left no journal"
}

# check STATUS TEXTS COMMAND
check() {
  local status=$1 texts=$2 command=$3 found=0 text wrong=()
  checked=$((checked + 1))
  new="new-$checked" bash -c "$command" >out.txt 2>err.txt </dev/null || found=$?
  [[ $found == "$status" ]] || wrong+=("exit status $found instead of $status")
  while IFS= read -r text; do
    if [[ $text == !* ]]; then
      ! grep -qF -e "${text#!}" out.txt err.txt || wrong+=("prints: ${text#!}")
    else
      grep -qF -e "$text" out.txt err.txt || wrong+=("does not print: $text")
    fi
  done <<<"${texts// && /$'\n'}"
  if [[ $found != 0 ]]; then
    [[ $(wc -l <err.txt) == 1 && $(head -c 6 err.txt) == infeed ]] ||
      wrong+=("stderr isn't one line that begins with infeed")
  fi
  ((${#wrong[@]})) || return 0
  failed "$command" "${wrong[@]}" "it printed:" "$(sed 's/^/    | /' out.txt err.txt | tail -8 | cut -c1-240)"
}

run_table() {
  local line status texts command
  while IFS= read -r line; do
    [[ -z $line || $line == \#* ]] && continue
    status="${line%% | *}"
    line="${line#* | }"
    texts="${line%% | *}"
    command="${line#* | }"
    [[ $status =~ ^[0-9]+$ && -n $texts && -n $command && $command != "$texts" ]] ||
      die "$table: not 'status | text | command': $line"
    check "$status" "$texts" "$command"
  done <"$table"
}

# A struct of one's own: what one process prints is what two print, the second from a checkpoint.
run_own_struct() {
  local log="$work/own_struct.log" people="$work/own_struct/people"
  checked=$((checked + 1))
  if ! { cmake -S "$infeed_root/tests/first_hour/project" -B "$work/own_struct" -G Ninja \
    -DCMAKE_PREFIX_PATH="$prefix" && cmake --build "$work/own_struct"; } >"$log" 2>&1; then
    failed "a project with find_package(infeed) is built" "$(tail -20 "$log")"
    return
  fi
  "$people" 'jsonl/*.tfrecord' >whole.txt || failed "$people: status $?"
  [[ $(wc -l <whole.txt) == 5 && $(grep -o 'ann 31 3.0' whole.txt | wc -l) == 3 ]] ||
    failed "$people prints something else:" "$(cat whole.txt)"
  { "$people" 'jsonl/*.tfrecord' stop 2 place.txt && "$people" 'jsonl/*.tfrecord' resume place.txt; } >halves.txt ||
    failed "$people resumes with status $?"
  cmp -s whole.txt halves.txt || failed "$people: two processes print something else than one:" "$(cat halves.txt)"
}

start=$SECONDS
prefix="$work/prefix"
readme="$infeed_root/tests/consumers/readme/run.py"
if $from_nothing; then
  say "the README's commands"
  if ! command -v python3 >/dev/null; then # it reads the README; infeed doesn't need it
    { apt-get -qq update && DEBIAN_FRONTEND=noninteractive apt-get -qq install --no-install-recommends python3; } >/dev/null 2>&1 ||
      die "could not install python3, which reads the README's commands"
  fi
  "$readme" "$infeed_root/README.md" "$work/readme" || failed "the README's commands"
  checked=$((checked + 1))
  prefix="$work/readme/home/infeed"
else
  cmake --install "$build" --prefix "$prefix" >"$work/install.log" 2>&1 || {
    tail -5 "$work/install.log" >&2
    die "nothing could be installed from $build: build it first (tests/run.sh), or name another with --build"
  }
fi
export PATH="$prefix/bin:$PATH"
command -v infeed >/dev/null || die "there is no infeed in $prefix/bin"

mkdir "$work/data"
cd "$work/data"
make_data
say "the commands of $(basename "$table")"
run_table
if ! $only_table; then
  say "a struct of one's own"
  run_own_struct
fi

if ((failures)); then
  echo "$failures of $checked are not as they should be, in $((SECONDS - start)) s"
  exit 1
fi
echo "all $checked are as they should be, in $((SECONDS - start)) s"
