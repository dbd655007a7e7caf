# Classes of the test's messages, and their descriptor set as a user makes it. The output of protoc does
# not pass our warnings, so it is a library of its own.
set(protos clicks orders lite_click)
set(messages_dir ${CMAKE_CURRENT_BINARY_DIR}/messages)
file(MAKE_DIRECTORY ${messages_dir})
list(TRANSFORM protos APPEND .proto OUTPUT_VARIABLE proto_files)
list(TRANSFORM proto_files PREPEND ${CMAKE_CURRENT_LIST_DIR}/)
list(TRANSFORM protos APPEND .pb.cc OUTPUT_VARIABLE message_sources)
list(TRANSFORM message_sources PREPEND ${messages_dir}/)
list(TRANSFORM protos APPEND .pb.h OUTPUT_VARIABLE message_headers)
list(TRANSFORM message_headers PREPEND ${messages_dir}/)
add_custom_command(OUTPUT ${message_sources} ${message_headers} ${messages_dir}/shop.pb
  COMMAND protobuf::protoc --proto_path=${CMAKE_CURRENT_LIST_DIR} --cpp_out=${messages_dir}
    --include_imports --descriptor_set_out=${messages_dir}/shop.pb ${proto_files}
  DEPENDS ${proto_files}
  VERBATIM)
add_library(infeed_test_messages STATIC ${message_sources} ${message_headers})
target_compile_features(infeed_test_messages PUBLIC cxx_std_20)
target_compile_definitions(infeed_test_messages INTERFACE
  INFEED_TEST_DESCRIPTOR_SET="${messages_dir}/shop.pb")
target_include_directories(infeed_test_messages SYSTEM PUBLIC ${messages_dir})
target_link_libraries(infeed_test_messages PUBLIC protobuf::libprotobuf)
# Generated sources have the same private names.
set_target_properties(infeed_test_messages PROPERTIES UNITY_BUILD OFF)
