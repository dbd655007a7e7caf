#include "slow_mount.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fmt/format.h>
#include <linux/fuse.h>
#include <stdexcept>
#include <string_view>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>
#include <utility>

namespace infeed::blaming {
namespace {

constexpr std::uint64_t kRoot = FUSE_ROOT_ID;
constexpr std::uint64_t kFirstFile = kRoot + 1;
constexpr std::size_t kRequestBytesMax = 1 << 18;
constexpr std::uint64_t kValidSeconds = 3600;

void reply(int device, std::uint64_t unique, int error, const void* data = nullptr,
           std::size_t bytes = 0) {
  fuse_out_header header{};
  header.len = static_cast<std::uint32_t>(sizeof(header) + bytes);
  header.error = -error;
  header.unique = unique;
  std::array<iovec, 2> parts{{{&header, sizeof(header)}, {const_cast<void*>(data), bytes}}};
  // A request that was given up meanwhile has no receiver.
  [[maybe_unused]] const ssize_t written = ::writev(device, parts.data(), bytes == 0 ? 1 : 2);
}

}  // namespace

SlowMount::SlowMount(std::string folder, std::vector<std::string> files, Delay delay)
    : folder_(std::move(folder)), delay_(std::move(delay)) {
  for (const std::string& file : files) {
    const int descriptor = ::open(file.c_str(), O_RDONLY | O_CLOEXEC);
    if (descriptor < 0) {
      throw std::runtime_error(fmt::format("can't open {}: {}", file, std::strerror(errno)));
    }
    files_.push_back({std::filesystem::path(file).filename().string(), descriptor,
                      std::filesystem::file_size(file)});
  }
  device_ = ::open("/dev/fuse", O_RDWR | O_CLOEXEC);
  const std::string options =
      fmt::format("fd={},rootmode=40000,user_id=0,group_id=0,allow_other", device_);
  if (device_ < 0 || ::mount("infeed-blame", folder_.c_str(), "fuse.infeed-blame",
                             MS_RDONLY | MS_NOSUID | MS_NODEV, options.c_str()) != 0) {
    const int error = errno;
    if (device_ >= 0) ::close(device_);
    for (const Shown& file : files_) ::close(file.descriptor);
    throw std::runtime_error(
        fmt::format("can't mount a FUSE file system at {}: {}; it needs root "
                    "and /dev/fuse",
                    folder_, std::strerror(error)));
  }
  thread_ = std::thread([this] { serve(); });
}

SlowMount::~SlowMount() {
  ::umount2(folder_.c_str(), MNT_DETACH);
  thread_.join();
  ::close(device_);
  for (const Shown& file : files_) ::close(file.descriptor);
}

void SlowMount::serve() {
  std::vector<char> request(kRequestBytesMax);
  while (true) {
    const ssize_t got = ::read(device_, request.data(), request.size());
    if (got >= static_cast<ssize_t>(sizeof(fuse_in_header))) {
      answer(request.data());
    } else if (errno != EINTR && errno != ENOENT && errno != EAGAIN) {
      return;  // ENODEV: it is unmounted
    }
  }
}

void SlowMount::answer(const char* request) {
  fuse_in_header header{};
  std::memcpy(&header, request, sizeof(header));
  const char* const body = request + sizeof(header);
  const auto attributes = [this](std::uint64_t node) {
    fuse_attr attr{};
    attr.ino = node;
    attr.nlink = 1;
    attr.mode = node == kRoot ? S_IFDIR | 0555 : S_IFREG | 0444;
    attr.size = node == kRoot ? 0 : files_[node - kFirstFile].bytes;
    attr.blksize = 4096;
    return attr;
  };
  switch (header.opcode) {
    case FUSE_INIT: {
      fuse_init_in in{};
      std::memcpy(&in, body, std::min(sizeof(in), header.len - sizeof(header)));
      fuse_init_out out{};
      out.major = FUSE_KERNEL_VERSION;
      out.minor = std::min<std::uint32_t>(in.minor, FUSE_KERNEL_MINOR_VERSION);
      out.max_readahead = 0;
      out.max_write = 4096;
      return reply(device_, header.unique, 0, &out, sizeof(out));
    }
    case FUSE_LOOKUP: {
      const std::string_view name(body);
      const auto found = std::find_if(files_.begin(), files_.end(),
                                      [name](const Shown& file) { return file.name == name; });
      if (found == files_.end()) return reply(device_, header.unique, ENOENT);
      fuse_entry_out out{};
      out.nodeid = kFirstFile + static_cast<std::uint64_t>(found - files_.begin());
      out.entry_valid = out.attr_valid = kValidSeconds;
      out.attr = attributes(out.nodeid);
      return reply(device_, header.unique, 0, &out, sizeof(out));
    }
    case FUSE_GETATTR: {
      fuse_attr_out out{};
      out.attr_valid = kValidSeconds;
      out.attr = attributes(header.nodeid);
      return reply(device_, header.unique, 0, &out, sizeof(out));
    }
    case FUSE_OPEN: {
      fuse_open_out out{};
      out.open_flags = FOPEN_DIRECT_IO;  // each read comes here instead of to the page cache
      return reply(device_, header.unique, 0, &out, sizeof(out));
    }
    case FUSE_READ: {
      fuse_read_in in{};
      std::memcpy(&in, body, sizeof(in));
      const Shown& file = files_[header.nodeid - kFirstFile];
      std::vector<char> data(in.size);
      const ssize_t got =
          ::pread(file.descriptor, data.data(), data.size(), static_cast<off_t>(in.offset));
      const std::size_t bytes = got < 0 ? 0 : static_cast<std::size_t>(got);
      std::this_thread::sleep_for(delay_({file.name, in.offset, bytes}));
      return reply(device_, header.unique, 0, data.data(), bytes);
    }
    case FUSE_FLUSH:
    case FUSE_RELEASE:
      return reply(device_, header.unique, 0);
    case FUSE_FORGET:
    case FUSE_BATCH_FORGET:
    case FUSE_INTERRUPT:
      return;  // these need no answer
    default:
      return reply(device_, header.unique, ENOSYS);
  }
}

}  // namespace infeed::blaming
