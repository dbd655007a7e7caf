#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <infeed/records/example.h>

#include "example.pb.h"

/// Features as libprotobuf reads them, with as much of FeatureView as plain_rows.h looks at.
namespace infeed::testing {

class ReferenceView {
 public:
  ReferenceView() = default;
  explicit ReferenceView(const reference::Feature& feature) : feature_(&feature) {}

  bool is_present() const {
    return feature_ != nullptr && feature_->kind_case() != reference::Feature::KIND_NOT_SET;
  }
  FeatureKind kind() const {
    if (feature_->has_bytes_list()) return FeatureKind::bytes;
    return feature_->has_float_list() ? FeatureKind::floats : FeatureKind::integers;
  }
  std::size_t count() const {
    const int size = feature_->has_bytes_list()   ? feature_->bytes_list().value_size()
                     : feature_->has_float_list() ? feature_->float_list().value_size()
                                                  : feature_->int64_list().value_size();
    return static_cast<std::size_t>(size);
  }
  void append_bytes(std::vector<std::string_view>& out) const {
    for (const std::string& value : feature_->bytes_list().value()) out.push_back(value);
  }
  void append_floats(std::vector<float>& out) const {
    const auto& values = feature_->float_list().value();
    out.insert(out.end(), values.begin(), values.end());
  }
  void append_integers(std::vector<std::int64_t>& out) const {
    const auto& values = feature_->int64_list().value();
    out.insert(out.end(), values.begin(), values.end());
  }

 private:
  const reference::Feature* feature_ = nullptr;
};

/// Those of an Example; not valid where libprotobuf refuses its bytes.
class ReferenceFeatures {
 public:
  explicit ReferenceFeatures(std::string_view example)
      : is_valid_(message_.ParseFromArray(example.data(), static_cast<int>(example.size()))) {}

  bool are_valid() const { return is_valid_; }
  /// Not present where there is none of the name; the features outlive it.
  ReferenceView view(const std::string& name) const {
    const auto found = message_.features().feature().find(name);
    if (found == message_.features().feature().end()) return {};
    return ReferenceView(found->second);
  }

 private:
  reference::Example message_;
  bool is_valid_ = false;
};

}  // namespace infeed::testing
