# How a target of ours is made: one place for warnings, sanitizers, header checks and the rule that a
# lower module cannot see a higher one (it is not on its include path, so the include fails).

include(${CMAKE_CURRENT_LIST_DIR}/infeedDependencies.cmake)

# infeed_require(NAME... [FOR OPTION]): finds what this folder is built from, or says at once all that
# is missing and which packages have it. FOR names the option without which it isn't needed.
function(infeed_require)
  cmake_parse_arguments(ARG "" "FOR" "" ${ARGN})
  set(all_missing)
  foreach(name IN LISTS ARG_UNPARSED_ARGUMENTS)
    infeed_find_dependency(${name} missing)
    list(APPEND all_missing ${missing})
  endforeach()
  if(NOT all_missing)
    return()
  endif()
  list(JOIN all_missing ", " all_missing)
  set(installer tools/install_packages.sh)
  if(ARG_FOR MATCHES "TESTS|BENCHMARKS")
    string(APPEND installer " test")
  endif()
  string(CONCAT advice
    "what infeed is built from is missing here: ${all_missing}; ${installer} installs it on Debian")
  if(ARG_FOR)
    string(APPEND advice ", and -D${ARG_FOR}=OFF builds without it")
  endif()
  message(FATAL_ERROR "${advice}")
endfunction()

add_library(infeed_options INTERFACE)
target_compile_features(infeed_options INTERFACE cxx_std_20)
target_compile_options(infeed_options INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor -Wold-style-cast -Woverloaded-virtual
  -Wconversion -Wno-sign-conversion -Wimplicit-fallthrough)
if(PROJECT_IS_TOP_LEVEL AND NOT DEFINED SKBUILD)  # a wheel may be built by a compiler that warns of more
  target_compile_options(infeed_options INTERFACE -Werror)
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # g++ 12 reports these falsely through std::vector, std::string and std::variant at -O2.
  target_compile_options(infeed_options INTERFACE
    -Wno-stringop-overflow -Wno-stringop-overread -Wno-array-bounds -Wno-maybe-uninitialized
    -Wno-restrict -Wno-dangling-pointer)
  # A kernel's loop is a few instructions. Where it happens to cross a line of the instruction cache,
  # range takes 1.6 instead of 1.1 ns and zip 3.8 instead of 2.1, and any change elsewhere moves it.
  target_compile_options(infeed_options INTERFACE -falign-loops=32)
  # The compiler collects its garbage a quarter as often, which took 5 to 8 % of the time.
  target_compile_options(infeed_options INTERFACE --param=ggc-min-heapsize=524288)
