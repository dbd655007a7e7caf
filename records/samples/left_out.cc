#include "infeed/records/left_out.h"

namespace infeed {
namespace {

void add_name(Omission& kind, std::string_view name) {
  constexpr std::size_t kNamesMax = 3;
  if (kind.first.size() < kNamesMax) kind.first.emplace_back(name);
}

}  // namespace

void Omissions::add(LeftOut why, std::string_view name) {
  Omission& kind = all_.at(static_cast<std::size_t>(why));
  ++kind.count;
  add_name(kind, name);
}

void Omissions::add(const Omissions& others) {
  for (std::size_t i = 0; i < all_.size(); ++i) {
    all_[i].count += others.all_[i].count;
    for (const std::string& name : others.all_[i].first) add_name(all_[i], name);
  }
}

}  // namespace infeed
