#pragma once

#include <initializer_list>
#include <string>
#include <vector>

#include <infeed/pipeline/dataset.h>
#include <infeed/pipeline/options.h>
#include <infeed/records/tar.h>

namespace infeed {

struct TarSourceOptions {
  TarOptions format = {};  ///< limits, compression, URLs (records/tar.h)
  StageName name = {};     ///< as in StageOptions
};

/// Why: gives the samples of tar files as WebDataset packs them: members that stand behind each other
/// and have the same name up to their first dot are one sample, and what stands behind it names its
/// fields.
///
///     auto labels = infeed::tar("imagenet-train-*.tar")
///         | infeed::map([](const infeed::TarSample& sample) {
///             const infeed::Record* image = sample.find("jpg");
///             const infeed::Record* label = sample.find("cls");
///             if (image == nullptr || label == nullptr) throw std::runtime_error(sample.key);
///             return std::pair(*image, std::stoll(std::string(label->bytes())));
///           });
///
/// Contents are shown where they were read, uncopied. Patterns are those of infeed::match_files,
/// looked up when the source is described; plain files, .gz, .lz4, URLs. To read several at once:
/// files(...) | interleave(tar).
///
/// Skipping (a resume) reads headers only and seeks over what lies between where the file isn't
/// compressed; the number of samples is unknown. Errors are an element's, in the place of a sample:
/// | what                                                        | what it costs                 |
/// |-------------------------------------------------------------|-------------------------------|
/// | a field that comes twice, or is larger than the limit       | its sample                    |
/// | a header that is damaged, a file that is cut, gone, no tar  | the rest of the file          |
/// A pattern that nothing matches is thrown when the source is described.
Dataset<TarSample> tar(const std::string& pattern, TarSourceOptions options = {});
/// A list of names, in its order; none of them needs to exist yet.
Dataset<TarSample> tar(std::vector<std::string> files, TarSourceOptions options = {});
Dataset<TarSample> tar(std::initializer_list<std::string> files, TarSourceOptions options = {});

}  // namespace infeed
