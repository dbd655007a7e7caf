# `cmake --install`, in two components: infeed_runtime is the infeed command with its manual page,
# infeed_development the libraries with their headers, and what other projects find with
# find_package(infeed): infeedConfig.cmake.in says how. tests/consumers builds outside projects with it.
include(CMakePackageConfigHelpers)
include(GNUInstallDirs)

set(INFEED_INSTALL_CMAKEDIR ${CMAKE_INSTALL_LIBDIR}/cmake/infeed)

# infeed_install_library(COMPONENT TARGET): each has an export set of its own, so that whoever uses one
# needs only what that one is built from.
function(infeed_install_library COMPONENT TARGET)
  install(TARGETS ${TARGET} EXPORT infeed_${COMPONENT}_targets
    ARCHIVE COMPONENT infeed_development
    FILE_SET HEADERS COMPONENT infeed_development)
  install(EXPORT infeed_${COMPONENT}_targets
    NAMESPACE infeed:: FILE infeed-${COMPONENT}-targets.cmake
    DESTINATION ${INFEED_INSTALL_CMAKEDIR} COMPONENT infeed_development)
endfunction()

infeed_install_library(records infeed_records)
infeed_install_library(protobuf infeed_protobuf)
infeed_install_library(pipeline infeed_pipeline)
if(INFEED_IMAGES)
  infeed_install_library(image infeed_image)
endif()
infeed_install_library(describe infeed_describe)
infeed_install_library(world infeed_world)
infeed_install_library(feed infeed_feed)
infeed_install_library(device infeed_device)
infeed_install_library(infeed infeed)

configure_package_config_file(
  ${CMAKE_CURRENT_LIST_DIR}/infeedConfig.cmake.in ${CMAKE_CURRENT_BINARY_DIR}/infeedConfig.cmake
  INSTALL_DESTINATION ${INFEED_INSTALL_CMAKEDIR} NO_SET_AND_CHECK_MACRO NO_CHECK_REQUIRED_COMPONENTS_MACRO)
# Before 1.0 a minor version may change the API.
write_basic_package_version_file(
  ${CMAKE_CURRENT_BINARY_DIR}/infeedConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(
  FILES ${CMAKE_CURRENT_BINARY_DIR}/infeedConfig.cmake
    ${CMAKE_CURRENT_BINARY_DIR}/infeedConfigVersion.cmake
    ${CMAKE_CURRENT_LIST_DIR}/infeedDependencies.cmake
  DESTINATION ${INFEED_INSTALL_CMAKEDIR} COMPONENT infeed_development)
