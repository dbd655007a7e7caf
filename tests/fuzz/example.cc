#include <google/protobuf/stubs/logging.h>

#include "fuzz.h"
#include "records/example/example_reference.h"

/// The Example parser on any bytes, against libprotobuf.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const google::protobuf::LogSilencer no_complaints_about_utf8;
  const auto compared =
      infeed::test::compare_with_protobuf({reinterpret_cast<const char*>(data), size});
  infeed::fuzz::require(compared.difference.empty(), compared.difference);
  return 0;
}
