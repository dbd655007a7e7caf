# `cmake --install` and what other projects find with find_package(infeed): the targets
# infeed::records, infeed::pipeline, infeed::device, and infeed::infeed for all.
# tests/consumers builds outside projects with them.
include(CMakePackageConfigHelpers)
include(GNUInstallDirs)

set(INFEED_INSTALL_CMAKEDIR ${CMAKE_INSTALL_LIBDIR}/cmake/infeed)

install(TARGETS infeed_records infeed_pipeline infeed_device infeed
  EXPORT infeed_targets
  ARCHIVE COMPONENT infeed_development
  FILE_SET HEADERS COMPONENT infeed_development)
install(EXPORT infeed_targets
  NAMESPACE infeed:: FILE infeedTargets.cmake
  DESTINATION ${INFEED_INSTALL_CMAKEDIR} COMPONENT infeed_development)

configure_package_config_file(
  ${CMAKE_CURRENT_LIST_DIR}/infeedConfig.cmake.in ${CMAKE_CURRENT_BINARY_DIR}/infeedConfig.cmake
  INSTALL_DESTINATION ${INFEED_INSTALL_CMAKEDIR} NO_SET_AND_CHECK_MACRO)
# Before 1.0 a minor version may change the API.
write_basic_package_version_file(
  ${CMAKE_CURRENT_BINARY_DIR}/infeedConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(
  FILES ${CMAKE_CURRENT_BINARY_DIR}/infeedConfig.cmake ${CMAKE_CURRENT_BINARY_DIR}/infeedConfigVersion.cmake
  DESTINATION ${INFEED_INSTALL_CMAKEDIR} COMPONENT infeed_development)
