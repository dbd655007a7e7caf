#!/usr/bin/env bash
# find_package.sh INFEED_BUILD_FOLDER WORK_FOLDER [cmake options]: what find_package(infeed) gives, and
# what it says when it can't. Only configures: install_and_build.sh builds.
set -euo pipefail
infeed_build=$1 work=$2
shift 2
options=("$@")
here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
prefix="$work/prefix"

rm -rf "$work"
mkdir -p "$work"
cmake --install "$infeed_build" --prefix "$prefix" --component infeed_development >"$work/install.log"
failures=0

# configure NAME OPTIONS...: a project with the lines of stdin, against the installed infeed. Prints
# what CMake prints, on one line, and gives its status.
configure() {
  local name=$1 status=0
  shift
  cat >"$work/$name.cmake"
  cmake -S "$here/components" -B "$work/$name" -G Ninja -DCASE="$work/$name.cmake" \
    -DCMAKE_CXX_COMPILER_WORKS=TRUE -DCMAKE_PREFIX_PATH="$prefix" "${options[@]}" "$@" \
    >"$work/$name.log" 2>&1 || status=$?
  tr -s ' \n' '  ' <"$work/$name.log"
  return $status
}

# accepted NAME [cmake options]: the lines of stdin configure.
accepted() {
  configure "$@" >/dev/null && return
  echo "$1: was refused:"
  cat "$work/$1.log"
  failures=$((failures + 1))
}

# refused NAME TEXT [cmake options]: they don't, and CMake's output has the text.
refused() {
  local name=$1 text=$2 said
  shift 2
  if said="$(configure "$name" "$@")"; then
    echo "$name: was accepted; expected: $text"
  elif [[ $said != *"$text"* ]]; then
    printf '%s: does not say: %s\nbut:\n' "$name" "$text"
    cat "$work/$name.log"
  else
    return 0
  fi
  failures=$((failures + 1))
}

accepted all <<'END'
find_package(infeed REQUIRED)
expect(TARGET infeed::records AND TARGET infeed::pipeline AND TARGET infeed::device)
expect(TARGET infeed::infeed AND TARGET infeed::convert AND infeed_convert_FOUND)
END
accepted named <<'END'
find_package(infeed 0.2 REQUIRED COMPONENTS records protobuf pipeline image device convert)
expect(TARGET infeed::infeed AND TARGET infeed::convert)
expect(infeed_records_FOUND AND infeed_protobuf_FOUND AND infeed_pipeline_FOUND AND infeed_image_FOUND AND infeed_device_FOUND AND infeed_convert_FOUND)
END
accepted lower_components_come_along <<'END'
find_package(infeed REQUIRED COMPONENTS pipeline)
expect(TARGET infeed::pipeline AND TARGET infeed::records)
expect(NOT TARGET infeed::device AND NOT TARGET infeed::infeed)
END
accepted messages_need_only_records <<'END'
find_package(infeed REQUIRED COMPONENTS protobuf)
expect(TARGET infeed::protobuf AND TARGET infeed::records AND NOT TARGET infeed::pipeline)
END
accepted images_need_no_device <<'END'
find_package(infeed REQUIRED COMPONENTS image)
expect(TARGET infeed::image AND TARGET infeed::pipeline)
expect(NOT TARGET infeed::device AND NOT TARGET infeed::infeed)
END
accepted no_images_without_libjpeg -DCMAKE_DISABLE_FIND_PACKAGE_JPEG=TRUE <<'END'
find_package(infeed REQUIRED COMPONENTS pipeline OPTIONAL_COMPONENTS image)
expect(infeed_FOUND AND TARGET infeed::pipeline AND NOT infeed_image_FOUND AND NOT TARGET infeed::image)
END
accepted asked_for_twice <<'END'
find_package(infeed REQUIRED COMPONENTS records)
find_package(infeed REQUIRED COMPONENTS device)
find_package(infeed REQUIRED)
expect(TARGET infeed::infeed AND TARGET infeed::convert)
END
accepted optional_and_there <<'END'
find_package(infeed REQUIRED COMPONENTS records OPTIONAL_COMPONENTS convert)
expect(infeed_convert_FOUND AND TARGET infeed::convert)
END
accepted only_optional <<'END'
find_package(infeed REQUIRED OPTIONAL_COMPONENTS convert)
expect(TARGET infeed::infeed AND TARGET infeed::convert)
END
accepted optional_and_unknown <<'END'
find_package(infeed REQUIRED COMPONENTS records OPTIONAL_COMPONENTS python)
expect(infeed_FOUND AND infeed_records_FOUND AND NOT infeed_python_FOUND)
END
accepted optional_without_what_it_needs -DCMAKE_DISABLE_FIND_PACKAGE_JPEG=TRUE <<'END'
find_package(infeed REQUIRED COMPONENTS device OPTIONAL_COMPONENTS convert)
expect(infeed_FOUND AND TARGET infeed::device AND NOT infeed_convert_FOUND AND NOT TARGET infeed::convert)
END
accepted what_is_not_used_may_be_missing -DCMAKE_DISABLE_FIND_PACKAGE_TBB=TRUE <<'END'
find_package(infeed REQUIRED COMPONENTS records)
expect(TARGET infeed::records AND NOT TARGET infeed::pipeline)
END
accepted unknown_and_not_required <<'END'
find_package(infeed COMPONENTS pipelines)
expect(NOT infeed_FOUND)
expect(infeed_NOT_FOUND_MESSAGE MATCHES "^infeed has no component 'pipelines'")
END

