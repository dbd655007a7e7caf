#!/usr/bin/env bash
# Installs the Python package as people do, and looks at what they get: from the committed sources alone, a source
# distribution, from that a wheel in a fresh environment, the same wheel under every Python that is here, the
# `infeed` command, URLs with and without libcurl, nothing left after uninstalling, and the wheel with its libraries.
#
#   tests/python/install.sh [--wheel FILE]
#
#   --wheel FILE   look at this wheel, instead of building one (which must take less than 6 minutes)
#   --help         this text
set -euo pipefail
# shellcheck source=tools/shell_common.sh
source "$(dirname "${BASH_SOURCE[0]}")/../../tools/shell_common.sh"

seconds_max=360
wheel_bytes_max=4000000
portable_bytes_max=7000000
wheel=''
[[ ${1:-} == --wheel ]] && wheel="$(realpath "$2")"

work="$(mktemp -d)"
server=''
trap '[[ -z $server ]] || kill "$server" 2>/dev/null; rm -rf "$work"' EXIT
unset PYTHONPATH CMAKE_CXX_COMPILER_LAUNCHER CMAKE_C_COMPILER_LAUNCHER
export PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_INPUT=1

# environment NAME PYTHON: makes one, and prints its folder.
environment() {
  "$2" -m venv "$work/$1" && echo "$work/$1"
}

if [[ -z $wheel ]]; then
  say "a wheel from the committed sources, by way of a source distribution"
  git clone -q "$infeed_root" "$work/clone"
  builder="$(environment builder /usr/bin/python3)"
  "$builder/bin/pip" install -q build
  start=$SECONDS
  "$builder/bin/python" -m build --outdir "$work/dist" "$work/clone" >"$work/build.log" 2>&1 ||
    { tail -n 30 "$work/build.log" >&2; die "building the wheel failed"; }
  printf '    built in %s\n' "$(as_minutes $((SECONDS - start)))"
  ((SECONDS - start < seconds_max)) || die "building took $((SECONDS - start)) s; it must take less than $seconds_max"
  [[ -f $(echo "$work"/dist/infeed-*.tar.gz) ]] || die "there is no source distribution"
  wheel="$(echo "$work"/dist/infeed-*.whl)"
fi
bytes="$(stat -c %s "$wheel")"
printf '    %s: %d bytes\n' "$(basename "$wheel")" "$bytes"
((bytes < wheel_bytes_max)) || die "the wheel has $bytes bytes; it must have less than $wheel_bytes_max"
[[ $wheel == *-cp310-abi3-* ]] || die "the wheel is not one for all Pythons from 3.10 on"

# needed FILE...: the libraries that ELF files ask for, but those that every Linux has, a name a line.
needed() {
  readelf -d "$@" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' |
    grep -vE '^(lib(c|m|dl|rt|pthread|gcc_s|stdc\+\+)\.so\.[0-9]+|ld-linux-.*)$' | sort -u
}

say "its libraries"
# Debian 12's names, so that a library more is seen: each is a package that a plain wheel needs where it is used.
known='libfmt libisal libjpeg liblz4 libpng16 libprotobuf libtbb libutf8proc libz libzstd'
python3 -m zipfile -e "$wheel" "$work/plain"
for library in $(needed "$work"/plain/infeed/_core*.so); do
  [[ " $known " == *" ${library%%.*} "* ]] || die "the module needs $library, too: put it into the list if that must be"
