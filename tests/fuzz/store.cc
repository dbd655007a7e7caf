#include <infeed/error.h>
#include <infeed/pipeline/chunk.h>
#include <infeed/pipeline/detail/erased_codec.h>
#include <infeed/records/files.h>
#include <infeed/records/record_writer.h>

#include "cache/store_journal.h"
#include "cache/store_reader.h"
#include "fuzz.h"
#include "records/temporary_files.h"

/// Folders of a snapshot or file cache with any journal, with right checksums, too: the reader
/// comes to an end, gives no more elements than the journal lists, and reads nothing outside.
namespace infeed::fuzz {
namespace {

constexpr std::uint64_t kReadsMax = 4096;

struct Store {
  TemporaryFolder folder{test::memory_folder()};

  Store() {
    for (const char* const shard : {"a", "b"}) {
      RecordWriter writer(folder.file(shard));
      for (int i = 0; i < 5; ++i) writer.write(std::string(static_cast<std::size_t>(i), 'x'));
      writer.close();
    }
  }
};

/// The first byte chooses: bytes, or lines that get their checksums and the header before them.
std::string journal_of(Input& input) {
  if (input.byte() % 2 == 0) return std::string(input.rest());
  std::vector<std::string> lines{"infeed elements 1"};
  for (std::string_view text = input.rest(); !text.empty();) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    lines.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return LineJournal::text_of(lines, detail::kJournalChecksum);
}

void read_all(const Store& store, const detail::StoreContent& content, std::uint64_t skipped) {
  MemoryAccount account(0);
  detail::StoreReader reader(store.folder.path().string(), content,
                             detail::erased_codec<std::string>(), account, "store");
  require(reader.skip(skipped) == std::min(skipped, content.slots()), "skips what there is");
  for (std::uint64_t i = 0; i < kReadsMax; ++i) {
    Chunk chunk(type_info<std::string>(), 16);
    try {
      if (reader.read(chunk, 16) == 0) break;
    } catch (const Error&) {
      reader.leave_shard();
    }
    require(reader.position() <= content.slots(), "no element behind the end");
  }
  const std::uint64_t left = content.slots() - reader.position();
  require(reader.skip(UINT64_MAX) == left, "skips to the end and not around it");
  Chunk chunk(type_info<std::string>(), 16);
  require(reader.read(chunk, 16) == 0, "nothing stands behind the end");
}

}  // namespace

void check(Input input) {
  static const Store store;
  const std::uint64_t skipped = input.byte() % 4 == 0 ? input.two_bytes() : 0;
  store.folder.write("elements.journal", journal_of(input));
  try {
    const auto content = detail::read_journal(store.folder.path().string());
    require(content.has_value(), "the journal is there");
    for (const detail::StoredShard& shard : content->shards) {
      require(is_file_name(shard.file), "a shard is a file in the journal's folder");
    }
    require(content->slots() >= content->values(), "sums don't overflow");
    read_all(store, *content, skipped);
    detail::StoreContent cut = *content;
    cut.cut(cut.intact_shards(store.folder.path().string()));
    read_all(store, cut, skipped);
    // Written again, the journal is the same.
    store.folder.write("elements.journal", detail::journal_of(cut));
    const auto again = detail::read_journal(store.folder.path().string());
    require(again && again->values() == cut.values(), "it can be written and read");
    require(again->draws == cut.draws, "what was drawn stays with it");
  } catch (const Error& error) {
    require(error.code() == ErrorCode::data_loss || error.code() == ErrorCode::failed_precondition,
            "a bad journal is refused as what it is");
  }
}

}  // namespace infeed::fuzz
