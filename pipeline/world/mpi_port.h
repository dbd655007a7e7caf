#pragma once

#include <cstddef>
#include <list>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include <infeed/error.h>

#include "world/mpi/mpi_functions.h"

namespace infeed::detail {

/// The plug-in's functions with errors as exceptions, and sends that own their bytes.
///
/// Thread-safety: none; MPI takes one call at a time, so MpiCommunicator locks.
class MpiPort {
 public:
  explicit MpiPort(const InfeedMpiFunctions& functions) : functions_(functions) {
    check(functions.start(&rank_, &size_));
  }

  int rank() const { return rank_; }
  int size() const { return size_; }
  std::string version() const { return functions_.version(); }

  struct Request {
    int other;        ///< the rank at the other end
    bool is_receive;  ///< false: it sends
    std::size_t size;
    void* handle = nullptr;
  };
  Request begin_send(int channel, int to, int tag, std::span<const std::byte> bytes) {
    Request request{to, false, bytes.size()};
    check(functions_.send(channel, to, tag, bytes.data(), bytes.size(), &request.handle));
    return request;
  }
  Request begin_receive(int channel, int from, int tag, std::span<std::byte> bytes) {
    Request request{from, true, bytes.size()};
    check(functions_.receive(channel, from, tag, bytes.data(), bytes.size(), &request.handle));
    return request;
  }
  /// Returns true if the request is done and gone. Throws if another number of bytes came.
  bool test(Request& request) {
    int is_done = 0;
    std::size_t size = 0;
    check(functions_.test(&request.handle, &is_done, &size));
    if (is_done == 0) return false;
    if (request.is_receive && size != request.size) throw other_size(request, size);
    return true;
  }

  /// Sends a copy of the bytes; clean_up() forgets it once it is done.
  void send(int channel, int to, int tag, std::vector<std::byte> bytes) {
    Sent& sent = sent_.emplace_back(Sent{std::move(bytes), {}});
    try {
      sent.request = begin_send(channel, to, tag, sent.bytes);
    } catch (...) {
      sent_.pop_back();
      throw;
    }
  }
  void clean_up() {
    sent_.remove_if([this](Sent& sent) { return test(sent.request); });
  }
  bool has_unsent() const { return !sent_.empty(); }

  struct Arrived {
    int from = 0;
    int tag = 0;
    std::vector<std::byte> bytes = {};
  };
  /// Returns the next whole message of a channel. One whose sender was stopped half-way keeps those of
  /// other ranks from nobody.
  std::optional<Arrived> receive_next(int channel) {
    begin_announced(channel);
    std::set<int> begun;  // their later messages come later
    std::list<Arriving>& arriving = arriving_[channel];
    for (auto next = arriving.begin(); next != arriving.end(); ++next) {
      if (!begun.insert(next->message.from).second || !test(next->request)) continue;
      Arrived message = std::move(next->message);
      arriving.erase(next);
      return message;
    }
    return std::nullopt;
  }

  void finish() { check(functions_.finish()); }
  void abort() { functions_.abort(1); }

 private:
  struct Sent {
    std::vector<std::byte> bytes;
    Request request;
  };

  /// A message that has begun to arrive.
  struct Arriving {
    Arrived message;
    Request request;
  };
  /// Begins to receive the next message that is announced, if there is one.
  void begin_announced(int channel) {
    int is_there = 0;
    std::size_t size = 0;
    Arrived message;
    check(functions_.probe(channel, &is_there, &message.from, &message.tag, &size));
    if (is_there == 0) return;
    message.bytes.resize(size);
    const Request request = begin_receive(channel, message.from, message.tag, message.bytes);
    arriving_[channel].push_back({std::move(message), request});
  }

  static void check(const char* failure) {
    if (failure != nullptr) throw Error(ErrorCode::unavailable, std::string("MPI: ") + failure);
  }
  Error other_size(const Request& request, std::size_t size) const;

  const InfeedMpiFunctions& functions_;
  int rank_ = 0;
  int size_ = 1;
  std::list<Sent> sent_;
  std::map<int, std::list<Arriving>> arriving_;  ///< by channel
};

}  // namespace infeed::detail