done
portable="$("$infeed_root/tools/python/portable_wheel.py" "$wheel" "$work")"
bytes="$(stat -c %s "$portable")"
printf '    %s: %d bytes\n' "$(basename "$portable")" "$bytes"
((bytes < portable_bytes_max)) || die "the portable wheel has $bytes bytes; it must have less than $portable_bytes_max"
python3 -m zipfile -e "$portable" "$work/portable"
for library in $(needed "$work"/portable/infeed/_core*.so "$work"/portable/infeed/lib/*); do
  [[ -f $work/portable/infeed/lib/$library ]] || die "the portable wheel lacks $library"
done

cat >"$work/program.py" <<'PROGRAM'
import importlib.metadata, json, infeed
assert importlib.metadata.version("infeed") == infeed.__version__
dataset = infeed.range(1000).shuffle(100, seed=1).batch(10).prefetch()
iterator = dataset.iterate(epoch=0)
for _ in range(40): next(iterator)
state = json.dumps(iterator.state_dict())
rest = [batch["value"].numpy().tolist() for batch in iterator]
resumed = dataset.iterate(epoch=0, resume=json.loads(state))
assert [batch["value"].numpy().tolist() for batch in resumed] == rest and len(rest) == 60
PROGRAM

for python in /usr/bin/python3 "$HOME"/.pyenv/versions/3.{10,11,12,13,14}*/bin/python3; do
  [[ -x $python ]] || continue
  version="$("$python" -c 'import platform; print(platform.python_version())')"
  [[ -d $work/$version ]] && continue
  say "Python $version"
  here="$(environment "$version" "$python")"
  (cd "$here" && find . -type f -o -type l | grep -v __pycache__ | sort) >"$work/before"
  "$here/bin/pip" install -q "$wheel"
  (cd "$work" && "$here/bin/python" program.py)
  [[ "$("$here/bin/infeed" --version)" == *infeed* ]] || die "the infeed command says no version"
  "$here/bin/infeed" nonsense 2>/dev/null && die "an unknown command must fail"
  "$here/bin/pip" uninstall -q -y infeed nanobind-backend numpy
  (cd "$here" && find . -type f -o -type l | grep -v __pycache__ | sort) >"$work/after"
  diff "$work/before" "$work/after" || die "uninstalling left the files above"
  last="$here"
done

say "the portable wheel takes its own libraries"
here="$(environment portable-environment /usr/bin/python3)"
"$here/bin/pip" install -q "$portable"
(cd "$work" && "$here/bin/python" program.py)
(cd "$work" && "$here/bin/python" -c "
import re
before = set(re.findall(r'/\S+[.]so[.\d]*', open('/proc/self/maps').read()))
import infeed
ours = set(re.findall(r'/\S+[.]so[.\d]*', open('/proc/self/maps').read())) - before
foreign = [file for file in ours if re.search('lib(fmt|isal|jpeg|lz4|png|protobuf|tbb|utf8proc|zstd)', file) and '/infeed/lib/' not in file]
assert not foreign, foreign")
"$here/bin/pip" uninstall -q -y infeed nanobind-backend numpy
[[ -z $(find "$here" -path '*/infeed/*' -not -path '*/__pycache__*') ]] || die "uninstalling the portable wheel left files"

say "URLs, with libcurl and without"
"$last/bin/pip" install -q "$wheel"
library="$(echo "$last"/lib/python3*/site-packages/infeed/_core*.so)"
if readelf -d "$library" | grep -E 'curl|libssl|libcrypto'; then die "the module is linked to the libraries above"; fi
mkdir "$work/served"
seq 1000 >"$work/served/lines.txt"
"$last/bin/python" -m http.server --bind 127.0.0.1 --directory "$work/served" 0 >"$work/port" 2>&1 &
server=$!
for _ in {1..600}; do # a busy machine starts it late
  port="$(grep -oE 'port [0-9]+' "$work/port" | cut -d ' ' -f 2)" || true
  [[ -n $port ]] && break
  read -rt 0.1 <> <(:) || true
done
read_url="import infeed; print(sum(1 for line in infeed.lines('http://127.0.0.1:$port/lines.txt')))"
[[ "$(cd "$work" && "$last/bin/python" -c "$read_url")" == 1000 ]] || die "reading by URL gave other lines"
cat >"$work/absent.c" <<'SHIM'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <string.h>
void *dlopen(const char *file, int flags) {
  static void *(*real)(const char *, int);
  if (!real) real = dlsym(RTLD_NEXT, "dlopen");
  return real(file && strstr(file, "libcurl") ? "libcurl.so.absent" : file, flags);
}
SHIM
cc -shared -fPIC -o "$work/absent.so" "$work/absent.c"
said="$(cd "$work" && LD_PRELOAD="$work/absent.so" "$last/bin/python" -c "$read_url" 2>&1)" && die "a missing libcurl went unseen"
[[ $said == *'reading a URL needs libcurl.so.4'*"package libcurl4"* ]] || die "without libcurl it says: $said"
say "all is well"
