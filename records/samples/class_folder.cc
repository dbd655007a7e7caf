#include "infeed/records/class_folder.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fmt/format.h>
#include <memory>
#include <sys/stat.h>
#include <system_error>
#include <unordered_map>
#include <utf8proc.h>

#include "infeed/detail/folder_entries.h"
#include "infeed/records/file.h"
#include "memory/block.h"

namespace infeed {
namespace {

namespace fs = std::filesystem;

/// Returns entries in the order of their bytes: the file system's order differs between machines.
std::vector<fs::path> sorted_entries(const fs::path& folder) {
  std::vector<fs::path> entries;
  for (const std::string& name : detail::names_in_folder(folder.string())) {
    entries.push_back(folder / name);
  }
  // A path compares itself part by part, and here only the last parts differ.
  std::sort(entries.begin(), entries.end(),
            [](const fs::path& a, const fs::path& b) { return a.native() < b.native(); });
  return entries;
}

bool equals_without_case(std::string_view a, std::string_view b) {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c + 0; };
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [&](char x, char y) { return lower(x) == lower(y); });
}

/// Returns the name with its letters and accents apart (Unicode's form NFD), for comparisons. A name
/// that isn't UTF-8, or is longer than any folder's, stays as it is: putting n accents in order takes
/// n * n steps.
std::string decomposed(const std::string& name) {
  constexpr std::size_t kNameBytesMax = 1024;
  if (name.size() > kNameBytesMax) return name;
  const std::unique_ptr<utf8proc_uint8_t, decltype(&std::free)> apart(
      utf8proc_NFD(reinterpret_cast<const utf8proc_uint8_t*>(name.c_str())), &std::free);
  return apart == nullptr ? name : reinterpret_cast<const char*>(apart.get());
}

class ClassFolderScan {
 public:
  ClassFolderScan(std::string folder, const ClassFolderOptions& options) : options_(options) {
    while (folder.size() > 1 && folder.ends_with('/')) folder.pop_back();
    result_.folder = std::move(folder);
    result_.classes = options.classes;
  }

  ClassFolder run() {
    visit(result_.folder, Where::top);
    return std::move(result_);
  }

 private:
  enum class Where { top, in_class };
  /// Identifies a folder, whatever name leads to it.
  using Identity = std::pair<dev_t, ino_t>;

  void visit(const fs::path& folder, Where where) {
    struct stat status {};
    if (::stat(folder.c_str(), &status) != 0) throw system_error("list", folder.string(), errno);
    const Identity identity{status.st_dev, status.st_ino};
    if (std::find(above_.begin(), above_.end(), identity) != above_.end()) {
      leave_out(LeftOut::loop, folder);
      return;
    }
    above_.push_back(identity);
    for (const fs::path& entry : sorted_entries(folder)) take(entry, where);
    above_.pop_back();
  }

  void take(const fs::path& entry, Where where) {
    std::error_code error;
    const fs::file_status status = fs::status(entry, error);
    const bool is_missing = status.type() == fs::file_type::not_found || error;
    if (entry.filename().string().starts_with('.')) {
      leave_out(LeftOut::hidden, entry);
    } else if (fs::is_directory(status)) {
      where == Where::top ? add_class(entry) : visit(entry, where);
    } else if (!is_wanted(entry)) {
      leave_out(LeftOut::other_name, entry);
    } else if (where == Where::top) {
      leave_out(LeftOut::beside_classes, entry);
    } else if (!fs::is_regular_file(status) && !is_missing) {
      leave_out(LeftOut::no_file, entry);
    } else {
      result_.files.push_back({name_of(entry), label_, is_missing});
    }
  }

