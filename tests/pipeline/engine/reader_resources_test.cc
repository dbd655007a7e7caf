#include <gtest/gtest.h>
#include <memory>
#include <string>

#include "engine/iterator_context.h"
#include "records/temporary_files.h"

namespace infeed::test {
namespace {

TEST(ReaderResources, ASmallFileNeedsNoSpareBlocks) {
  const TemporaryFolder folder;
  const std::string small = folder.write("small", std::string(1000, 'x'));
  const std::string large = folder.write("large", std::string(1 << 20, 'x'));
  IteratorContext run{IterateOptions{}};
  EXPECT_EQ(run.readers().spare_blocks(small), nullptr);
  EXPECT_EQ(run.memory().in_use_bytes(), 0U);
  const std::shared_ptr<SpareBlocks> spare = run.readers().spare_blocks(large);
  ASSERT_NE(spare, nullptr);
  EXPECT_EQ(run.memory().in_use_bytes(), spare->bytes_max());
  EXPECT_EQ(run.readers().spare_blocks("https://host/of-unknown-size"), spare);
  EXPECT_EQ(run.readers().spare_blocks(small), nullptr);
  run.readers().drop_spare_blocks();
  EXPECT_EQ(run.memory().in_use_bytes(), 0U);
}

}  // namespace
}  // namespace infeed::test