refused unknown \
  "infeed has no component 'pipelines'; it has records, protobuf, pipeline, image, describe, world, feed, device, convert" <<'END'
find_package(infeed REQUIRED COMPONENTS records pipelines)
END
refused tbb_is_missing \
  "what infeed is built from is missing here: TBB (Debian package libtbb-dev); needed for pipeline" \
  -DCMAKE_DISABLE_FIND_PACKAGE_TBB=TRUE <<'END'
find_package(infeed REQUIRED COMPONENTS records pipeline)
END
refused protobuf_is_missing \
  "what infeed is built from is missing here: Protobuf (Debian package libprotobuf-dev); needed for device" \
  -DCMAKE_DISABLE_FIND_PACKAGE_Protobuf=TRUE <<'END'
find_package(infeed REQUIRED COMPONENTS pipeline device)
END
refused all_that_is_missing_is_said_at_once \
  "TBB (Debian package libtbb-dev), JPEG (Debian package libjpeg-dev); needed for pipeline, image, describe, world, feed, device, convert" \
  -DCMAKE_DISABLE_FIND_PACKAGE_TBB=TRUE -DCMAKE_DISABLE_FIND_PACKAGE_JPEG=TRUE <<'END'
find_package(infeed REQUIRED)
END
refused pkg_config_is_missing \
  "pkg-config (Debian package pkg-config); needed for records" \
  -DPKG_CONFIG_EXECUTABLE="$work/no-pkg-config" <<'END'
find_package(infeed REQUIRED COMPONENTS records)
END
mkdir "$work/empty"
PKG_CONFIG_LIBDIR="$work/empty" refused a_pkg_config_file_is_missing \
  "libisal (Debian package libisal-dev), liblz4 (Debian package liblz4-dev), libzstd (Debian package libzstd-dev), libutf8proc (Debian package libutf8proc-dev); needed for records" <<'END'
find_package(infeed REQUIRED COMPONENTS records)
END
refused too_new_a_version \
  "compatible with requested version \"0.3\"" <<'END'
find_package(infeed 0.3 REQUIRED)
END
refused both_versions_are_said \
  "infeedConfig.cmake, version: 0.2.0" <<'END'
find_package(infeed 1 REQUIRED)
END
if grep -q 'INFEED_REMOTE:BOOL=ON' "$infeed_build/CMakeCache.txt"; then
  refused openssl_is_missing \
    "OpenSSL 3 or newer (Debian package libssl-dev); needed for records" \
    -DCMAKE_DISABLE_FIND_PACKAGE_OpenSSL=TRUE <<'END'
find_package(infeed REQUIRED COMPONENTS records)
END
fi

# As cmake --install leaves it where the tools weren't built.
rm "$prefix"/lib*/cmake/infeed/infeed-convert-targets*.cmake
refused not_installed \
  "infeed's component 'convert' is not installed in $prefix, only records, protobuf, pipeline, image, describe, world, feed, device; -DINFEED_IMAGES=ON builds image, -DINFEED_BUILD_TOOLS=ON convert" <<'END'
find_package(infeed REQUIRED COMPONENTS convert)
END
accepted all_that_is_installed <<'END'
find_package(infeed REQUIRED)
expect(TARGET infeed::infeed AND NOT TARGET infeed::convert)
END

((failures == 0)) || { echo "$failures cases failed" && exit 1; }
