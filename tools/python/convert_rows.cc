#include <fmt/format.h>

#include <infeed/convert/example_input.h>

#include "convert/convert.h"
#include "convert/inputs/input_count.h"
#include "describe/stages/enums.h"
#include "infeed/error.h"
#include "python/element.h"
#include "python/errors.h"
#include "python/example_rows.h"
#include "python/named_values.h"
#include "python/python_object.h"
#include "python/signals.h"
#include "python/writing.h"

namespace infeed::describe {

template <>
struct EnumNames<tools::ExistingDataset> {
  using Existing = tools::ExistingDataset;
  static constexpr std::pair<Existing, std::string_view> kNames[] = {
      {Existing::refuse, "refuse"},
      {Existing::replace, "replace"},
      {Existing::replace_unless_same, "replace_unless_same"}};
};
template <>
struct EnumNames<tools::SplitPart> {
  using Part = tools::SplitPart;
  static constexpr std::pair<Part, std::string_view> kNames[] = {
      {Part::all, "all"}, {Part::train, "train"}, {Part::validation, "validation"}};
};

}  // namespace infeed::describe

namespace infeed::python {
namespace {

/// Returns an option of convert(); `expected` says what it may be.
template <class T>
T given_as(const nb::dict& given, const char* name, std::string_view expected) {
  return option_as<T>("convert", name, given[name], expected);
}

std::vector<std::string> texts_of(const nb::dict& facts, const char* name) {
  return given_as<std::vector<std::string>>(facts, name, "a list of texts");
}

/// Rows of Python by their numbers.
class PythonRows final : public ExampleInput {
 public:
  /// `open` takes a number and returns an iterable of the rows from there on.
  PythonRows(nb::object open, std::uint64_t size, const nb::dict& facts)
      : open_(share(std::move(open))), size_(size) {
    settings_ = given_as<std::string>(facts, "version", "a text");
    columns_ = texts_of(facts, "columns");
    classes_ = texts_of(facts, "classes");
    for (const nb::handle file : facts["files"]) {
      files_.push_back(examine_input_file(file_name(file)));
    }
  }

  std::uint64_t size() const override { return size_; }
  std::unique_ptr<ExampleReader> open_reader() const override;
  std::vector<std::string> columns() const override { return columns_; }
  std::string describe() const override { return tools::input_count(size_, "row") + " of Python"; }
  std::string name_of(std::uint64_t index) const override { return fmt::format("row {}", index); }
  std::vector<InputFile> files() const override { return files_; }
  std::string settings() const override { return settings_; }
  std::vector<std::string> classes() const override { return classes_; }

  /// Returns an iterator of the rows from `first` on. Needs the GIL.
  nb::object iterator_at(std::uint64_t first) const { return nb::iter((*open_)(first)); }

 private:
  const SharedObject open_;
  const std::uint64_t size_;
  std::string settings_;
  std::vector<std::string> columns_;
  std::vector<std::string> classes_;
  std::vector<InputFile> files_;
};

/// One thread's iterator.
class PythonRowsReader final : public ExampleReader {
 public:
  explicit PythonRowsReader(const PythonRows& rows) : rows_(rows) {}

  void read(std::uint64_t index, std::string& out) override {
    const WithGil gil;
    try {
      if (iterator_ == nullptr || next_ != index) {
        iterator_ = share(rows_.iterator_at(index));
        next_ = index;
      }
      const nb::object row = nb::steal(PyIter_Next(iterator_->ptr()));
      if (!row.is_valid()) {
        if (PyErr_Occurred() != nullptr) throw nb::python_error();
        throw Error(ErrorCode::failed_precondition,
                    fmt::format("the rows end before row {}, but there should be {}: give their "
                                "true number as size",
                                index, rows_.size()));
      }
      ++next_;
      out = record_of(row);
    } catch (nb::python_error& exception) {
      iterator_.reset();  // an iterator that has raised gives nothing more
      const Error error = error_of(std::move(exception), fmt::format("row {}", index));
      throw error.reworded(ErrorCode::data_loss, error.message());  // others may still be read
    }
  }

