#include <mutex>
#include <optional>

#include <infeed/records/record_writer.h>

#include "describe/stages/enums.h"
#include "engine/threads/forks.h"
#include "infeed/error.h"
#include "python/example_rows.h"
#include "python/named_values.h"
#include "python/writing.h"

namespace infeed::python {
namespace {

/// A RecordWriter that threads may share, and that may be closed before it goes. In a child that
/// fork() made it leaves the file to the parent.
class PyRecordWriter {
 public:
  PyRecordWriter(std::string file, const RecordWriterOptions& options)
      : has_index_(options.index), writer_(std::in_place, std::move(file), options) {}
  ~PyRecordWriter() {
    // Its destructor would remove the file.
    if (is_in_child() && writer_) static_cast<void>(new RecordWriter(std::move(*writer_)));
  }
  PyRecordWriter(const PyRecordWriter&) = delete;
  PyRecordWriter& operator=(const PyRecordWriter&) = delete;

  void write(nb::handle row) {
    const std::string bytes = record_of(row);
    with_writer([&](RecordWriter& writer) { writer.write(bytes); });
  }
  void close() {
    check_process();
    const nb::gil_scoped_release without_gil;
    const std::lock_guard lock(mutex_);
    if (!writer_) return;
    RecordWriter writer = std::move(*writer_);
    writer_.reset();
    writer.close();
    if (has_index_) write_index(writer.index(), writer.file() + ".index");
  }
  void discard() {
    if (is_in_child()) return;
    const nb::gil_scoped_release without_gil;
    const std::lock_guard lock(mutex_);
    writer_.reset();  // removes what was written
  }
  std::uint64_t records() {
    std::uint64_t count = 0;
    with_writer([&](RecordWriter& writer) { count = writer.position().record; });
    return count;
  }

 private:
  bool is_in_child() const { return forks_ != detail::forks_of_this_process(); }
  void check_process() const {
    if (!is_in_child()) return;
    throw Error(
        ErrorCode::failed_precondition,
        "this writer was made before fork(), and its file is the parent's: open another one "
        "here");
  }
  template <class Function>
  void with_writer(const Function& function) {
    check_process();
    const nb::gil_scoped_release without_gil;
    const std::lock_guard lock(mutex_);
    if (!writer_) {
      throw Error(ErrorCode::failed_precondition, "the writer is closed: open another one");
    }
    function(*writer_);
  }

  const bool has_index_;
  const std::uint64_t forks_ = detail::forks_of_this_process();
  std::mutex mutex_;  ///< never waited for with the GIL
  std::optional<RecordWriter> writer_;
};

}  // namespace

void bind_writing(nb::module_& module) {
  nb::class_<PyRecordWriter>(
      module, "RecordWriter",
      "Writes a TFRecord file that nobody can take for whole before it is: its bytes go to\n"
      "`.NAME.partial` beside it, and close() renames that to NAME.\n\n"
      "    with infeed.RecordWriter('train.tfrecord') as writer:\n"
      "        for image, label in samples:\n"
      "            writer.write({'image': image, 'label': label})\n\n"
      "Leaving `with` by an exception, and losing the writer without close(), remove what was\n"
      "written. For many shards, shuffled and resumable, there is convert().")
      .def(
          "__init__",
          [](PyRecordWriter* self, nb::handle file, const std::string& compression,
             std::optional<int> compression_level, std::uint64_t flush_point_bytes, bool index,
             const std::string& existing, const std::string& durability) {
            const RecordWriterOptions options{
                .compression = named_value<Compression>("compression", compression),
                .compression_level = compression_level,
                .flush_point_bytes = flush_point_bytes,
                .index = index,
                .existing = named_value<ExistingFile>("existing", existing),
                .durability = named_value<Durability>("durability", durability)};
            const std::string name = file_name(file);
            const nb::gil_scoped_release without_gil;
            new (self) PyRecordWriter(name, options);
          },
          nb::arg("file").none(), nb::kw_only(), nb::arg("compression") = "none",
          nb::arg("compression_level") = nb::none(), nb::arg("flush_point_bytes") = 0,
          nb::arg("index") = false, nb::arg("existing") = "refuse",
          nb::arg("durability") = "leave_to_system",
          "compression: 'none', 'gzip', 'zlib' or 'lz4'; compression_level: 0 to 9.\n"
          "flush_point_bytes: gzip that several threads can read, with a file NAME.points.\n"
          "index: write NAME.index, for random access; plain files only.\n"
          "existing: 'refuse' or 'replace'. durability: 'synced' survives a power cut.")
      .def("write", &PyRecordWriter::write, nb::arg("row").none(),
           "Writes bytes as a record, or a mapping of names to values as a tf.train.Example\n"
           "(see example()).")
      .def("close", &PyRecordWriter::close, "Gives the file its name.")
      .def("discard", &PyRecordWriter::discard, "Removes what was written.")
      .def_prop_ro("records", &PyRecordWriter::records, "Records written so far.")
      .def("__enter__", [](nb::handle self) { return nb::borrow(self); })
      .def(
          "__exit__",
          [](PyRecordWriter& self, nb::handle type, nb::handle, nb::handle) {
            if (type.is_none()) {
              self.close();
            } else {
              self.discard();
            }
          },
          nb::arg("type").none(), nb::arg("value").none(), nb::arg("traceback").none());
  module.def(
      "example",
      [](nb::handle features) {
        const std::string bytes = record_of(features);
        return nb::bytes(bytes.data(), bytes.size());
      },
      nb::arg("features").none(),
      "Returns the bytes of a tf.train.Example. bytes and str become one value of bytes, an\n"
      "array of uint8 (an image) as well; integers and bools int64; floats float32; lists of\n"
      "texts bytes; None no feature.");
}

}  // namespace infeed::python
