# libprotobuf as the referee for our own parser. Its generated code does not pass our warnings, so it
# is a library of its own.
find_package(Protobuf REQUIRED)
set(reference_dir ${CMAKE_CURRENT_BINARY_DIR}/reference)
file(MAKE_DIRECTORY ${reference_dir})
add_custom_command(
  OUTPUT ${reference_dir}/example.pb.cc ${reference_dir}/example.pb.h
  COMMAND protobuf::protoc --proto_path=${CMAKE_CURRENT_LIST_DIR} --cpp_out=${reference_dir}
          ${CMAKE_CURRENT_LIST_DIR}/example.proto
  DEPENDS ${CMAKE_CURRENT_LIST_DIR}/example.proto
  VERBATIM)
add_library(infeed_reference_example STATIC
  ${reference_dir}/example.pb.cc ${reference_dir}/example.pb.h)
target_compile_features(infeed_reference_example PUBLIC cxx_std_20)
target_include_directories(infeed_reference_example SYSTEM PUBLIC ${reference_dir})
target_link_libraries(infeed_reference_example PUBLIC protobuf::libprotobuf)