 private:
  const PythonRows& rows_;
  SharedObject iterator_;
  std::uint64_t next_ = 0;
};

std::unique_ptr<ExampleReader> PythonRows::open_reader() const {
  return std::make_unique<PythonRowsReader>(*this);
}

tools::ConvertOptions options_of(const nb::dict& given) {
  const auto number = [&](const char* name) {
    return given_as<std::uint64_t>(given, name, "a whole number, 0 or more");
  };
  const auto text = [&](const char* name) { return given_as<std::string>(given, name, "a text"); };
  tools::ConvertOptions options;
  options.prefix = file_name(given["prefix"]);
  options.shard_count =
      given_as<std::uint32_t>(given, "shard_count", "a whole number from 0 to 4294967295");
  options.shard_bytes = number("shard_bytes");
  options.compression = named_value<Compression>("compression", text("compression"));
  options.compression_level = given_as<std::optional<int>>(given, "compression_level",
                                                           "a whole number from 0 to 9, or None");
  options.existing = named_value<tools::ExistingDataset>("existing", text("existing"));
  options.seed =
      given_as<std::optional<std::uint64_t>>(given, "seed", "a whole number, 0 or more, or None");
  options.part = named_value<tools::SplitPart>("part", text("part"));
  options.validation_share = given_as<double>(given, "validation_share", "a number from 0 to 1");
  options.split_column = text("split_column");
  options.quarantine_max = number("quarantine_max");
  options.check_content = given_as<bool>(given, "check_content", "True or False");
  options.durability = named_value<Durability>("durability", text("durability"));
  options.threads = given_as<int>(given, "threads", "a whole number, 0 or more");
  options.words = {.quarantine_max = "quarantine_max",
                   .quarantine_max_n = "quarantine_max=N",
                   .replace = "existing='replace'",
                   .name = "prefix",
                   .split_column = "split_column"};
  return options;
}

nb::dict as_dict(const tools::ConvertResult& result) {
  nb::dict dict;
  nb::list files;
  for (const std::string& file : result.files) files.append(to_python(file));
  dict["files"] = files;
  dict["manifest_file"] = to_python(result.manifest_file);
  dict["examples"] = result.manifest.examples();
  dict["bytes"] = result.manifest.bytes();
  nb::list quarantined;
  for (const tools::QuarantinedExample& example : result.manifest.quarantined) {
    quarantined.append(nb::make_tuple(to_python(example.input), to_python(example.error)));
  }
  dict["quarantined"] = quarantined;
  dict["seconds"] = result.seconds;
  dict["shards_found"] = result.shards_found;
  dict["was_complete"] = result.was_complete;
  nb::list rebuilt;
  for (const tools::WrongShard& shard : result.rebuilt) rebuilt.append(to_python(shard.what));
  dict["rebuilt"] = rebuilt;
  return dict;
}

/// Converts; a signal's exception, or that of `progress`, stops it and is raised.
nb::dict convert_rows(nb::object open, std::uint64_t size, const nb::dict& facts,
                      const nb::dict& given, nb::object progress) {
  const PythonRows rows(std::move(open), size, facts);
  tools::ConvertOptions options = options_of(given);
  std::stop_source stop;
  options.stop = stop.get_token();
  std::exception_ptr raised;
  options.on_progress = [&](const tools::ConvertProgress& now) {
    try {
      const WithGil gil;
      check_signals();
      if (!progress.is_none()) progress(now.done, now.total);
    } catch (...) {
      raised = std::current_exception();
      stop.request_stop();
    }
  };
  tools::ConvertResult result;
  {
    const nb::gil_scoped_release without_gil;
    try {
      result = tools::convert(rows, options);
    } catch (...) {
      if (raised == nullptr) throw;
    }
    if (raised != nullptr) std::rethrow_exception(raised);
  }
  return as_dict(result);
}

}  // namespace

void bind_convert(nb::module_& module) {
  module.def("_convert", &convert_rows, nb::arg("open"), nb::arg("size"), nb::arg("facts"),
             nb::arg("options"), nb::arg("progress").none());
}

}  // namespace infeed::python
