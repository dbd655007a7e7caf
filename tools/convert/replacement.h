#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "convert/conversion_plan.h"
#include "convert/convert.h"

/// Why: an old dataset must not be lost for a new one that fails then, at a bad example, a full disk or
/// a kill. So a dataset that replaces a finished one is made in a folder beside it, `.train.new`, and its
/// files are moved when all of it is whole. That needs room for both. A call that fails leaves the folder,
/// in which the same call goes on.
namespace infeed::tools {

/// The end of the folder's name, behind a dot and the dataset's name.
inline constexpr std::string_view kReplacementEnd = ".new";

/// True if the old dataset is gone, and the new one, which is whole, isn't in its place yet: its move
/// was interrupted.
bool is_being_moved(const DatasetNames& names);

/// Names the folder of a conversion that was to replace the dataset, and was stopped; nothing if
/// there is none. Nobody but the user knows whether it is to go on, so it isn't removed.
std::optional<std::string> unfinished_replacement(const DatasetNames& names);

class Replacement {
 public:
  /// Returns nothing if the files are to be made in their own place: no finished dataset is there, or it
  /// stays. Throws invalid_argument if a file of the input would be removed.
  static std::optional<Replacement> find(const ExampleInput& input, const ConvertOptions& options);

  /// Options of the conversion in the folder.
  const ConvertOptions& options() const { return options_; }

  /// Lets the dataset be made in the folder, moves it, and returns its files' new names. The old
  /// manifest goes first and the new one comes last, so that nobody takes a mixture for whole; a move
  /// that was interrupted is gone on with. Throws what `convert` throws, and failed_precondition while
  /// another process converts into the place.
  ConvertResult make(const std::function<ConvertResult()>& convert) const;

 private:
  Replacement(DatasetNames names, ConvertOptions options);
  void take_back() const;
  void move_files(const Manifest& made) const;

  DatasetNames names_;  // the place's
  ConvertOptions options_;
  DatasetNames beside_;
};

}  // namespace infeed::tools
