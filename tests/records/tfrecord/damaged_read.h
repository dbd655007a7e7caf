#pragma once

#include <gtest/gtest.h>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <infeed/error.h>
#include <infeed/records/record_reader.h>

namespace infeed::test {

struct DamagedRead {
  std::vector<std::string> payloads;
  std::optional<Error> error;
  std::vector<DamagedRange> damaged;
};

/// Reads the file to its end, or to its error.
inline DamagedRead read_with_damage(const std::string& file, RecordReaderOptions options = {}) {
  DamagedRead outcome;
  std::vector<DamagedRange> told;
  options.on_damage = [&told](const DamagedRange& range) { told.push_back(range); };
  RecordReader reader(file, std::move(options));
  Record record;
  try {
    while (reader.next(record)) outcome.payloads.emplace_back(record.bytes());
  } catch (const Error& error) {
    outcome.error = error;
    EXPECT_FALSE(reader.next(record)) << "after an error the file is over";
  }
  outcome.damaged = reader.damaged();
  EXPECT_EQ(told.size(), outcome.damaged.size());
  return outcome;
}

}  // namespace infeed::test
