#include "convert/dataset_store.h"

#include <filesystem>
#include <fmt/format.h>

#include <infeed/error.h>
#include <infeed/records/file.h>
#include <infeed/records/files.h>
#include <infeed/records/output_file.h>
#include <infeed/records/url_object.h>

#include "convert/part_journals.h"

namespace infeed::tools {
namespace {

namespace fs = std::filesystem;

std::string name_of(const std::string& file) { return fs::path(file).filename().string(); }

void remove_here(const std::string& file) {
  std::error_code error;
  if (fs::remove(file, error); error) throw system_error("remove", file, error.value());
}

}  // namespace

DatasetStore::DatasetStore(const ConvertOptions& options) : url_(options.store_url) {
  while (url_.ends_with('/')) url_.pop_back();
  upload_.url.stop = options.stop;
  if (is_remote()) upload_.url.credentials = share_credentials();
}

std::string DatasetStore::place_of(const std::string& file) const {
  return is_remote() ? fmt::format("{}/{}", url_, name_of(file)) : file;
}

std::vector<std::string> DatasetStore::places_of(const std::vector<std::string>& files) const {
  std::vector<std::string> places;
  for (const std::string& file : files) places.push_back(place_of(file));
  return places;
}

void DatasetStore::take(const std::string& file) const {
  if (!is_remote()) return;
  upload_file(file, place_of(file), upload_);
  remove_here(file);
}

std::optional<FileDifference> DatasetStore::compare(const std::string& file, const FileSum& sum,
                                                    FileCheck check) const {
  if (!is_remote() || check == FileCheck::content) {
    return compare_file(place_of(file), sum, check, upload_.url.stop);
  }
  try {
    const std::uint64_t bytes = examine_url(place_of(file), upload_.url).size_bytes;
    if (bytes == sum.bytes) return std::nullopt;
    return FileDifference{fmt::format("has {} bytes instead of {}", bytes, sum.bytes), true};
  } catch (const Error& error) {
    if (error.code() != ErrorCode::not_found) throw;
    return FileDifference{"is missing"};
  }
}

std::optional<Manifest> DatasetStore::find_manifest(const DatasetNames& names) const {
  if (!is_remote()) return std::nullopt;
  const std::string url = place_of(names.manifest_file);
  try {
    examine_url(url, upload_.url);
  } catch (const Error& error) {
    if (error.code() == ErrorCode::not_found) return std::nullopt;
    throw;
  }
  return read_manifest(url);
}

void DatasetStore::put_manifest(const DatasetNames& names, const std::string& text) const {
  const std::string url = place_of(names.manifest_file);
  UploadOptions only_first = upload_;
  only_first.refuse_existing = true;
  try {
    upload_text(text, url, only_first);
  } catch (const Error& error) {
    // A try whose answer was lost may have put it there.
    if (error.code() != ErrorCode::already_exists || read_file(url) != text) throw;
  }
}

bool DatasetStore::has_journals() const { return url_.starts_with("s3://"); }

void DatasetStore::put_journal(const std::string& file) const {
  if (has_journals()) upload_file(file, place_of(file), upload_);
}

void DatasetStore::fetch_journal(const std::string& file) const {
  if (!has_journals() || fs::exists(file)) return;
  try {
    replace_file(file, read_file(place_of(file)));
  } catch (const Error& error) {
    if (error.code() != ErrorCode::not_found) throw;
  }
}

void DatasetStore::fetch_journals(const DatasetNames& names, const ConversionPlan& plan) const {
  if (!has_journals()) return;
  for (const std::string& url : list_journals(names)) {
    const std::string name = name_of(url);
    if (!is_file_name(name)) continue;
    fetch_journal((fs::path(names.folder) / name).string());
  }
  // Where parts were made elsewhere. Each of their journals says of which plan it is.
  if (!list_parts(names).empty() && !fs::exists(names.plan_file)) {
    replace_file(names.plan_file, plan.text);
  }
}

void DatasetStore::remove_journals(const DatasetNames& names) const {
  for (const std::string& url : list_journals(names)) remove_object(url, upload_);
}

std::vector<std::string> DatasetStore::list_journals(const DatasetNames& names) const {
  if (!has_journals()) return {};
  try {
    return match_files(fmt::format("{}/.{}.share-*-of-*.journal", url_, names.name));
  } catch (const Error& error) {
    if (error.code() != ErrorCode::not_found) throw;
    return {};
  }
}

}  // namespace infeed::tools
