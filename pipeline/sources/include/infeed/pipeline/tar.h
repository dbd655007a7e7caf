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

/// Reads samples from tar files as WebDataset packs them. Consecutive members with the same name up
/// to the first dot are one sample; the rest of each name is the name of a field.
///
///     auto labels = infeed::tar("imagenet-train-*.tar")
///         | infeed::map([](const infeed::TarSample& sample) {
///             const infeed::Record* image = sample.find("jpg");
///             const infeed::Record* label = sample.find("cls");
///             if (image == nullptr || label == nullptr) throw std::runtime_error(sample.key);
///             return std::pair(*image, std::stoll(std::string(label->bytes())));
///           });
///
/// Extensions are in lower case. Hidden members (._7.jpg, .DS_Store), those without an extension
/// (README), devices and pipes are left out. The statistics' table() says how many, and
/// StageStatistics::count("hidden_members"), ("unnamed_members"), ("special_members").
///
/// Contents are shown as they were read, uncopied. Patterns are those of infeed::match_files; they
/// are looked up when the source is described. Files may be plain, .gz, .zst, .lz4 or URLs. This reads
/// several at once:
///
///     infeed::files("imagenet-train-*.tar")
///         | infeed::interleave([](const std::string& file) { return infeed::tar(file); })
///
/// Skipping (a resume) reads only headers, and seeks over the contents if the file isn't
/// compressed. The number of samples is unknown. An error is an element's, in the place of a
/// sample:
/// | error                                                       | lost samples                  |
/// |-------------------------------------------------------------|-------------------------------|
/// | a field that comes twice, is larger than the limit, a link  | its sample                    |
/// | members of one sample that don't follow each other          | the later ones                |
/// | a header that is damaged, a file that is cut, gone, no tar; | the rest of the file          |
/// | a sparse member; other bytes behind the end                 |                               |
/// Throws when the source is described if nothing matches the pattern.
Dataset<TarSample> tar(const std::string& pattern, TarSourceOptions options = {});
/// Reads a list of names, in its order. The files need not exist yet.
Dataset<TarSample> tar(std::vector<std::string> files, TarSourceOptions options = {});
Dataset<TarSample> tar(std::initializer_list<std::string> files, TarSourceOptions options = {});

}  // namespace infeed
