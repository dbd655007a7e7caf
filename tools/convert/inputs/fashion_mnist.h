#pragma once

#include <string>
#include <string_view>

/// Why: the main job needs real images without a download. Debian packages Fashion-MNIST (Xiao et
/// al., 2017): 60,000 training and 10,000 test images of clothes, 28x28 grey pixels, 10 classes, as
/// four gzipped IDX files in one folder. MNIST itself has the same files.
namespace infeed::tools {

inline constexpr std::string_view kFashionMnistFolder = "/usr/share/datasets/fashion-mnist";

/// The pair of IDX files of one half.
struct IdxPair {
  std::string images_file;
  std::string labels_file;
};

enum class Split { train, test };

/// "train", "test".
std::string_view to_string(Split split);

/// Finds the files of `split` in `folder`, gzipped or not. Error not_found: what is missing, what
/// is there, and how to get it; permission_denied.
IdxPair find_idx_pair(const std::string& folder, Split split);

}  // namespace infeed::tools
