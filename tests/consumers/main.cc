// Another project's program: uses something of every module, and only infeed's headers.
#include <cstdint>
#include <cstdio>

#include <infeed/device/slice.h>
#include <infeed/error.h>
#include <infeed/pipeline/batch.h>
#include <infeed/pipeline/dataset.h>
#include <infeed/pipeline/map.h>
#include <infeed/pipeline/range.h>
#include <infeed/records/crc32c.h>

int main() {
  // records
  if (infeed::crc32c("123456789") != 0xe3069283U) return 1;

  // pipeline
  const auto squares =
      infeed::range(10) | infeed::map([](std::int64_t x) { return x * x; }) | infeed::batch(4);
  std::int64_t sum = 0;
  std::size_t batches = 0;
  for (const auto& batch : squares.iterate()) {
    ++batches;
    for (const std::int64_t value : batch.values()) sum += value;
  }
  if (batches != 3 || sum != 285) return 2;

  // device, and an error across the library's border
  if (infeed::Slice::parse("v3-8").num_replicas() != 8) return 3;
  try {
    infeed::Slice::parse("v3-9");
    return 4;
  } catch (const infeed::Error& error) {
    if (error.code() != infeed::ErrorCode::invalid_argument) return 5;
  }
  std::puts("all three libraries work");
  return 0;
}
