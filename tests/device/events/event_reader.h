#pragma once

#include <algorithm>
#include <filesystem>
#include <gtest/gtest.h>
#include <infeed_events/events.pb.h>
#include <string>
#include <vector>

#include <infeed/records/record_reader.h>

namespace infeed {

/// Returns the events of a file, without the first, which has the version.
inline std::vector<events::Event> events_of(const std::string& file) {
  RecordReader reader(file);
  std::vector<events::Event> all;
  for (Record record; reader.next(record);) {
    EXPECT_TRUE(all.emplace_back().ParseFromString(std::string(record.bytes())));
  }
  if (all.empty() || all[0].file_version() != "brain.Event:2") {
    ADD_FAILURE() << file << " doesn't begin with its version";
    return {};
  }
  all.erase(all.begin());
  return all;
}

/// Returns the event files of a folder in the order in which TensorBoard reads them.
inline std::vector<std::string> event_files_in(const std::string& folder) {
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    files.push_back(entry.path().string());
  }
  std::ranges::sort(files);
  return files;
}

/// Returns the tags of all values, in their order.
inline std::vector<std::string> tags_of(const std::vector<events::Event>& all) {
  std::vector<std::string> tags;
  for (const events::Event& event : all) {
    for (const auto& value : event.summary().value()) tags.push_back(value.tag());
  }
  return tags;
}

}  // namespace infeed
