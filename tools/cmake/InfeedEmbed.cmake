# Text files as a C++ source, so that a program carries them with it.
#
# cmake -D OUTPUT=page.cc -D HEADER=page.h -D NAMESPACE=a::b -D "PARTS=style=/x/report.css|library=" -P InfeedEmbed.cmake
#
# writes `std::string_view style()` and so on; one without a file is empty.

set(source "#include \"${HEADER}\"\n\n")
string(APPEND source "#pragma GCC diagnostic ignored \"-Woverlength-strings\"\n\n")
string(APPEND source "namespace ${NAMESPACE} {\n")
string(REPLACE "|" ";" parts "${PARTS}")
foreach(part IN LISTS parts)
  string(REGEX MATCH "^([a-z_]+)=(.*)$" matched "${part}")
  if(NOT matched)
    message(FATAL_ERROR "InfeedEmbed: '${part}' is no NAME=FILE")
  endif()
  set(name "${CMAKE_MATCH_1}")
  set(text "")
  if(CMAKE_MATCH_2)
    file(READ "${CMAKE_MATCH_2}" text)
  endif()
  string(FIND "${text}" ")infeed_embed\"" found)
  if(NOT found EQUAL -1)
    message(FATAL_ERROR "InfeedEmbed: ${CMAKE_MATCH_2} holds the mark that its text ends with")
  endif()
  string(APPEND source "\nstd::string_view ${name}() {\n  return R\"infeed_embed(${text})infeed_embed\";\n}\n")
endforeach()
string(APPEND source "\n}  // namespace ${NAMESPACE}\n")
file(WRITE "${OUTPUT}" "${source}")
