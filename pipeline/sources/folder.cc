#include "infeed/pipeline/folder.h"

#include <fmt/format.h>
#include <memory>
#include <utility>

#include <infeed/error.h>
#include <infeed/pipeline/detail/elementwise.h>
#include <infeed/pipeline/map.h>
#include <infeed/pipeline/slices.h>
#include <infeed/records/crc32c.h>

#include "sources/data_identity.h"
#include "sources/slices_of_files.h"

namespace infeed {
namespace {

struct ReadClassFile {
  LabeledFile operator()(const ClassFile& file) const {
    return {read_whole_file(found->path_of(file)), file.label, file.name};
  }

  std::shared_ptr<const ClassFolder> found;
};

std::string folder_signature(const ClassFolder& found, const detail::DataIdentity& identity) {
  std::uint32_t crc = 0;
  for (const ClassFile& file : found.files) {
    crc = extend_crc32c(crc, fmt::format("{} {}\n", file.label, file.name));
  }
  return fmt::format("folder({}, {} classes, labels={:08x})", identity.text(), found.classes.size(),
                     crc);
}

}  // namespace

Dataset<LabeledFile> folder(ClassFolder found, FolderOptions options) {
  if (found.files.empty()) {
    throw Error(
        ErrorCode::not_found,
        fmt::format("no files were found in '{}': a folder a class is expected, with files "
                    "{}in it; files without a class are named by a pattern, e.g. with "
                    "'/*.tfrecord'",
                    found.folder,
                    options.files.extensions.empty()
                        ? std::string()
                        : fmt::format("named .{} ", fmt::join(options.files.extensions, ", ."))));
  }
  const auto shared = std::make_shared<const ClassFolder>(std::move(found));
  const auto path_of = [shared](std::size_t index) {
    return shared->path_of(shared->files[index]);
  };
  const auto identity = std::make_shared<const detail::DataIdentity>(shared->files.size(), path_of);
  NodePointer names =
      detail::make_slices({"folder_names",
                           {},
                           &type_info<ClassFile>(),
                           std::shared_ptr<const void>(shared, shared->files.data()),
                           shared->files.size(),
                           path_of},
                          [shared, identity] { return folder_signature(*shared, *identity); });
  detail::ElementwiseSpec reading{
      .name = "folder", .signature = "folder", .out_type = &type_info<LabeledFile>()};
  reading.kernel = &detail::map_kernel<ClassFile, ReadClassFile>;
  reading.function = detail::share_function(ReadClassFile{shared});
  reading.has_parallelism = true;
  reading.parallelism = options.parallelism;
  return Dataset<LabeledFile>(
      detail::named(detail::make_elementwise(std::move(reading), std::move(names)), options.name));
}

Dataset<LabeledFile> folder(const std::string& folder, FolderOptions options) {
  ClassFolder found = find_class_folder(folder, options.files);
  return infeed::folder(std::move(found), std::move(options));
}

}  // namespace infeed
