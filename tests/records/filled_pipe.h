#pragma once

#include <cerrno>
#include <fcntl.h>
#include <stop_token>
#include <string>
#include <string_view>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <thread>
#include <utility>

#include <infeed/records/file.h>

#include "temporary_folder.h"

namespace infeed::test {

/// A pipe that holds some bytes, at most 64 KiB, and ends as soon as they were read. Who opens it
/// again before that gets what the first reader left; later, he waits for a writer for ever.
class FilledPipe {
 public:
  FilledPipe(const TemporaryFolder& folder, std::string_view name, std::string_view bytes)
      : name_(folder.file(name)) {
    if (::mkfifo(name_.c_str(), 0600) != 0) throw system_error("make a pipe", name_, errno);
    File filled = File::open(name_, O_RDWR);  // waits for nobody
    filled.write(bytes);
    closer_ = std::jthread([own = std::move(filled)](const std::stop_token& stop) mutable {
      int unread = 1;
      while (!stop.stop_requested() && ::ioctl(own.descriptor(), FIONREAD, &unread) == 0 &&
             unread > 0) {
        std::this_thread::yield();
      }
      own.close();
    });
  }

  const std::string& name() const { return name_; }

 private:
  const std::string name_;
  std::jthread closer_;
};

}  // namespace infeed::test
