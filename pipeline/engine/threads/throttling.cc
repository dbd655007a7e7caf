#include "engine/threads/throttling.h"

#include <array>
#include <string_view>
#include <utility>

#include <infeed/detail/parse_whole.h>
#include <infeed/error.h>

#include "engine/threads/cpu_limits.h"

namespace infeed::detail {
namespace {

/// Returns the number after the name at a line's beginning; 0 if there is no such line.
std::uint64_t number_of(std::string_view text, std::string_view name) {
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    if (line.starts_with(name) && line.size() > name.size() && line[name.size()] == ' ') {
      std::string_view digits = line.substr(name.size() + 1);
      std::uint64_t number = 0;
      take_number(digits, number);
      return number;
    }
    text.remove_prefix(std::min(text.size(), line.size() + 1));
  }
  return 0;
}

/// Reads cpu.stat. Both versions of the groups count in it, in different units.
Throttling read_account(const File& account) {
  std::array<char, 1024> buffer;
  const std::string_view text(buffer.data(), account.read_at(0, buffer));
  return {number_of(text, "throttled_usec") * 1000 + number_of(text, "throttled_time"),
          number_of(text, "nr_throttled")};
}

}  // namespace

ThrottlingAccounts::ThrottlingAccounts(std::string mount, std::string groups_file)
    : mount_(std::move(mount)), groups_file_(std::move(groups_file)) {
  find_groups();
}

void ThrottlingAccounts::find_groups() {
  accounts_.clear();
  const auto add = [this](const std::string& mount, const std::string& controller) {
    for (const std::string& folder : group_folders(mount, groups_file_, controller)) {
      try {
        accounts_.push_back(File::open_to_read(folder + "cpu.stat"));
      } catch (const Error&) {
        // The root has no such file, nor has a mount that doesn't exist.
      }
    }
  };
  add(mount_, "");
  add(mount_ + "/cpu", "cpu");
}

Throttling ThrottlingAccounts::read() const {
  Throttling most;
  for (const File& account : accounts_) {
    try {
      const Throttling one = read_account(account);
      if (one.held_back_ns >= most.held_back_ns) most = one;
    } catch (const Error&) {
      // The group no longer exists.
    }
  }
  return most;
}

}  // namespace infeed::detail