endif()
# Whoever links a library takes the functions that are called, and no others (--gc-sections).
target_compile_options(infeed_options INTERFACE -ffunction-sections -fdata-sections)
# Records and batches have the same bits on every machine. Plain x86-64 has no fused multiply-add that the
# compiler could make of two operations by itself; ARM has, and so may the machine that builds.
if(INFEED_NATIVE OR NOT CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  target_compile_options(infeed_options INTERFACE -ffp-contract=off)
endif()
if(INFEED_NATIVE)
  target_compile_options(infeed_options INTERFACE -march=native)
endif()
if(INFEED_SANITIZE)
  target_compile_options(infeed_options INTERFACE
    -fsanitize=${INFEED_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer -g1)
  target_link_options(infeed_options INTERFACE -fsanitize=${INFEED_SANITIZE})
endif()

# infeed_module(NAME [WITHOUT room] SOURCES ... PUBLIC ... PRIVATE ...)
# A library infeed::NAME whose public headers lie in the module's include/ or in that of one of its
# rooms (all are included the same way), each verified to compile alone (target
# headers_compile_alone). WITHOUT names a room that is a library of its own.
function(infeed_module NAME)
  cmake_parse_arguments(ARG "" "WITHOUT" "SOURCES;PUBLIC;PRIVATE" ${ARGN})
  add_library(infeed_${NAME} STATIC ${ARG_SOURCES})
  add_library(infeed::${NAME} ALIAS infeed_${NAME})
  file(GLOB_RECURSE headers CONFIGURE_DEPENDS *.h)
  list(FILTER headers INCLUDE REGEX "/include/infeed/")
  if(ARG_WITHOUT)
    list(FILTER headers EXCLUDE REGEX "^${CMAKE_CURRENT_SOURCE_DIR}/${ARG_WITHOUT}/")
  endif()
  list(TRANSFORM headers REPLACE "/include/infeed/.*" "/include" OUTPUT_VARIABLE folders)
  list(REMOVE_DUPLICATES folders)
  target_sources(infeed_${NAME} PUBLIC FILE_SET HEADERS BASE_DIRS ${folders} FILES ${headers})
  set_property(GLOBAL APPEND PROPERTY INFEED_MODULES infeed_${NAME})
  set_target_properties(infeed_${NAME} PROPERTIES
    EXPORT_NAME ${NAME} POSITION_INDEPENDENT_CODE ON)
  target_compile_features(infeed_${NAME} PUBLIC cxx_std_20)
  target_link_libraries(infeed_${NAME} PUBLIC ${ARG_PUBLIC}
    PRIVATE ${ARG_PRIVATE} $<BUILD_INTERFACE:infeed_options>)
  target_include_directories(infeed_${NAME} PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
  if(INFEED_SANITIZE)
    # The tests spend their time in here. They themselves stay at -O0: with the checks of addresses
    # clang takes 17 s instead of 7 s to optimise those of map.
    target_compile_options(infeed_${NAME} PRIVATE -O1)
  endif()
endfunction()

# infeed_messages(TARGET FOLDER/NAME.proto): adds protobuf's generated classes of a schema to a library,
# which includes them as <infeed_NAME/NAME.pb.h>, no name of another project's. The schemas ask for
# the lite runtime: nothing is registered in a program that has the same messages from elsewhere. They
# are linked to the full library nevertheless, which holds the lite one: protobuf doesn't support a
# program that has both, and whoever parses messages of their own mostly has the full one.
function(infeed_messages TARGET PROTO)
  cmake_path(GET PROTO STEM name)
  cmake_path(GET PROTO PARENT_PATH folder)
  set(generated ${CMAKE_CURRENT_BINARY_DIR}/generated)
  set(classes ${generated}/infeed_${name}/${name}.pb)
  file(MAKE_DIRECTORY ${generated}/infeed_${name})
  add_custom_command(OUTPUT ${classes}.cc ${classes}.h
    COMMAND protobuf::protoc --proto_path=${CMAKE_CURRENT_SOURCE_DIR}/${folder}
      --cpp_out=${generated}/infeed_${name} ${CMAKE_CURRENT_SOURCE_DIR}/${PROTO}
    DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${PROTO}
    COMMENT "Generating the classes of ${PROTO}"
    VERBATIM)
  # The output of protoc does not pass our warnings.
  set_source_files_properties(${classes}.cc
    PROPERTIES COMPILE_OPTIONS -w SKIP_UNITY_BUILD_INCLUSION ON SKIP_PRECOMPILE_HEADERS ON)
  target_sources(${TARGET} PRIVATE ${classes}.cc)
  target_include_directories(${TARGET} SYSTEM PRIVATE ${generated})
  target_link_libraries(${TARGET} PRIVATE protobuf::libprotobuf)
endfunction()

# infeed_program(NAME [UNOPTIMISED] SOURCES ... [RELEASED LIBRARY...] LINK ...): a program that is never installed
# (tests, benchmarks), without lines for a debugger, a tenth of the build (the presets debug, asan and tsan have them).
# UNOPTIMISED: for tests, which optimising would double the build; the linker leaves out the libraries' lines, too.
# RELEASED: the libraries that are tested as they are released. The linker takes the first copy that it meets of an
# inline function, so theirs come first: with the tests' copies in the libraries the stages' suite takes twice the time.
function(infeed_program NAME)
  cmake_parse_arguments(ARG "UNOPTIMISED" "" "SOURCES;LINK;RELEASED" ${ARGN})
  add_executable(${NAME} ${ARG_SOURCES})
  target_link_libraries(${NAME} PRIVATE ${ARG_LINK} infeed_options)
  target_compile_options(${NAME} PRIVATE $<$<CONFIG:RelWithDebInfo>:-g0>)
  if(ARG_UNOPTIMISED)
    target_compile_options(${NAME} PRIVATE $<$<CONFIG:RelWithDebInfo>:-O0>)
    target_link_options(${NAME} PRIVATE $<$<CONFIG:RelWithDebInfo>:-Wl,--strip-debug>)
  endif()
  if(ARG_RELEASED)
    list(TRANSFORM ARG_RELEASED REPLACE "(.+)" "$<TARGET_FILE:\\1>")
    list(JOIN ARG_RELEASED " " archives)
    target_link_options(${NAME} PRIVATE
      "$<$<CONFIG:RelWithDebInfo>:SHELL:-Wl,--whole-archive ${archives} -Wl,--no-whole-archive>")
  endif()
endfunction()

# infeed_precompile(TARGET HEADER...): what many sources of a target include is compiled once, in builds that
# compile several of them together. The preset debug compiles each by itself, which shows a missing #include.
function(infeed_precompile TARGET)
  if(PROJECT_IS_TOP_LEVEL AND CMAKE_UNITY_BUILD AND NOT INFEED_SANITIZE)
    target_precompile_headers(${TARGET} PRIVATE ${ARGN})
  endif()
endfunction()
