#pragma once

namespace infeed::test {

/// A file system that lacks calls which not every one has: while it lives, this thread gets their
/// errors. 0 lets a call through.
class RefusedCalls {
 public:
  struct Errors {
    int rename_to_new = 0;  ///< renameat2() with RENAME_NOREPLACE
    int exchange = 0;       ///< renameat2() with RENAME_EXCHANGE
    int link = 0;
    int nameless = 0;  ///< open() with O_TMPFILE
  };

  explicit RefusedCalls(const Errors& errors);
  ~RefusedCalls();
  RefusedCalls(const RefusedCalls&) = delete;
  RefusedCalls& operator=(const RefusedCalls&) = delete;
};

}  // namespace infeed::test
