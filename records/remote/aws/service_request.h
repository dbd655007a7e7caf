#pragma once

#include <chrono>
#include <string>
#include <vector>

/// Short requests to the services that lend credentials.
namespace infeed::detail {

struct ServiceRequest {
  std::string method = "GET";
  std::string url;
  std::vector<std::string> headers = {};
  std::string body = {};
  enum class Way {
    direct,    ///< never by a proxy: the service is of this machine
    by_proxy,  ///< as the usual variables say
  };
  Way way = Way::direct;
  std::chrono::milliseconds connect_timeout{1000};
  std::chrono::milliseconds timeout{2000};
};

struct ServiceAnswer {
  long status = 0;
  std::string text = {};
};

/// Waits for the answer, whatever its status; what may pass (5xx, 429, a cut connection) is tried
/// three times while `timeout` is not over. Throws Error: not_found where nobody is, unavailable
/// where somebody is that does not answer.
ServiceAnswer ask_service(const ServiceRequest& request);

}  // namespace infeed::detail
