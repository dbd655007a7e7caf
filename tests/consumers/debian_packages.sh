#!/usr/bin/env bash
# debian_packages.sh INFEED_BUILD_FOLDER WORK_FOLDER [PACKAGE...]: what cpack makes unpacks into a clean
# folder, has what it should, names what it needs, and its command runs there. Without packages it makes that
# of the command alone, quickly (the libraries are large); tools/release.sh gives both.
set -euo pipefail
infeed_build=$1 work=$2
shift 2

fail() {
  echo "$*"
  exit 1
}

rm -rf "$work"
mkdir -p "$work"
if (($# == 0)); then
  cpack --config "$infeed_build/CPackConfig.cmake" -B "$work/made" -G DEB -D CPACK_COMPONENTS_ALL=infeed_runtime \
    -D CPACK_DEBIAN_COMPRESSION_TYPE=gzip >"$work/cpack.log" 2>&1 || fail "cpack failed: $(tail -5 "$work/cpack.log")"
  set -- "$work"/made/*.deb
fi

version="$(sed -n 's/^set(CPACK_PACKAGE_VERSION "\(.*\)")$/\1/p' "$infeed_build/CPackConfig.cmake")"
for package in "$@"; do
  name="$(dpkg-deb -f "$package" Package)"
  [[ $(dpkg-deb -f "$package" Version) == "$version" ]] || fail "$name is of version $(dpkg-deb -f "$package" Version)"
  strange="$(dpkg-deb -c "$package" | awk '$6 !~ /^\.\/(usr\/|$)/ || $2 != "root/root"')"
  [[ -z $strange ]] || fail "$name has what isn't root's or not below /usr: $strange"
  dpkg-deb -x "$package" "$work/root"
  needs="$(dpkg-deb -f "$package" Depends)"
  case $name in
    infeed) wanted='libc6 libtbb12 libcurl4 usr/bin/infeed usr/share/man/man1/infeed-convert.1 usr/share/bash-completion/completions/infeed' ;;
    infeed-dev) wanted='libtbb-dev libfmt-dev usr/include/infeed/infeed.h' ;;
    *) fail "cpack made a package $name" ;;
  esac
  for one in $wanted; do
    [[ $needs == *"$one"* || -e $work/root/$one ]] || fail "$name neither has nor needs $one; it needs $needs"
  done
done

cd "$work"
printf 'a,b\n1,2\n' >table.csv
root/usr/bin/infeed convert table.csv -o shards --shards 1 >/dev/null || fail "the packaged command converts nothing"
