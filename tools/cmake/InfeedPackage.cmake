# `cpack` makes two Debian packages of the components that `cmake --install` knows: infeed, the command,
# and infeed-dev, the libraries with what find_package(infeed) needs. Included last, as it asks for
# nothing to be built. tests/consumers/debian_packages.sh looks at them.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME infeed)
set(CPACK_PACKAGE_VENDOR "The infeed authors")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_VERBATIM_VARIABLES ON)
set(CPACK_COMPONENTS_ALL infeed_runtime infeed_development)
set(CPACK_DEB_COMPONENT_INSTALL ON)

set(CPACK_DEBIAN_PACKAGE_MAINTAINER ${CPACK_PACKAGE_VENDOR})
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_INFEED_RUNTIME_PACKAGE_NAME infeed)
set(CPACK_DEBIAN_INFEED_RUNTIME_PACKAGE_SECTION science)
set(CPACK_DEBIAN_INFEED_RUNTIME_PACKAGE_SHLIBDEPS ON)
set(CPACK_COMPONENT_INFEED_RUNTIME_DESCRIPTION "The infeed command: converts, verifies, trains and profiles.")
set(CPACK_DEBIAN_INFEED_DEVELOPMENT_PACKAGE_NAME infeed-dev)
set(CPACK_DEBIAN_INFEED_DEVELOPMENT_PACKAGE_SECTION libdevel)
set(CPACK_COMPONENT_INFEED_DEVELOPMENT_DESCRIPTION "The libraries, their headers, and what find_package(infeed) needs.")

# What the libraries are built from is what a project that links them needs.
set(packages)
foreach(library records remote protobuf pipeline image describe world feed device convert)
  foreach(name IN LISTS infeed_${library}_dependencies)
    list(APPEND packages ${infeed_debian_package_${name}})
  endforeach()
endforeach()
list(REMOVE_DUPLICATES packages)
list(JOIN packages ", " CPACK_DEBIAN_INFEED_DEVELOPMENT_PACKAGE_DEPENDS)
include(CPack)