  void add_class(const fs::path& folder) {
    const std::size_t before = result_.files.size();
    const std::string name = folder.filename().string();
    std::vector<std::string>& classes = result_.classes;
    const auto known = std::find(classes.begin(), classes.end(), name);
    label_ = options_.classes.empty() ? static_cast<std::int64_t>(classes.size())
                                      : static_cast<std::int64_t>(known - classes.begin());
    visit(folder, Where::in_class);
    if (result_.files.size() == before) {
      leave_out(LeftOut::empty_class, folder);
    } else if (options_.classes.empty()) {
      classes.push_back(name);
    } else if (known == classes.end()) {
      refuse_class(folder, name);
    }
  }

  [[noreturn]] void refuse_class(const fs::path& folder, const std::string& name) const {
    constexpr std::size_t kShownMax = 20;
    const std::vector<std::string>& classes = options_.classes;
    const auto same = std::find_if(classes.begin(), classes.end(), [&](const std::string& one) {
      return decomposed(one) == decomposed(name);
    });
    if (same != classes.end()) {
      throw Error(
          ErrorCode::invalid_argument,
          fmt::format("the folder '{}' and the class '{}' that was asked for look alike but "
                      "differ in their Unicode form (macOS writes letters and accents "
                      "apart); rename the folder",
                      name, *same))
          .at_file(folder.string());
    }
    throw Error(ErrorCode::invalid_argument,
                fmt::format("the folder '{}' is no class that was asked for: there are {}{}", name,
                            fmt::join(classes.begin(),
                                      classes.begin() + static_cast<std::ptrdiff_t>(
                                                            std::min(classes.size(), kShownMax)),
                                      ", "),
                            classes.size() > kShownMax ? ", ..." : ""))
        .at_file(folder.string());
  }

  bool is_wanted(const fs::path& path) const {
    const std::string name = path.filename().string();
    if (options_.wants && !options_.wants(name)) return false;
    if (options_.extensions.empty()) return true;
    const std::string extension = path.extension().string();
    return std::any_of(options_.extensions.begin(), options_.extensions.end(),
                       [&](std::string_view one) {
                         if (one.starts_with('.')) one.remove_prefix(1);
                         return !extension.empty() &&
                                equals_without_case(std::string_view(extension).substr(1), one);
                       });
  }

  /// Returns the part of the path behind the folder, from which all paths were joined.
  std::string name_of(const fs::path& path) const {
    const std::string& name = path.native();
    return name.substr(name.find_first_not_of('/', result_.folder.size()));
  }

  void leave_out(LeftOut why, const fs::path& path) { result_.left_out.add(why, name_of(path)); }

  const ClassFolderOptions& options_;
  ClassFolder result_;
  std::int64_t label_ = 0;
  std::vector<Identity> above_;
};

}  // namespace

ClassFolder find_class_folder(const std::string& folder, const ClassFolderOptions& options) {
  return ClassFolderScan(folder, options).run();
}

std::vector<std::pair<std::string, std::string>> find_look_alikes(
    const std::vector<std::string>& names) {
  std::vector<std::pair<std::string, std::string>> alike;
  std::unordered_map<std::string, std::string> seen;  // under the decomposed names
  for (const std::string& name : names) {
    const auto [at, is_new] = seen.emplace(decomposed(name), name);
    if (!is_new && at->second != name) alike.emplace_back(at->second, name);
  }
  return alike;
}

Record read_whole_file(const std::string& name) {
  const File file = File::open_to_read(name);
  const std::uint64_t bytes = file.size_bytes().value_or(0);
  if (bytes == 0) return Record();
  detail::BlockReference block(detail::make_lone_block(static_cast<std::size_t>(bytes),
                                                       std::make_shared<const std::string>(name)));
  const std::size_t got = file.read_at(0, {block->data, block->capacity_bytes});
  if (got < bytes) {
    throw Error(ErrorCode::data_loss,
                fmt::format("the file became shorter while it was read: {} of {} bytes are there",
                            got, bytes))
        .at_file(name);
  }
  detail::Block* const read = block.release();
  return Record::adopt(read, {read->data, got}, 0);
}

}  // namespace infeed
