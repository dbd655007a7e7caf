# What infeed is built from, how CMake finds it, and which of Debian's packages brings it. infeed's own
# build and the installed infeedConfig.cmake both find it here, so that both say the same about what is
# missing. tools/install_packages.sh installs all of it; tests/consumers/packages.sh compares the lists.

set(infeed_records_dependencies fmt ZLIB ISAL LZ4 ZSTD UTF8PROC)
set(infeed_remote_dependencies CURL OpenSSL)  # of records, with INFEED_REMOTE
set(infeed_protobuf_dependencies fmt Protobuf)
set(infeed_pipeline_dependencies Threads fmt TBB)
set(infeed_image_dependencies Threads fmt JPEG PNG)  # with INFEED_IMAGES
set(infeed_describe_dependencies Threads fmt)
set(infeed_world_dependencies Threads fmt)
set(infeed_feed_dependencies Threads fmt)
set(infeed_device_dependencies Threads fmt Protobuf)
set(infeed_convert_dependencies Threads fmt Protobuf)

set(infeed_debian_package_Threads libc6-dev)
set(infeed_debian_package_PkgConfig pkg-config)
set(infeed_debian_package_fmt libfmt-dev)
set(infeed_debian_package_ZLIB zlib1g-dev)
set(infeed_debian_package_ISAL libisal-dev)
set(infeed_debian_package_LZ4 liblz4-dev)
set(infeed_debian_package_ZSTD libzstd-dev)
set(infeed_debian_package_UTF8PROC libutf8proc-dev)
set(infeed_debian_package_CURL libcurl4-openssl-dev)
set(infeed_debian_package_OpenSSL libssl-dev)
set(infeed_debian_package_TBB libtbb-dev)
set(infeed_debian_package_JPEG libjpeg-dev)
set(infeed_debian_package_PNG libpng-dev)
set(infeed_debian_package_CLI11 libcli11-dev)
set(infeed_debian_package_nlohmann_json nlohmann-json3-dev)
set(infeed_debian_package_GTest "libgtest-dev and libgmock-dev")
set(infeed_debian_package_Protobuf libprotobuf-dev)
set(infeed_debian_package_Protoc protobuf-compiler)
set(infeed_debian_package_benchmark libbenchmark-dev)

set(infeed_version_min_CURL 7.85)
set(infeed_version_min_OpenSSL 3)

# These have no CMake configuration, or one that asks for programs of other packages, so
# pkg-config finds them, into the target PkgConfig::NAME.
set(infeed_pkg_config_ISAL libisal)
set(infeed_pkg_config_LZ4 liblz4)
set(infeed_pkg_config_ZSTD libzstd)
set(infeed_pkg_config_UTF8PROC libutf8proc)

# One search defines both targets. A project that embeds infeed may have them already (FetchContent):
# then the system, which may have another version, isn't searched.
set(infeed_target_Protobuf protobuf::libprotobuf)
set(infeed_target_Protoc protobuf::protoc)

# infeed_find_dependency(NAME MISSING): defines NAME's targets. MISSING becomes the text that says what
# isn't there and which package has it, or empty.
function(infeed_find_dependency NAME MISSING)
  set(${MISSING} "" PARENT_SCOPE)
  set(module "${infeed_pkg_config_${NAME}}")
  set(what ${NAME})
  if(module)
    if(TARGET PkgConfig::${NAME})
      return()
    endif()
    set(what ${module})
    find_package(PkgConfig QUIET)
    if(NOT PkgConfig_FOUND)
      set(${MISSING} "pkg-config (Debian package ${infeed_debian_package_PkgConfig})" PARENT_SCOPE)
      return()
    endif()
    pkg_check_modules(${NAME} QUIET IMPORTED_TARGET GLOBAL ${module})
  elseif(infeed_target_${NAME})
    if(TARGET ${infeed_target_${NAME}})
      return()
    endif()
    find_package(Protobuf QUIET)
    set(${NAME}_FOUND FALSE)
    if(TARGET ${infeed_target_${NAME}})
      set(${NAME}_FOUND TRUE)
    endif()
  else()
    find_package(${NAME} ${infeed_version_min_${NAME}} QUIET)
  endif()
  if(${NAME}_FOUND)
    return()
  endif()
  if(infeed_version_min_${NAME})
    string(APPEND what " ${infeed_version_min_${NAME}} or newer")
  endif()
  set(${MISSING} "${what} (Debian package ${infeed_debian_package_${NAME}})" PARENT_SCOPE)
endfunction()
