#include <google/protobuf/stubs/logging.h>

#include "fuzz.h"
#include "records/example/example_reference.h"

/// The Example parser on any bytes, against libprotobuf.
void infeed::fuzz::check(Input input) {
  static const google::protobuf::LogSilencer no_complaints_about_utf8;
  const auto compared = test::compare_with_protobuf(input.rest());
  require(compared.difference.empty(), compared.difference);
}
