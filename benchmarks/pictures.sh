#!/usr/bin/env bash
# Takes the pictures of the profiler's report that the README shows: profile-light.png and
# profile-dark.png in benchmarks/pictures/.
#
#   benchmarks/pictures.sh [--infeed COMMAND] [--report FILE]
#
#   --infeed COMMAND  the infeed command (default: built in build/release)
#   --report FILE     a report that is there, instead of one of a new run
#   --help            this text
#
# The run is the one of tools/profile/README.md: four shards of Fashion-MNIST, one on a slow server.
# Needs Debian's chromium and dataset-fashion-mnist. A quiet machine makes the better picture. The SVG
# files beside them are drawn by benchmarks/update_tables.py. Exit status 1 if a picture is too large.
set -euo pipefail
# shellcheck source=tools/shell_common.sh
source "$(dirname "${BASH_SOURCE[0]}")/../tools/shell_common.sh"

picture_bytes_max=200000
pictures="$infeed_root/benchmarks/pictures"
infeed=''
report=''
while (($#)); do
  case $1 in
    --infeed | --report)
      (($# > 1)) || die "$1 needs a value: see --help" 2
      if [[ $1 == --infeed ]]; then infeed=$2; else report=$2; fi
      shift
      ;;
    *) die "unknown argument '$1': see --help" 2 ;;
  esac
  shift
done
command -v chromium >/dev/null || die "chromium is missing: apt-get install chromium fonts-dejavu-core"

work="$(mktemp -d)"
server=''
# shellcheck disable=SC2317 # called by the trap
clean_up() {
  if [[ -n $server ]]; then kill "$server"; fi
  rm -rf "$work"
}
trap clean_up EXIT

make_report() {
  local port=8123
  "$infeed" convert --split train --shards 4 --compression none -o "$work/data"
  mkdir "$work/slow"
  mv "$work/data/train-00002-of-00004.tfrecord" "$work/slow/"
  "$infeed_root/tools/examples/slow_server.py" "$work/slow" --port $port --delay-ms 80 &
  server=$!
  cat >"$work/pipeline.json" <<END
{"stages": [
  {"stage": "records", "files": ["data/train-00000-of-00004.tfrecord", "data/train-00001-of-00004.tfrecord",
      "http://127.0.0.1:$port/train-00002-of-00004.tfrecord", "data/train-00003-of-00004.tfrecord"]},
  {"stage": "shuffle", "buffer": 2000, "seed": 1},
  {"stage": "repeat"}, {"stage": "parse"}, {"stage": "batch", "size": 128}, {"stage": "prefetch"}],
 "step_us": 1500}
END
  (cd "$work" && "$infeed" profile run.profile --pipeline pipeline.json --seconds 6 --try --html report.html)
}

# Takes one picture of the report's upper part: take_picture NAME SCHEME, where SCHEME is Blink's
# number for the colours that a page is asked to have: 0 dark, 1 light.
take_picture() {
  local picture="$pictures/$1" bytes
  chromium --headless=new --no-sandbox --disable-gpu --hide-scrollbars --window-size=1280,965 \
    --blink-settings=preferredColorScheme="$2" --user-data-dir="$work/chromium" --virtual-time-budget=3000 \
    --screenshot="$picture" "file://$report" >"$work/chromium.log" 2>&1 || {
    tail -5 "$work/chromium.log" >&2
    die "chromium took no picture of $report"
  }
  bytes=$(stat -c %s "$picture")
  say "$picture, $bytes bytes"
  ((bytes <= picture_bytes_max)) || die "$picture has more than $picture_bytes_max bytes: show less of the report"
}

if [[ -z $report ]]; then
  if [[ -z $infeed ]]; then
    is_configured release || configure_preset release
    build_targets release tools/infeed || die "the build failed: what the compiler said is above"
    infeed="$infeed_root/build/release/tools/infeed"
  fi
  infeed="$(realpath "$(command -v "$infeed")")"
  make_report
  report="$work/report.html"
fi
report="$(realpath "$report")"
take_picture profile-light.png 1
take_picture profile-dark.png 0
