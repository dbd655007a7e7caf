#include "infeed/pipeline/files.h"

#include <algorithm>
#include <fmt/format.h>
#include <memory>

#include <infeed/pipeline/shuffle.h>
#include <infeed/pipeline/slices.h>
#include <infeed/records/whole_set.h>

#include "sources/data_identity.h"
#include "sources/slices_of_files.h"

namespace infeed {
Dataset<std::string> files(std::vector<std::string> list, FilesOptions options) {
  const std::size_t count = list.size();
  const auto identity = std::make_shared<const detail::DataIdentity>(list);
  const auto shared = std::make_shared<const std::vector<std::string>>(std::move(list));
  const Dataset<std::string> names(
      detail::make_slices({"files",
                           {},
                           &type_info<std::string>(),
                           std::shared_ptr<const void>(shared, shared->data()),
                           count,
                           [shared](std::size_t index) { return (*shared)[index]; }},
                          [identity] { return fmt::format("files({})", identity->text()); }));
  detail::named(names.node(), options.name);
  if (!options.shuffle) return names;
  return names | shuffle({.buffer = std::max<std::size_t>(1, count),
                          .seed = options.seed,
                          .global_seed = options.global_seed,
                          .reshuffle_each_iteration = options.reshuffle_each_iteration});
}

Dataset<std::string> files(std::initializer_list<std::string> list, FilesOptions options) {
  return files(std::vector(list), options);
}

Dataset<std::string> files(const std::string& pattern, FilesOptions options) {
  return files(match_whole_sets(pattern), options);
}

}  // namespace infeed
