# Builds for 64-bit ARM under Linux with Debian's cross compiler. tests/odd_machines.sh --aarch64 fills the
# folder INFEED_AARCH64_SYSROOT with the C library and what infeed is built from; qemu runs the tests.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)

set(CMAKE_TRY_COMPILE_PLATFORM_VARIABLES INFEED_AARCH64_SYSROOT)
if(NOT IS_DIRECTORY "${INFEED_AARCH64_SYSROOT}/usr/lib/aarch64-linux-gnu")
  message(FATAL_ERROR "INFEED_AARCH64_SYSROOT is '${INFEED_AARCH64_SYSROOT}', where Debian's arm64 libraries "
    "are expected under usr/lib/aarch64-linux-gnu; tests/odd_machines.sh --aarch64 makes such a folder")
endif()
set(CMAKE_SYSROOT ${INFEED_AARCH64_SYSROOT})
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
set(ENV{PKG_CONFIG_SYSROOT_DIR} ${CMAKE_SYSROOT})
set(ENV{PKG_CONFIG_LIBDIR}
  ${CMAKE_SYSROOT}/usr/lib/aarch64-linux-gnu/pkgconfig:${CMAKE_SYSROOT}/usr/share/pkgconfig)
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64 -L ${CMAKE_SYSROOT})
